# SPDX-License-Identifier: MIT
"""Programs as they are that somebody kills (kill.c), under `rheaper`."""
import random
import shutil
import signal
import struct
import time

import either
import launched
from harness import LONG, behaviour, equal, true


@behaviour
def threads_of_a_program_under_rheaper_killed_at_any_moment_leave_every_completed_event(test):
    program = either.built(test, 'preload', 'kill.c')
    moments = random.Random(2)
    seen = 0
    for number in range(100 if LONG else 10):
        counts, work = test.path('counts-%d' % number), test.mkdir('run-%d' % number)
        options = ['--buffer-events', str([5000, 20][number % 2]), '--max-trackers', str([200, 200, 1][number % 3])]
        process = launched.start(either.command(test, 'preload', program, 'threads', counts, '0', '0', options=options), work)
        equal('the program starts', process.stdout.read(1), b'r')
        time.sleep(moments.uniform(0, 0.12))
        process.kill()
        equal('output', launched.finish(process, -signal.SIGKILL).err, '')
        db = test.rip(test.profile(work), tolerated='the log was cut short').sound()
        with open(counts, 'rb') as f:
            for thread in range(4):
                allocations, frees = struct.unpack('<QQ', f.read(64)[:16])
                rows = db.count('size = ?', 1000 + thread)
                ended = db.count('size = ? AND ended = 0', 1000 + thread)
                # The kernel may stop a thread between the allocation and its count.
                true('kill %d, thread %d: %d rows of %d allocations' % (number, thread, rows, allocations),
                     allocations <= rows <= allocations + 1)
                true('kill %d, thread %d: %d ends of %d frees' % (number, thread, ended, frees), frees <= ended <= frees + 1)
                seen += allocations
        equal('losses', db.lost(), 0)
        db.connection.close()
        shutil.rmtree(work)
    true('no kill came after the first event', seen > 0)
