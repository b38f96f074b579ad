# SPDX-License-Identifier: MIT
"""A killed process has lost nothing that was complete."""
import os
import random
import signal
import struct
import time

from harness import LONG, behaviour, equal, true


def killed_by_itself(test, static):
    test.run(test.build('kill.c', static=static), 'self', status=-signal.SIGKILL)
    db = test.rip()
    equal('rows', db.count(), 60000)
    equal('bytes', db.one('SELECT sum(size) FROM allocations'), 600 * 5050)
    equal('live at the end', db.count('dealloc_after IS NULL'), 60000)
    equal('losses', db.lost(), 0)


@behaviour
def a_program_that_kills_itself_leaves_every_allocation(test):
    killed_by_itself(test, static=False)


@behaviour
def so_does_one_that_is_linked_with_the_static_library(test):
    killed_by_itself(test, static=True)


@behaviour
def threads_killed_at_any_moment_leave_every_completed_event(test):
    program = test.build('kill.c')
    moments = random.Random(1)
    seen = 0
    for number in range(100 if LONG else 10):
        counts, work = test.path('counts-%d' % number), test.mkdir('run-%d' % number)
        # With few events a chunk, kills fall into the writing of chunks more often; with one tracker, threads share.
        process = test.start(program, 'threads', counts, [5000, 20][number % 2], [200, 200, 1][number % 3], cwd=work)
        equal('the program starts', process.stdout.read(1), b'r')
        time.sleep(moments.uniform(0, 0.12))
        process.kill()
        test.finish(process, -signal.SIGKILL)
        # A kill within a write leaves a torn copy of a chunk in the log; the whole one is in the buffer.
        db = test.rip(test.profile(work), tolerated='the log was cut short').sound()
        with open(counts, 'rb') as f:
            for thread in range(4):
                allocations, frees = struct.unpack('<QQ', f.read(64)[:16])
                rows = db.count('size = ?', 1000 + thread)
                ended = db.count('size = ? AND ended = 0', 1000 + thread)
                true('kill %d, thread %d: %d rows of %d allocations' % (number, thread, rows, allocations),
                     allocations <= rows <= allocations + 1)
                true('kill %d, thread %d: %d ends of %d frees' % (number, thread, ended, frees), frees <= ended <= frees + 1)
                seen += allocations
        equal('losses', db.lost(), 0)
        db.connection.close()
        for name in os.listdir(test.profile(work)):
            os.unlink(os.path.join(test.profile(work), name))
    true('no kill came after the first event', seen > 0)
