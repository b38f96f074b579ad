# SPDX-License-Identifier: MIT
"""Unmodified programs on other allocators: each stays in place, and its calls are rows."""
import os
import subprocess

from harness import COMPILER, Skip, behaviour, equal, true
from launched import program, rheaper, run, same_count
from test_unmodified import SQL, need_program

def shared(name):
    path = subprocess.run([*COMPILER, '-print-file-name=lib%s.so' % name], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    if not os.path.isabs(path):
        raise Skip('lib%s.so is not installed' % name)
    return os.path.realpath(path)


def on(test, name):
    allocator = shared(name)
    linked = program(test, 'allocator.c', libs=('-Wl,--no-as-needed', allocator))
    for how, path, env in (('linked', linked, {}), ('preloaded', program(test, 'allocator.c'), {'LD_PRELOAD': allocator})):
        wanted = run(test, path, env=env).out
        true('%s is not what allocates: %s' % (allocator, wanted), os.path.realpath(wanted.strip()) == allocator)
        work = test.mkdir(how)
        equal('output, ' + how, rheaper(test, '-q', '-o', work, path, env=env).out, wanted)
        db = test.rip(test.profile(work)).sound()
        rows = {call: (n, live, size) for call, n, live, size in db.rows(
            'SELECT name, count(*), sum(dealloc_after IS NULL), sum(size) FROM allocations JOIN calls ON calls.id = call '
            'WHERE size BETWEEN 8000 AND 8999 GROUP BY name')}
        equal('rows, live ones and bytes, ' + how, rows, {
            'malloc': (50, 10, 50 * 8009), 'calloc': (50, 0, 50 * 8011), 'realloc': (50, 0, 50 * 8017), 'posix_memalign': (50, 0, 50 * 8039),
            'aligned_alloc': (50, 0, 50 * 8064), 'memalign': (50, 0, 50 * 8053)})
    sqlite = need_program('sqlite3')
    true('rows of sqlite3', same_count(test, sqlite, ':memory:', SQL, also_preload=allocator).count() > 5000)


@behaviour
def a_program_on_tcmalloc_keeps_it_and_is_recorded(test):
    on(test, 'tcmalloc_minimal')


@behaviour
def a_program_on_tcmalloc_with_its_own_profiler_keeps_it_and_is_recorded(test):
    on(test, 'tcmalloc')


@behaviour
def a_program_on_jemalloc_keeps_it_and_is_recorded(test):
    on(test, 'jemalloc')


@behaviour
def a_program_on_mimalloc_keeps_it_and_is_recorded(test):
    on(test, 'mimalloc')
