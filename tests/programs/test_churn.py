# SPDX-License-Identifier: MIT
"""Threads without end, and what is left to the end of threads and processes (churn.c, ends.cc)."""
import os

import either
from harness import LONG, behaviour, equal, true


def churn(test, way):
    threads = 20000 if LONG or way == 'wrap' else 4000
    done = either.run(test, way, 'churn.c', str(threads))
    db = test.rip(test.profile(done.work)).sound()
    for size, count, freed in ((1009, 3 * threads, 3 * threads), (1013, threads, threads), (1019, threads, 0)):
        equal('rows and ends of %d bytes, %s' % (size, way),
              db.rows('SELECT count(*), count(dealloc_after) FROM allocations WHERE size = ?', size), [(count, freed)])
    equal('threads', db.one('SELECT count(DISTINCT alloc_thread) FROM allocations WHERE size = 1009'), threads)
    equal('blocks that another thread ended', db.count('size IN (1009, 1013) AND alloc_thread <> dealloc_thread'), 0)
    equal('losses', db.lost(), 0)
    # Eight alive, each a level for itself; a thread that has been joined may not have been buried by the kernel yet.
    rings = [n for n in os.listdir(test.profile(done.work)) if n.startswith('log-')]
    true('%d logs for nine threads' % len(rings), len(rings) <= 24)
    more = test.numbers(done.out)
    true('more of the process at its end than after a hundred threads: %s' % done.out.strip(),
         more['descriptors'] <= 0 and more['mappings'] <= 16 and max(more['size'], more['resident']) <= 8192 + threads * 1280 / 1024)


@behaviour
def twenty_thousand_threads_in_turn_are_recorded_in_bounded_space(test):
    churn(test, 'wrap')


@behaviour
def so_are_the_threads_of_a_program_under_rheaper(test):
    churn(test, 'preload')


@behaviour
def objects_that_end_with_threads_and_with_the_process_are_recorded(test):
    for way in either.WAYS:
        for how in ('return', 'exit', 'quick_exit'):
            done = either.run(test, way, 'ends.cc', how, place='%s-%s' % (way, how))
            db = test.rip(test.profile(done.work)).sound()
            quick = how == 'quick_exit'
            # The static object begins before a relinked program switches tracking on.
            wanted = {5101: (4, 3), 5103: (3, 0), 5105: (3, 0), 5501: (1, 0)}
            if way == 'preload':
                wanted[5003] = (1, 0 if quick else 1)
            if quick:                                   # runs no destructor of main's
                wanted[5401] = (1, 0)
            else:
                wanted.update({5101: (4, 4), 5103: (4, 0), 5105: (4, 0), 5005: (1, 0), 5007: (1, 0), 5303: (1, 0)})
            equal('rows and ends by size, %s, %s' % (way, how), {size: (rows, ends) for size, rows, ends in db.rows(
                'SELECT size, count(*), count(dealloc_after) FROM allocations WHERE size BETWEEN 5000 AND 5600 GROUP BY size')}, wanted)
            equal('losses', db.lost(), 0)
