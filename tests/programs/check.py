#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole programs under hard conditions: kills, full disks, closed descriptors, signals, threads without number.

    check.py --prefix DIR [--destdir DIR] [--jobs N] [--tap] [--list] [WORD...]

--prefix is what Rheaper was configured with, --destdir what `make install DESTDIR=` put before it. WORDs choose the tests whose names
contain one of them. RHEAPER_LONG=1 in the environment: longer variants. CC is the compiler. CASE_ARGUMENTS are the arguments when there
are none. Prints a line a test, then `N passed, N failed, N skipped`.
"""
import argparse
import concurrent.futures
import os
import shlex
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness                                          # noqa: E402
import test_kill, test_threads, test_disk, test_process, test_signals, test_api, test_rip, test_relink, test_modules, test_odd, test_unmodified, test_life, test_launcher, test_allocators, test_servers  # noqa: E402, E401, F401
import test_forks, test_churn, test_coroutines, test_tight, test_killed, test_replies, test_storm, test_meeting     # noqa: E402, E401, F401


def outcome(function, product, builder):
    """('PASS' | 'FAIL' | 'SKIP', why, seconds)"""
    start = time.time()
    test = harness.Test(product, builder)
    try:
        function(test)
        result = 'PASS', ''
    except harness.Skip as e:
        result = 'SKIP', str(e)
    except harness.Failure as e:
        result = 'FAIL', str(e)
    except Exception:                                   # a fault of the test itself must not hide the others' results
        result = 'FAIL', traceback.format_exc().strip().replace('\n', ' | ')
    finally:
        test.close()
    return (*result, time.time() - start)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--prefix', default='/usr/local')
    ap.add_argument('--destdir', default='')
    ap.add_argument('--jobs', type=int, default=2)
    ap.add_argument('--tap', action='store_true', help='results for a TAP harness')
    ap.add_argument('--list', action='store_true', help='only the names of the tests')
    ap.add_argument('words', nargs='*')
    a = ap.parse_args(sys.argv[1:] or shlex.split(os.environ.get('CASE_ARGUMENTS', '')))
    chosen = [f for f in harness.behaviours if not a.words or any(w in harness.name_of(f) for w in a.words)]
    if a.list:
        print('\n'.join(map(harness.name_of, chosen)))
        return 0
    product = harness.Product(a.prefix, a.destdir)
    builder = harness.Builder(product)
    counts = {'PASS': 0, 'FAIL': 0, 'SKIP': 0}
    if a.tap:
        print('1..%d' % len(chosen))
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        results = [pool.submit(outcome, f, product, builder) for f in chosen]
        for number, (function, result) in enumerate(zip(chosen, results), 1):
            word, why, seconds = result.result()
            counts[word] += 1
            if a.tap:
                print('%s %d - %s%s' % ('not ok' if word == 'FAIL' else 'ok', number, harness.name_of(function),
                                        ' # SKIP ' + why if word == 'SKIP' else ''))
                if word == 'FAIL':
                    print('#', why)
            else:
                print('%s %s (%.1f s)%s' % (word, harness.name_of(function), seconds, ': ' + why if why else ''))
            sys.stdout.flush()
    builder.close()
    if not a.tap:
        print('%d passed, %d failed, %d skipped' % (counts['PASS'], counts['FAIL'], counts['SKIP']))
    return 1 if counts['FAIL'] and not a.tap else 0     # a TAP harness has counted them already


if __name__ == '__main__':
    sys.exit(main())
