# SPDX-License-Identifier: MIT
"""How fast rheaper-rip reads: a made log, its database checked against the maker's totals.

    rip.py MAKE-LOG RHEAPER-RIP DIRECTORY [EVENTS [THREADS [SITES [PROCESSES]]]]

CPU time counts, not the clock: the machine may have other work. Nothing here decides a test.
"""
import os
import shutil
import sqlite3
import subprocess
import sys
import time


def run(*command):
    """Elapsed and CPU seconds, and peak memory in MB."""
    began = time.monotonic()
    pid = os.spawnv(os.P_NOWAIT, command[0], command)
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit('%s: status %#x' % (command[0], status))
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def log_bytes(profiles):
    return sum(e.stat().st_size for p in profiles for e in os.scandir(p) if e.name.startswith('log-'))


def main(make_log, rip, directory, events=10000000, threads=4, sites=20000, processes=1):
    directory = os.path.join(directory, 'rip-bench.tmp')
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    made = subprocess.run([make_log, directory, str(events), str(threads), str(sites), str(processes), rip], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    expected = {key: int(value) for key, value in (word.split('=') for word in made.split())}
    profiles = sorted(os.path.join(directory, name) for name in os.listdir(directory))
    print('%d events, %.1f bytes each, %d threads, %d call sites, %d processes' %
          (int(events), log_bytes(profiles) / int(events), int(threads), int(sites), int(processes)))
    for options in ['--no-symbols'], []:
        elapsed, cpu, memory = run(rip, '-qf', *options, *profiles, os.path.join(directory, 'out.db'))
        print('%-13s %.2f M events/s of CPU time (%.2f s), %.2f elapsed, peak %.0f MB' %
              (options[0] if options else 'symbols', int(events) / cpu / 1e6, cpu, int(events) / elapsed / 1e6, memory))
    db = sqlite3.connect(os.path.join(directory, 'out.db'))
    found = dict(zip(('allocations', 'bytes'), db.execute('SELECT count(*), sum(size) FROM allocations').fetchone()))
    found.update(zip(('live', 'live_bytes'), db.execute('SELECT sum(live), sum(live_bytes) FROM callsites').fetchone()))
    found['lost'] = db.execute('SELECT coalesce(sum(count), 0) FROM losses').fetchone()[0]
    db.close()
    shutil.rmtree(directory)
    if found != expected:
        sys.exit('the database says %s, the maker %s' % (found, expected))


if __name__ == '__main__':
    main(*sys.argv[1:])
