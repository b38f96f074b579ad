#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole programs, recorded and analysed: builds each case, runs it, rips its profile and asks the database.

    check.py --prefix DIR [--destdir DIR] [--mode MODE]... [--static] [--linked LIBRARY] [--preloaded FILE] [--keep] [--tap] [CASE...]
    check.py --plain [CASE...]          the programs alone, without Rheaper

--prefix is what Rheaper was configured with, --destdir what `make install DESTDIR=` put before it. A mode is how Rheaper comes to the
program: wrap (it is linked with the wrap flags; --static: with librheaper.a), preload (`rheaper PROGRAM`) or hooks (`rheaper --hooks PROGRAM`);
without --mode all three. --linked and --preloaded: an allocator under the programs of preload mode.

A case is a directory with
    main.c or main.cc    prints `ok` and returns 0 when all went well from its own point of view
    expect.sql           what must be seen in words, then how to build and run it, then what must be in the database:
                             -- flags: COMPILER FLAGS
                             -- tracking: auto | api     from start to end | the program calls case_on and case_off (case.h)
                             -- directory: NAME          made in the working directory before the program starts
                         and queries, each with a name before it and `-- expect: VALUE` after it. @NAME in a query is the number of
                         the line with the comment /* NAME */ in main.c. Temporary views help:
                             located   allocations, and `function`: the innermost one that lies in main.c
                             first     bt, sym, frame_no: where a function comes first in a backtrace

A case passes when the program prints exactly `ok` on stdout and stderr together, ends with status 0 in time, leaves one profile,
rheaper-rip turns it into a database and each query gives its value. rheaper-rip runs from another directory than the program.
CASE_TIME_SCALE stretches the time limits. CC and CXX are the compilers. CASE_ARGUMENTS are the arguments when there are none.
"""
import argparse
import glob
import itertools
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.abspath(__file__))
SCALE = float(os.environ.get('CASE_TIME_SCALE', '1'))
RUN_SECONDS = 60 * SCALE
RIP_SECONDS = 300 * SCALE

VIEWS = """
CREATE TEMP VIEW located AS SELECT *, (SELECT b.sym FROM backtraces b WHERE b.id = allocations.bt AND b.file LIKE '%/main.c%'
                                       ORDER BY b.frame_no LIMIT 1) AS function FROM allocations;
CREATE TEMP VIEW first AS SELECT id AS bt, sym, min(frame_no) AS frame_no FROM backtraces GROUP BY id, sym;
"""


class Failure(Exception):
    """What is wrong with a case, in a line."""


class Case:
    def __init__(self, path):
        self.dir = os.path.abspath(path)
        self.name = os.path.basename(self.dir)
        self.source = next(p for p in (os.path.join(self.dir, n) for n in ('main.c', 'main.cc')) if os.path.exists(p))
        self.about = {'flags': '-g', 'tracking': 'auto'}
        self.queries = []                               # (name, SQL, expected value)
        with open(self.source) as f:
            marks = {m: str(n) for n, line in enumerate(f, 1) for m in re.findall(r'/\* ([A-Z]+) \*/', line)}
        name, sql = '', []
        with open(os.path.join(self.dir, 'expect.sql')) as f:
            for line in f:
                if m := re.match(r'-- expect: (.*)$', line):
                    text = re.sub(r'@([A-Z]+)', lambda mark: marks[mark.group(1)], ''.join(sql))
                    self.queries.append((name, text.strip().rstrip(';'), m.group(1).strip()))
                    name, sql = '', []
                elif m := re.match(r'-- (flags|tracking|directory): (.*)$', line):
                    self.about[m.group(1)] = m.group(2).strip()
                elif line.startswith('--'):
                    name = line[2:].strip()
                else:
                    sql.append(line)
        if sql and ''.join(sql).strip():
            raise ValueError('%s: the last query expects nothing' % self.name)


class Plain:
    """No Rheaper: only the program itself can fail."""

    def flags(self):
        return [], []

    mode = 'plain'

    def environment(self, case, work):
        return {}

    def command(self, case, work, program):
        return [program]

    def database(self, case, work, pid):
        return None


class Installed:
    """An installation, and what is the same however it comes to the program."""

    def __init__(self, prefix, destdir):
        root = destdir + os.path.abspath(prefix)
        found = [p for d in ('lib', 'lib64', 'lib/*') for p in glob.glob(os.path.join(root, d, 'pkgconfig/rheaper.pc'))]
        self.rip = os.path.join(root, 'bin/rheaper-rip')
        self.launcher = os.path.join(root, 'bin/rheaper')
        if not found or not os.path.exists(self.rip):
            sys.exit('check.py: no Rheaper is installed in %s' % root)
        self.pkgconfig = os.path.dirname(found[0])
        self.lib = os.path.dirname(self.pkgconfig)
        self.include = os.path.join(root, 'include')

    def command(self, case, work, program):
        return [program]

    def database(self, case, work, pid):
        profiles = [p for p in glob.glob(os.path.join(work, '**', 'rip-%d*' % pid), recursive=True)
                    if re.fullmatch(r'rip-%d(\.\d+)?' % pid, os.path.basename(p))]
        if len(profiles) != 1:
            raise Failure('%d profiles, wanted 1' % len(profiles))
        db = os.path.join(work, 'profile.db')
        r = subprocess.run([self.rip, profiles[0], db], cwd='/', timeout=RIP_SECONDS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if r.returncode:
            raise Failure('rheaper-rip: status %d: %s' % (r.returncode, r.stdout.decode('latin1').strip()))
        return db


class Wrapped(Installed):
    """The program is linked again with what pkg-config says."""

    mode = 'wrap'

    def __init__(self, prefix, destdir, static):
        super().__init__(prefix, destdir)
        env = dict(os.environ, PKG_CONFIG_PATH=self.pkgconfig, PKG_CONFIG_ALLOW_SYSTEM_CFLAGS='1', PKG_CONFIG_ALLOW_SYSTEM_LIBS='1')
        if destdir:
            env['PKG_CONFIG_SYSROOT_DIR'] = destdir

        def ask(what):
            return subprocess.run(['pkg-config', what, 'rheaper'], env=env, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        self.cflags, self.libs = ask('--cflags'), ask('--libs')
        if static:
            self.libs = ['-l:librheaper.a' if w == '-lrheaper' else w for w in self.libs]
        else:
            self.libs.append('-Wl,-rpath,' + self.lib)

    def flags(self):
        return [os.path.join(ROOT, 'adapter.c')] + self.cflags, self.libs

    def environment(self, case, work):
        return {'CASE_DIR': work, 'CASE_AUTO': '1'} if case.about['tracking'] == 'auto' else {}


class Launched(Installed):
    """The program is as it is and started by the launcher. One that switches tracking itself reaches the preloaded library through an adapter of its own, a
    shared object in LD_PRELOAD, which the launcher must keep."""

    def __init__(self, mode, prefix, destdir, linked, preloaded):
        super().__init__(prefix, destdir)
        self.mode = mode
        self.linked = linked
        self.preloaded = preloaded

    def flags(self):
        return [], ['-Wl,--push-state,--no-as-needed,-l%s,--pop-state' % self.linked] if self.linked else []

    def command(self, case, work, program):
        how = ['--hooks'] if self.mode == 'hooks' else []
        if case.about['tracking'] == 'api':
            how.append('--off')
        return [self.launcher, '-q', '-o', work, '--max-stack-depth', '64', *how, '--', program]

    def environment(self, case, work):
        preload = [self.preloaded] if self.preloaded else []
        if case.about['tracking'] == 'auto':
            return {'LD_PRELOAD': ' '.join(preload)} if preload else {}
        adapter = os.path.join(work, 'adapter.so')
        run([*os.environ.get('CC', 'gcc').split(), '-g', '-fPIC', '-shared', '-I' + self.include, '-o', adapter, os.path.join(ROOT, 'adapter.c')])
        return {'LD_PRELOAD': ' '.join([adapter, *preload])}


def same(value, expected):
    try:
        return float(value) == float(expected)
    except (TypeError, ValueError):
        return ('NULL' if value is None else str(value)) == expected


def build(product, case, work):
    program = os.path.join(work, 'prog')
    before, after = product.flags()
    compiler = os.environ.get('CC', 'gcc').split()
    adapter = []
    if before:                                          # the adapter is C, the case may be C++
        adapter = [os.path.join(work, 'adapter.o')]
        run([*compiler, '-g', '-c', '-o', adapter[0], *before])
    if case.source.endswith('.cc'):
        compiler = os.environ.get('CXX', 'g++').split()
    run([*compiler, *case.about['flags'].split(), '-I' + ROOT, '-o', program, case.source, *adapter, *after, '-pthread'])
    return program


def run(command):
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if r.returncode:
        raise Failure('build: ' + r.stdout.strip()[-800:])


def execute(product, case, work, program):
    p = subprocess.Popen(product.command(case, work, program), cwd=work, env=dict(os.environ, **product.environment(case, work)), stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, start_new_session=True)
    try:
        out, _ = p.communicate(timeout=RUN_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.communicate()
        raise Failure('not done after %d s' % RUN_SECONDS)
    if p.returncode:
        raise Failure('exit status %d' % p.returncode)
    if out != b'ok\n':
        raise Failure('output is not exactly ok: %r' % out[:200])
    return p.pid


def query(case, db):
    wrong = []
    c = sqlite3.connect(db)
    c.executescript(VIEWS)
    for name, sql, expected in case.queries:
        try:
            row = c.execute(sql).fetchone()
            value = row[0] if row else None
        except sqlite3.Error as e:
            value = 'SQL error: %s' % e
        if not same(value, expected):
            wrong.append('%s: got %s, wanted %s' % (name, value, expected))
    c.close()
    if wrong:
        raise Failure('; '.join(wrong))


def check(product, case, keep):
    """None, or what is wrong."""
    work = tempfile.mkdtemp(prefix='case-%s-' % case.name)
    try:
        if 'directory' in case.about:
            os.mkdir(os.path.join(work, case.about['directory']))
        pid = execute(product, case, work, build(product, case, work))
        db = product.database(case, work, pid)
        if db:
            query(case, db)
    except (Failure, subprocess.TimeoutExpired) as e:
        return str(e)
    finally:
        if keep:
            print('# kept', work)
        else:
            shutil.rmtree(work, ignore_errors=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--prefix', default='/usr/local')
    ap.add_argument('--destdir', default='')
    ap.add_argument('--mode', action='append', choices=('wrap', 'preload', 'hooks'), default=[])
    ap.add_argument('--static', action='store_true')
    ap.add_argument('--linked', metavar='LIBRARY', help='the programs are linked with this allocator; in preload mode')
    ap.add_argument('--preloaded', metavar='FILE', help='the programs are given this allocator in LD_PRELOAD; in preload mode')
    ap.add_argument('--plain', action='store_true')
    ap.add_argument('--keep', action='store_true')
    ap.add_argument('--tap', action='store_true', help='results for a TAP harness')
    ap.add_argument('cases', nargs='*', help='directories; default: all')
    a = ap.parse_args(sys.argv[1:] or shlex.split(os.environ.get('CASE_ARGUMENTS', '')))
    modes = a.mode or (['wrap'] if a.static else ['wrap', 'preload', 'hooks'])
    products = [Plain()] if a.plain else [Wrapped(a.prefix, a.destdir, a.static) if m == 'wrap' else Launched(m, a.prefix, a.destdir, a.linked, a.preloaded)
                                          for m in modes]
    cases = [Case(d) for d in a.cases or sorted(glob.glob(os.path.join(ROOT, '[0-9]*/')))]
    failed = 0
    if a.tap:
        print('1..%d' % (len(products) * len(cases)))
    for number, (product, case) in enumerate(itertools.product(products, cases), 1):
        start = time.time()
        wrong = check(product, case, a.keep)
        failed += wrong is not None
        if a.tap:
            print('%s %d - %s' % ('not ok' if wrong else 'ok', number, product.mode + ' ' + case.name))
            for line in (wrong or '').splitlines():
                print('#', line)
        else:
            print('%-4s %-34s %4.1f s  %s' % ('FAIL' if wrong else 'PASS', product.mode + ' ' + case.name, time.time() - start, wrong or ''))
        sys.stdout.flush()
    if not a.tap:
        print('%d passed, %d failed, 0 skipped' % (len(products) * len(cases) - failed, failed))
    return 1 if failed and not a.tap else 0             # a TAP harness has counted them already


if __name__ == '__main__':
    sys.exit(main())
