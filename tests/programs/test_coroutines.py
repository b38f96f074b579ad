# SPDX-License-Identifier: MIT
"""Coroutines on stacks of 16 KiB (coroutines.c), of one thread and from thread to thread: each block a row with the frames of its own
coroutine."""
import either
from harness import behaviour, equal

COUNT, ROUNDS = 50, 40


def coroutines(test, how):
    for way in either.WAYS:
        done = either.run(test, way, 'coroutines.c', how, str(COUNT), str(ROUNDS))
        db = test.rip(test.profile(done.work), options=()).sound()
        of_ours = 'size BETWEEN 2000 AND %d' % (1999 + COUNT)
        stacks = {}
        for bt, frame in db.rows('SELECT id, sym FROM backtraces WHERE id IN (SELECT bt FROM allocations WHERE %s) '
                                 'ORDER BY id, frame_no' % of_ours):
            stacks.setdefault(bt, []).append(frame)
        for size, bt, rows, ends, threads, moved in db.rows(
                'SELECT size, bt, count(*), count(dealloc_after), count(DISTINCT alloc_thread), sum(alloc_thread <> dealloc_thread) '
                'FROM allocations WHERE %s GROUP BY size' % of_ours):
            equal('rows, ends, threads and moves of %d bytes, %s' % (size, way), (rows, ends, threads, moved),
                  (ROUNDS, ROUNDS, 1, 0) if how == 'one' else (ROUNDS, ROUNDS, 2, ROUNDS))
            frames = ['leaf'] + ['deeper'] * ((size - 2000) % 7 + 1) + ['coroutine']
            equal('frames of %d bytes, %s' % (size, way), stacks[bt][:len(frames)], frames)
            equal('what called the coroutine, %s' % way, stacks[bt][len(frames):] in ([], [None], ['__start_context']), True)
        equal('sizes, %s' % way, db.one('SELECT count(DISTINCT size) FROM allocations WHERE ' + of_ours), COUNT)
        equal('backtraces of one size, %s' % way, db.one(
            'SELECT max(n) FROM (SELECT count(DISTINCT bt) n FROM allocations WHERE %s GROUP BY size)' % of_ours), 1)
        equal('losses', db.lost(), 0)


@behaviour
def coroutines_of_one_thread_have_rows_and_frames_of_their_own(test):
    coroutines(test, 'one')


@behaviour
def coroutines_that_go_from_thread_to_thread_have_rows_and_frames_of_their_own(test):
    coroutines(test, 'two')
