# SPDX-License-Identifier: MIT
"""Programs as they are, started by `rheaper`: what the tests of the launcher and of the preloaded library share."""
import os
import re
import signal
import struct
import subprocess

from harness import BASE_FLAGS, COMPILER, ROOT, SECONDS, Failure, equal


class Outcome:
    def __init__(self, process, out, err):
        self.pid, self.status, self.out, self.err = process.pid, process.returncode, out.decode('latin1'), err.decode('latin1')


def launcher(test):
    return os.path.join(os.path.dirname(test.product.rip), 'rheaper')


def library(test, name):
    return os.path.join(test.product.lib, 'rheaper', 'librheaper-%s.so' % name)


def start(command, cwd, env=None, **more):
    return subprocess.Popen(list(map(str, command)), cwd=cwd, env=dict(os.environ, **(env or {})), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **more)


def finish(process, status):
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Failure('%s: not done after %d s' % (' '.join(process.args), SECONDS)) from None
    done = Outcome(process, out, err)
    if status is not None and done.status != status:
        raise Failure('%s: status %d, wanted %d: %s' % (' '.join(process.args), done.status, status, (done.out + done.err).strip()[-600:]))
    return done


def run(test, *command, env=None, cwd=None, status=0, **more):
    """Without Rheaper."""
    return finish(start(command, cwd or test.dir, env, **more), status)


def rheaper(test, *arguments, env=None, cwd=None, status=0, **more):
    return run(test, launcher(test), *arguments, env=env, cwd=cwd, status=status, **more)


def program(test, source, *flags, compiler=COMPILER, libs=()):
    """A program of this folder, without Rheaper."""
    return test.builder.get((source, flags, tuple(libs), 'alone'), lambda output: [
        *compiler, *BASE_FLAGS, '-DPLAIN', *flags, '-o', output, os.path.join(ROOT, source), *libs, '-pthread', '-ldl'])


def tallies(directory):
    """What tally.c has counted: {pid: [(rows, ends, bytes, forked), ...]}, in order of the images of one pid."""
    found = {}
    names = sorted(os.listdir(directory), key=lambda n: [int(part) for part in n.split('.')])
    for name in names:
        with open(os.path.join(directory, name), 'rb') as f:
            found.setdefault(int(name.split('.')[0]), []).append(struct.unpack('=4Q', f.read(32)))
    return found


def recorded(db):
    """The same of a database."""
    found = {}
    for pid, rows, ends, size in db.rows(
            'SELECT p.pid, count(a.addr), count(a.dealloc_after), coalesce(sum(a.size), 0) FROM processes p LEFT JOIN allocations a '
            'ON a.process = p.id GROUP BY p.id ORDER BY p.id'):
        found.setdefault(pid, []).append((rows, ends, size))
    return found


def tally_library(test):
    return test.builder.get(('tally.c', 'so'), lambda output: [*COMPILER, '-O1', '-fno-builtin', '-Wall', '-D_GNU_SOURCE', '-fPIC', '-shared', '-o', output,
                                                              os.path.join(ROOT, 'tally.c'), '-ldl'])


def same_count(test, *command, options=(), env=None, cwd=None, also_preload=None):
    """Runs a command alone and under `rheaper`, which must not change what it prints nor its status, and compares each process's rows, ends and bytes
    with what an independent counter behind Rheaper has seen. Returns the database."""
    tally = tally_library(test)
    profiles, counts = test.mkdir('profiles'), test.mkdir('counts')
    behind = [also_preload] if also_preload else []
    env = dict(env or {}, LD_PRELOAD=':'.join(behind))
    alone = run(test, *command, env=env, cwd=cwd, status=None)
    done = rheaper(test, '-q', '-o', profiles, *options, '--', *command, cwd=cwd, status=None,
                   env=dict(env, LD_PRELOAD=':'.join([tally, *behind]), TALLY_DIR=counts))
    equal('status', done.status, alone.status)
    equal('standard output', done.out, alone.out)
    equal('standard error', done.err, alone.err)
    return agree(test, profiles, counts, done.pid)


def agree(test, profiles, counts, pid):
    """Compares profiles with the counter's files; pid is what `rheaper` became."""
    db = test.rip(*test.profiles(profiles))
    wanted, got = tallies(counts), recorded(db)
    wanted[pid].pop(0)                                  # that image was the launcher's own
    equal('processes', sorted(got), sorted(wanted))
    for p in wanted:
        equal('images of process %d' % p, len(got[p]), len(wanted[p]))
        for image, (here, there) in enumerate(zip(got[p], wanted[p])):
            equal('rows and bytes of image %d of process %d' % (image, p), here[::2], there[:3:2])
            if not there[3]:
                equal('ends in image %d of process %d' % (image, p), here[1], there[1])
    equal('losses', db.lost(), 0)
    return db


def directory_of(done):
    """The profile that the closing line names."""
    found = re.findall(r'^rheaper: recorded to (\S+); next: rheaper-rip \1 profile\.db$', done.err, re.M)
    equal('closing lines', len(found), 1)
    return found[0]
