# SPDX-License-Identifier: MIT
"""Many threads: blocks that change hands, more threads than trackers, tracking that goes on and off among them."""
import os

from harness import LONG, behaviour, equal, true


def swap(test, static=False, arenas=0, env=None):
    said = test.numbers(test.run(test.build('swap.c', static=static), 1000000 if LONG else 60000, arenas, env=env))
    db = test.rip().sound()
    equal('rows', db.count(), said['blocks'])
    equal('bytes', db.one('SELECT sum(size) FROM allocations'), said['bytes'])
    equal('freed', db.count('ended = 0'), said['freed'])
    equal('never freed', db.count('dealloc_after IS NULL AND ended IS NULL'), said['left'])
    equal('threads that allocated', db.one('SELECT count(DISTINCT alloc_thread) FROM allocations'), 8)
    true('no block changed hands', db.count('dealloc_thread <> alloc_thread') > 0)
    equal('losses', db.lost(), 0)


@behaviour
def blocks_that_threads_swap_live_and_end_once(test):
    swap(test)


@behaviour
def blocks_swapped_in_one_arena_without_a_thread_cache_live_and_end_once(test):
    swap(test, static=True, arenas=1, env={'GLIBC_TUNABLES': 'glibc.malloc.tcache_count=0'})


def crowd(test, trackers, threads, rounds, stack=0):
    test.run(test.build('crowd.c'), trackers, threads, rounds, stack)
    db = test.rip().sound()
    expected = [(1000 + t, rounds, rounds // 2, 1, 'crowd-%d' % t) for t in range(threads)]
    rows = db.rows('SELECT size, count(*), count(dealloc_after), count(DISTINCT alloc_thread), max(threads.name) FROM allocations '
                   'JOIN threads ON threads.id = alloc_thread WHERE size >= 1000 AND size < ? GROUP BY size ORDER BY size', 1000 + threads)
    equal('threads', len(rows), threads)
    for row, wanted in zip(rows, expected):
        equal('size, rows, ends, threads and name', row, wanted)
    equal('blocks freed by another thread', db.count('size >= 1000 AND dealloc_thread <> alloc_thread'), 0)
    equal('losses', db.lost(), 0)


@behaviour
def forty_threads_share_two_trackers_without_a_loss(test):
    crowd(test, 2, 40, 4000)


@behaviour
def more_threads_than_the_pool_has_trackers_lose_nothing(test):
    crowd(test, 200, 260, 400)


@behaviour
def threads_with_the_smallest_stacks_are_recorded(test):
    crowd(test, 200, 20, 2000, 16384)


@behaviour
def tracking_goes_on_and_off_while_threads_allocate(test):
    rounds = 5000 if LONG else 1000
    process = test.start(test.build('switch.c'), rounds)
    test.finish(process)
    wanted = ['rip-%d' % process.pid] + ['rip-%d.%d' % (process.pid, n) for n in range(1, rounds)]
    found = test.profiles()
    equal('profiles', [os.path.basename(p) for p in found], wanted)
    recorded = 0
    for start in range(0, rounds, 100):                 # each profile is a process of the database
        db = test.rip(*found[start:start + 100], options=('--no-symbols', '-q'))
        if start % 500 == 0:
            equal('overlapping lives of an address', db.overlaps(), 0)
        equal('blocks whose free was not seen', db.count('ended = 2'), 0)
        equal('processes', db.one('SELECT count(*) FROM processes'), min(100, rounds - start))
        equal('losses', db.lost(), 0)
        equal('profiles that were not ended in order', db.one("SELECT count(*) FROM processes WHERE ended <> 'disabled'"), 0)
        recorded += db.one('SELECT count(DISTINCT process) FROM allocations')
        db.connection.close()
    true('only %d of %d sessions recorded anything' % (recorded, rounds), recorded > rounds / 20)


@behaviour
def threads_whose_first_events_come_together_lose_nothing(test):
    program = test.build('first.c')
    for i in range(20):
        directory = test.mkdir('run-%d' % i)
        test.run(program, env={'RHEAPER_ENABLE': '1', 'RHEAPER_PROFILE_DIR': directory})
        equal('rows', test.rip(test.profile(directory)).count('size = 7411 AND ended = 0'), 2000)
