# SPDX-License-Identifier: MIT
"""Processes that are left little: no address space (tight.c), eight system calls (sandbox.c). Nothing is disturbed, and what is not a row
is a counted loss."""
import os
import subprocess

import either
from harness import BASE_FLAGS, COMPILER, Skip, behaviour, equal, true

THREADS, FEW, BLOCKS = 12, 1000, 60000


def undisturbed(test, way, how):
    done = either.run(test, way, 'tight.c', how, place='%s-%s' % (way, how))
    equal('output', done.out, 'done\n')
    return done


def rows_and_ends(db, threads):
    """{size: (rows, ends)} of main's size and the threads'."""
    return {size: (rows, ends) for size, rows, ends in db.rows(
        'SELECT size, count(*), count(dealloc_after) FROM allocations WHERE size BETWEEN 1000 AND ? GROUP BY size', 1000 + threads)}


def tight(test, way, how):
    done = undisturbed(test, way, how)
    profiles = test.profiles(done.work)
    own = [p for p in profiles if os.path.basename(p) == 'rip-%d' % done.pid]
    equal('profiles of the process', len(own), 1)
    db = test.rip(own[0], options=('--no-symbols', '-q'))
    missing = (THREADS + 1) * FEW - sum(rows for rows, _ in rows_and_ends(db, THREADS).values())
    true('%s, %s: %d rows are missing, %d losses are counted' % (way, how, missing, db.lost()), missing <= db.lost())
    if not db.lost():
        equal('rows and ends by size', rows_and_ends(db, THREADS), {1000 + t: (FEW, FEW // 2) for t in range(THREADS + 1)})
    return db, [p for p in profiles if p not in own]


@behaviour
def without_address_space_each_event_is_a_row_or_a_counted_loss(test):
    for way in either.WAYS:
        tight(test, way, 'after')


@behaviour
def a_child_that_has_no_address_space_for_a_profile_is_undisturbed(test):
    for way in either.WAYS:
        _, others = tight(test, way, 'fork')
        for profile in others:
            db = test.rip(profile, options=('--no-symbols', '-q'))
            true('a profile of the child that is not complete', db.count('size = 3023') + db.lost() >= FEW)


@behaviour
def tracking_does_not_start_without_address_space(test):
    done = undisturbed(test, 'wrap', 'before')
    equal('files', os.listdir(done.work), [])


def sandbox(test, way, how, threads, flags=(), libs=()):
    done = either.run(test, way, 'sandbox.c', how, str(threads), flags=flags, libs=libs, place='%s-%s-%d' % (way, how, threads))
    equal('output', done.out, 'done\n')
    db = test.rip(test.profile(done.work)).sound()
    equal('rows and ends by size, %s, %s' % (way, how), rows_and_ends(db, threads),
          {1000 + t: (BLOCKS, BLOCKS // 2) for t in range(threads + 1)})
    equal('rows of the handler', db.count('size = 2003'), 50)
    equal('losses', db.lost(), 0)


@behaviour
def a_seccomp_filter_of_a_single_thread_kills_and_loses_nothing(test):
    for way in either.WAYS:
        sandbox(test, way, 'prctl', 0)
        sandbox(test, way, 'syscall', 0)


@behaviour
def seccomp_filters_of_many_threads_kill_and_lose_nothing(test):
    for way in either.WAYS:
        sandbox(test, way, 'prctl', 3)
        sandbox(test, way, 'syscall', 3)


@behaviour
def a_filter_that_libseccomp_installs_under_rheaper_kills_and_loses_nothing(test):
    if subprocess.run([*COMPILER, '-E', '-xc', '-include', 'seccomp.h', '/dev/null'], stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL).returncode:
        raise Skip('libseccomp is not installed')
    sandbox(test, 'preload', 'library', 3, flags=('-DWITH_LIBRARY',), libs=('-lseccomp',))
