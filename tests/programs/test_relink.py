# SPDX-License-Identifier: MIT
"""Real programs, linked again: they do what they did, and each of their allocations is a row, by an independent count (counter.c)."""
import os
import re
import subprocess

from harness import COMPILER, ROOT, Skip, behaviour, equal, true


def archive(name):
    path = subprocess.run([*COMPILER, '-print-file-name=lib%s.a' % name], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    if not os.path.isabs(path):
        raise Skip('lib%s.a is not installed' % name)
    return '-l:lib%s.a' % name


def flags_of(module, *what):
    done = subprocess.run(['pkg-config', *what, module], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise Skip('pkg-config knows no %s' % module)
    return done.stdout.split()


def relinked(test, source, flags, libs, same=lambda text: text):
    """Links `source` and the archives in `libs` three times: alone, with shared and with static Rheaper."""
    stand_in = (os.path.join(ROOT, 'counted.c'),)
    alone = test.builder.get((source, 'alone'), lambda output: [
        *COMPILER, '-std=gnu11', '-D_GNU_SOURCE', '-g', '-O2', '-I' + ROOT, *test.product.cflags, *flags, '-o', output, source, *stand_in,
        *libs, '-pthread', '-ldl', '-lm'])
    counter = test.shared_object('counter.c', '-fno-builtin')
    work = test.mkdir('alone')
    process = subprocess.run([alone, work], env=dict(os.environ, LD_PRELOAD=counter), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True)
    equal('status of the program alone (%s)' % process.stderr.strip(), process.returncode, 0)
    counted = {name: (int(calls), int(bytes_)) for name, calls, bytes_ in re.findall(r'^counted (\w+) (\d+) (\d+)$', process.stderr, re.M)}
    true('nothing was counted', counted)
    wanted = same(process.stdout)
    for static in (False, True):
        program = test.builder.get((source, 'relinked', static), lambda output, static=static: [
            *COMPILER, '-std=gnu11', '-D_GNU_SOURCE', '-g', '-O2', '-I' + ROOT, *test.product.cflags, *flags, '-o', output, source, *libs,
            *test.product.libs(static), '-pthread', '-ldl', '-lm'])
        work = test.mkdir('static' if static else 'shared')
        process = subprocess.run([program, work], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        equal('status and errors', (process.returncode, process.stderr), (0, ''))
        equal('output', same(process.stdout), wanted)
        db = test.rip(test.profile(work)).sound()
        rows = {name: (calls, bytes_) for name, calls, bytes_ in db.rows(
            'SELECT name, count(*), sum(size) FROM allocations JOIN calls ON calls.id = call GROUP BY name')}
        equal('rows and bytes of each function', rows, counted)
        equal('sum of the sizes', db.one('SELECT sum(size) FROM allocations'), sum(b for _, b in counted.values()))
        equal('losses', db.lost(), 0)
    return db


@behaviour
def a_relinked_SQLite_does_the_same_and_misses_no_allocation(test):
    source = os.path.join(os.path.dirname(ROOT), 'demo', 'workload.c')
    # Its last line is the profile's path.
    db = relinked(test, source, [], [archive('sqlite3')], lambda text: text.splitlines()[:-1])
    equal('marks', [r[0] for r in db.rows('SELECT name FROM marks ORDER BY t')], ['filled', 'greeted'])


@behaviour
def a_relinked_Lua_does_the_same_and_misses_no_allocation(test):
    relinked(test, os.path.join(ROOT, 'relinked-lua.c'), flags_of('lua5.4', '--cflags'), [archive('lua5.4')])


@behaviour
def a_relinked_libxml2_does_the_same_and_misses_no_allocation(test):
    libs = [archive('xml2')] + [word for word in flags_of('libxml-2.0', '--libs', '--static') if word != '-lxml2']
    relinked(test, os.path.join(ROOT, 'relinked-xml.c'), flags_of('libxml-2.0', '--cflags'), libs)
