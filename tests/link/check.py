#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Links programs with Rheaper in every way that is promised, and counts what their profiles say.

    check.py --prefix DIR [--destdir DIR] [--tap] [--all] [--keep] [CELL...]

A cell is compiler/linker/library/mode/C++ library, for example clang/lld/static/no-pie/dynamic; a CELL is a part of such names. Without
--all (or LINK_ALL=1) a selection is run in which nearly every word occurs.

In each cell the calls of a program must give exactly the rows in ROWS: how often which call was recorded, and the function that frame 0
lies in. Where the tools themselves cannot make a program of an empty main the cell is skipped, with their reason. The options stand in
CASE_ARGUMENTS when there are none, as with tests/cases/check.py.
"""
import argparse
import collections
import glob
import itertools
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.abspath(__file__))
SECONDS = 120

COMPILERS = {'gcc': ('gcc', 'g++'), 'clang': ('clang', 'clang++')}
LINKERS = ('bfd', 'gold', 'lld')
LIBRARIES = ('shared', 'static')
MODES = {'plain': [], 'lto': ['-O2', '-flto'], 'static': ['-static'], 'static-pie': ['-static-pie', '-fPIE'],
         'no-pie': ['-no-pie', '-fno-pie'], 'fortify': ['-O2', '-U_FORTIFY_SOURCE', '-D_FORTIFY_SOURCE=2']}
RUNTIMES = {'c': [], 'dynamic': [], 'static': ['-static-libstdc++'], 'libc++': ['-stdlib=libc++']}

# {program: {(call, function of frame 0): rows}}; None: it records nothing, only has to run. `operator`: frame 0 is the program's own operator
# new, and what called it is named.
ROWS = {
    'calls.c': {
        ('malloc', 'from_malloc'): 3, ('calloc', 'from_calloc'): 1, ('realloc', 'from_realloc'): 2,
        ('reallocarray', 'from_reallocarray'): 2, ('posix_memalign', 'from_posix_memalign'): 1, ('aligned_alloc', 'from_aligned'): 1,
        ('memalign', 'from_aligned'): 1, ('valloc', 'from_aligned'): 1, ('pvalloc', 'from_aligned'): 1, ('strdup', 'from_strings'): 1,
        ('strndup', 'from_strings'): 1, ('wcsdup', 'from_strings'): 1, ('vasprintf', 'from_vasprintf'): 1,
        ('asprintf', 'from_asprintf'): 2, ('getline', 'from_getline'): 2, ('getdelim', 'from_getdelim'): 1,
        ('realpath', 'from_paths'): 1, ('getcwd', 'from_paths'): 2, ('other', 'from_others'): 3},
    'calls.cc': {
        ('new', 'from_new'): 3, ('new[]', 'from_new_array'): 2, ('new', 'from_nothrow'): 1, ('new[]', 'from_nothrow'): 1,
        ('new(align)', 'from_aligned'): 1, ('new[](align)', 'from_aligned'): 1, ('new', 'from_string'): 1, ('new', 'from_vector'): 1},
    'replaced.cc': {('malloc', 'operator from_new'): 4},
    'api.cc': {('pool', 'from_pool'): 1, ('pool_realloc', 'from_pool'): 2},
    'throws.cc': None,
    'empty.c': None,
}

# What a statically linked C++ library allocates for itself when something is thrown: rows of their own.
RUNTIME = '__cxa_allocate_exception', 'search_object'

QUERY = """
SELECT c.name, (SELECT b.sym FROM backtraces b WHERE b.id = a.bt AND b.inlined = 0 ORDER BY b.frame_no LIMIT 1) AS first,
       (SELECT b.sym FROM backtraces b WHERE b.id = a.bt AND b.sym LIKE 'from_%' ORDER BY b.frame_no LIMIT 1) AS site,
       count(*), sum(a.dealloc_after IS NULL)
FROM allocations a JOIN calls c ON c.id = a.call WHERE NOT (a.size = 0 AND c.name = 'realloc') GROUP BY 1, 2, 3
"""                                                      # realloc(p, 0) gives a block in some allocators


class Failure(Exception):
    """What is wrong with a cell, in a line."""


class Skip(Exception):
    """Why a cell cannot be."""


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace', timeout=SECONDS, **more)


class Installed:
    def __init__(self, prefix, destdir):
        root = destdir + os.path.abspath(prefix)
        found = [p for d in ('lib', 'lib64', 'lib/*') for p in glob.glob(os.path.join(root, d, 'pkgconfig/rheaper.pc'))]
        self.rip = os.path.join(root, 'bin/rheaper-rip')
        if not found or not os.path.exists(self.rip):
            sys.exit('check.py: no Rheaper is installed in %s' % root)
        self.lib = os.path.dirname(os.path.dirname(found[0]))
        self.env = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(found[0]), PKG_CONFIG_ALLOW_SYSTEM_CFLAGS='1',
                        PKG_CONFIG_ALLOW_SYSTEM_LIBS='1')
        if destdir:
            self.env['PKG_CONFIG_SYSROOT_DIR'] = destdir

    def flags(self, package, library, static=False):
        how = ['--static'] if static else []
        words = subprocess.run(['pkg-config', *how, '--cflags', '--libs', package], env=self.env, check=True, stdout=subprocess.PIPE,
                               text=True).stdout.split()
        if library == 'shared':
            return words + ['-Wl,-rpath,' + self.lib]
        return ['-l:librheaper.a' if w == '-lrheaper' else w for w in words] + ['-pthread']


class Cell:
    def __init__(self, compiler, linker, library, mode, runtime):
        self.words = compiler, linker, library, mode, runtime
        self.name = '/'.join(self.words)
        self.compiler, self.linker, self.library, self.mode, self.runtime = self.words

    def possible(self):
        """False where the words contradict each other."""
        if self.mode.startswith('static') and (self.library != 'static' or self.runtime == 'static'):
            return False
        return self.runtime != 'libc++' or self.compiler == 'clang'

    def programs(self):
        return ('calls.c', 'empty.c') if self.runtime == 'c' else ('calls.cc', 'throws.cc', 'replaced.cc', 'api.cc')

    def build(self, source, output, extra):
        driver = COMPILERS[self.compiler][source.endswith('.cc')]
        language = ['-std=c++17', '-fsized-deallocation', *RUNTIMES[self.runtime]] if source.endswith('.cc') else ['-D_GNU_SOURCE']
        return run([driver, '-g', *MODES[self.mode], '-fuse-ld=' + self.linker, *language, '-o', output, source, *extra])

    def probe(self, rheaper, work):
        """Can the tools make and run such a program at all? With the allocator that Rheaper was configured for, if it is another."""
        for tool in (COMPILERS[self.compiler][self.runtime != 'c'], 'ld.' + self.linker):
            if not shutil.which(tool):
                raise Skip('there is no ' + tool)
        if self.linker == 'gold' and self.mode == 'static-pie':
            raise Skip('gold does not make static-pie programs')
        source = os.path.join(work, 'probe.c' if self.runtime == 'c' else 'probe.cc')
        program = os.path.join(work, 'probe')
        with open(source, 'w') as f:
            f.write('int main(void) { return 0; }\n' if self.runtime == 'c' else
                    '#include <string>\nint main() { return std::string().size(); }\n')
        words = rheaper.flags('rheaper', self.library, self.mode.startswith('static'))
        allocator = [w for w in words[words.index('-l:librheaper.a' if self.library == 'static' else '-lrheaper') + 1:] if 'rpath' not in w]
        if self.linker == 'lld' and self.mode.startswith('static') and '-ljemalloc' in allocator:
            raise Skip('lld takes pvalloc out of libc.a before it wraps it, and with it a second malloc')
        r = self.build(source, program, allocator)
        if r.returncode == 0:
            r = run([program])
        if r.returncode:
            lines = [line for line in r.stdout.strip().splitlines() if 'error' in line or 'cannot' in line] or ['status %d' % r.returncode]
            raise Skip(lines[0])

    def check(self, rheaper, source, work):
        program = os.path.join(work, source.replace('.', '-'))
        package = 'rheaper-api' if source == 'api.cc' else 'rheaper'
        r = self.build(os.path.join(ROOT, source), program, rheaper.flags(package, self.library, self.mode.startswith('static')))
        if r.returncode:
            raise Failure('%s: does not link: %s' % (source, r.stdout.strip()[-600:]))
        profiles = program + '.profiles'
        os.mkdir(profiles)
        r = run([program, profiles], cwd=work)
        if r.returncode:
            raise Failure('%s: ended with %d %s' % (source, r.returncode, r.stdout.strip()[-300:]))
        if ROWS[source] is None:
            return
        db = program + '.db'
        made = glob.glob(profiles + '/rip-*')
        if len(made) != 1:
            raise Failure('%s: %d profiles' % (source, len(made)))
        r = run([rheaper.rip, '-q', made[0], db])
        if r.returncode:
            raise Failure('%s: rheaper-rip: %s' % (source, r.stdout.strip()))
        compare(source, db)


def compare(source, db):
    got = collections.Counter()
    live = 0
    connection = sqlite3.connect(db)
    for call, first, site, count, alive in connection.execute(QUERY):
        first, site = first or '?', re.sub(r'\(.*', '', site or '?')
        if first in RUNTIME:
            continue
        if first.startswith('std::'):                   # the C++ library's templates
            first = site
        elif first.startswith('operator new'):
            first = 'operator ' + site
        got[call, re.sub(r'\(.*', '', first)] += count
        live += alive
    connection.close()
    expected = collections.Counter(ROWS[source])
    wrong = ['%d of %s in %s, wanted %d' % (got[k], *k, expected[k]) for k in sorted(set(got) | set(expected)) if got[k] != expected[k]]
    if live:
        wrong.append('%d were not seen to end' % live)
    if wrong:
        raise Failure('%s: %s' % (source, '; '.join(wrong)))


class Names:
    """The flags that users link with and the functions in both libraries are the same list."""
    name = 'names'

    def probe(self, rheaper, work):
        pass

    def programs(self):
        return ('librheaper.so', 'librheaper.a')

    def check(self, rheaper, library, work):
        flagged = set(re.findall(r'--wrap=([^,\s]+)', ' '.join(rheaper.flags('rheaper', 'shared'))))
        r = run(['nm', '--defined-only', *(['-D'] if library.endswith('.so') else ['-g']), os.path.join(rheaper.lib, library)])
        defined = set(re.findall(r' T __wrap_(\S+)', r.stdout))
        if not flagged or flagged != defined:
            raise Failure('%s: flags without functions: %s; functions without flags: %s' % (
                library, ' '.join(sorted(flagged - defined)) or '-', ' '.join(sorted(defined - flagged)) or '-'))


def cells(everything, parts):
    made = [Cell(*words) for words in itertools.product(COMPILERS, LINKERS, LIBRARIES, MODES, RUNTIMES)]
    made = [c for c in made if c.possible()]
    if parts:
        return [c for c in [Names(), *made] if any(p in c.name for p in parts)]
    if everything:
        return [Names(), *made]
    quick = {'gcc/bfd/shared/plain/c', 'gcc/bfd/shared/plain/dynamic', 'gcc/bfd/static/plain/c', 'gcc/bfd/static/plain/dynamic',
             'gcc/bfd/static/static/c', 'gcc/bfd/static/static/dynamic', 'gcc/bfd/static/static-pie/c', 'gcc/bfd/static/lto/dynamic',
             'gcc/bfd/shared/fortify/c', 'gcc/gold/static/static/dynamic', 'gcc/gold/shared/no-pie/static', 'gcc/bfd/static/no-pie/static',
             'clang/lld/static/static/c', 'clang/lld/static/lto/c', 'clang/lld/shared/plain/dynamic', 'clang/bfd/static/fortify/c'}
    return [Names(), *(c for c in made if c.name in quick)]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--prefix', default='/usr/local')
    ap.add_argument('--destdir', default='')
    ap.add_argument('--tap', action='store_true')
    ap.add_argument('--all', action='store_true', default=bool(os.environ.get('LINK_ALL')))
    ap.add_argument('--keep', action='store_true')
    ap.add_argument('cells', nargs='*')
    a = ap.parse_args(sys.argv[1:] or shlex.split(os.environ.get('CASE_ARGUMENTS', '')))
    rheaper = Installed(a.prefix, a.destdir)
    chosen = cells(a.all, a.cells)
    counts = collections.Counter()
    if a.tap:
        print('1..%d' % len(chosen))
    for number, cell in enumerate(chosen, 1):
        work = tempfile.mkdtemp(prefix='link-')
        note, failures = '', []
        try:
            cell.probe(rheaper, work)
            for source in cell.programs():
                try:
                    cell.check(rheaper, source, work)
                except (Failure, subprocess.TimeoutExpired) as e:
                    failures.append(str(e))
            result = 'failed' if failures else 'passed'
        except Skip as e:
            result, note = 'skipped', str(e)
        if a.keep:
            print('#', work)
        else:
            shutil.rmtree(work, ignore_errors=True)
        counts[result] += 1
        if a.tap:
            print('%s %d - %s%s' % ('not ok' if failures else 'ok', number, cell.name, ' # SKIP ' + note if note else ''))
        else:
            print('%-7s %s  %s' % (result, cell.name, note))
        for failure in failures:
            print('# ' + failure.replace('\n', '\n# '))
        sys.stdout.flush()
    if not a.tap:
        print('%d passed, %d failed, %d skipped' % (counts['passed'], counts['failed'], counts['skipped']))
    return 1 if counts['failed'] and not a.tap else 0


if __name__ == '__main__':
    sys.exit(main())
