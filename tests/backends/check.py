#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whose malloc it is: one heap for the program and its libraries, the allocator's own ways kept, a program's own allocator.

    check.py --prefix DIR [--destdir DIR] [--backend NAME] [--tap] [WORD...]

--backend is what Rheaper was configured with (glibc). For the rest see tests/programs/check.py, whose harness this uses.
"""
import argparse
import os
import shlex
import sys

ROOT = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(ROOT, '..', 'programs'))

import harness                                          # noqa: E402
from harness import behaviour, equal, true              # noqa: E402

LIBRARIES = {'glibc': ([], 'libc.so'), 'tcmalloc': (['-ltcmalloc_minimal'], 'libtcmalloc'), 'mimalloc': (['-lmimalloc'], 'libmimalloc'),
             'jemalloc': (['-ljemalloc'], 'libjemalloc')}
backend = 'glibc'


def source(name):
    return os.path.join(ROOT, name)


def with_allocator():
    return ['-Wl,--push-state,--no-as-needed', *LIBRARIES[backend][0], '-Wl,--pop-state']


def one_heap(test, static):
    product = test.product
    program = test.builder.get(('heap.cc', static), lambda output: [
        *os.environ.get('CXX', 'g++').split(), '-std=c++17', '-g', '-O1', '-Wall', '-Wextra', '-Werror',
        '-I' + os.path.join(ROOT, '../programs'),
        *product.cflags, '-o', output, source('heap.cc'), *product.libs(static), '-pthread', '-ldl'])
    lines = test.run(program, '.').splitlines()
    true('malloc is not the backend: ' + lines[-1], LIBRARIES[backend][1] in os.path.basename(lines[-1]))
    wanted = '-1' if backend == 'glibc' else '1'
    equal('blocks of another heap', [line for line in lines[:-1] if line.split('=')[1] != wanted], [])
    equal('blocks asked for', len(lines), 2 * 13 + 1)
    db = test.rip()
    equal('backend', db.one('SELECT backend FROM processes'), backend)
    equal('rows of operators', db.rows('SELECT calls.name, count(*) FROM allocations JOIN calls ON calls.id = call '
                                       "WHERE size = 100 AND calls.name LIKE 'new%' "
                                       'GROUP BY 1 ORDER BY 1'), [('new', 2), ('new(align)', 1)])


@behaviour
def program_and_libraries_have_one_heap(test):
    one_heap(test, static=False)


@behaviour
def program_and_libraries_have_one_heap_with_the_archive(test):
    one_heap(test, static=True)


def quirks(test, static):
    def answers(program, *words):
        return test.run(program, *words).splitlines()
    plain = test.build(source('quirks.c'), *with_allocator(), *flags, plain=True, libs=with_allocator())
    mine = test.build(source('quirks.c'), *flags, static=static)
    for what in ('usual', 'odd'):
        wanted = answers(plain, 'off', what)
        true('only %d answers' % len(wanted), len(wanted) > 4)
        for when in ('off', 'on'):
            got = answers(mine, when, what)
            equal('answers that differ with tracking ' + when, [(g, w) for g, w in zip(got, wanted) if g != w], [])
            equal('answers', len(got), len(wanted))


# jemalloc 5.3 has no pvalloc: without Rheaper the C library's would give a block of another heap.
flags = ['-fno-builtin']


@behaviour
def odd_requests_are_answered_as_without_rheaper(test):
    quirks(test, static=False)


@behaviour
def odd_requests_are_answered_as_without_rheaper_with_the_archive(test):
    quirks(test, static=True)


def own(test, *how, static=False, inner=False):
    said = test.numbers(test.run(test.build(source('own.c'), *how, static=static), '.'))
    equal('blocks that were not freed', said['left'], 0)
    equal('blocks made with tracking on and off', said['on'], said['off'])
    db = test.rip()
    equal('backend', db.one('SELECT backend FROM processes'), 'program')
    equal('never freed', db.count('ended IS NULL'), 0)
    equal('losses', db.lost(), 0)
    rows = dict(db.rows('SELECT calls.name, count(*) FROM allocations JOIN calls ON calls.id = call GROUP BY 1'))
    for call, count in (('malloc', 3), ('calloc', 1), ('reallocarray', 1), ('memalign', 1), ('aligned_alloc', 1),
                        ('posix_memalign', 1), ('strdup', 1), ('asprintf', 1), ('getline', 2)):
        if inner:                                       # the C library's own calls are seen too
            true('too few rows of ' + call, rows.get(call, 0) >= count)
        else:
            equal('rows of ' + call, rows.get(call), count)


@behaviour
def a_programs_own_backend_serves_its_calls(test):
    own(test)


@behaviour
def a_programs_own_backend_serves_its_calls_with_hidden_visibility(test):
    own(test, '-fvisibility=hidden', '-fno-pie', '-no-pie')


@behaviour
def a_programs_own_backend_serves_its_calls_with_the_archive(test):
    own(test, static=True)


@behaviour
def a_programs_own_backend_serves_its_calls_with_link_time_optimization(test):
    own(test, '-O2', '-flto', static=True)


@behaviour
def a_programs_own_backend_serves_a_static_program(test):
    if backend != 'glibc':
        raise harness.Skip('the link matrix has the static programs of other allocators')
    own(test, '-static', '-DSTATIC', static=True, inner=True)


def main():
    global backend
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--prefix', default='/usr/local')
    ap.add_argument('--destdir', default='')
    ap.add_argument('--backend', choices=LIBRARIES, default=os.environ.get('BACKEND', 'glibc'))
    ap.add_argument('--tap', action='store_true', help='results for a TAP harness')
    ap.add_argument('words', nargs='*')
    a = ap.parse_args(sys.argv[1:] or shlex.split(os.environ.get('CASE_ARGUMENTS', '')))
    backend = a.backend
    if backend != 'jemalloc':
        flags.append('-DHAVE_PVALLOC')
    chosen = [f for f in harness.behaviours if not a.words or any(w in harness.name_of(f) for w in a.words)]
    builder = harness.Builder(product := harness.Product(a.prefix, a.destdir))
    failed = 0
    if a.tap:
        print('1..%d' % len(chosen))
    for number, function in enumerate(chosen, 1):
        word, why = 'ok', ''
        test = harness.Test(product, builder)
        try:
            function(test)
        except harness.Skip as e:
            why = str(e)
        except harness.Failure as e:
            word, why = 'not ok', str(e)
            failed += 1
        finally:
            test.close()
        print('%s %d - %s%s' % (word, number, harness.name_of(function), ' # SKIP ' + why if word == 'ok' and why else ''))
        if word != 'ok':
            print('#', why)
        sys.stdout.flush()
    builder.close()
    return 1 if failed and not a.tap else 0             # a TAP harness has counted them already


if __name__ == '__main__':
    sys.exit(main())
