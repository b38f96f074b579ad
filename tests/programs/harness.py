# SPDX-License-Identifier: MIT
"""What the tests of this folder share: the installed product, building and running programs, asking the database.

A test is a function with the decorator @behaviour, named after what it shows. It gets a Test, and raises Failure or Skip. Whatever it
makes lies in Test.dir, which goes away afterwards.
"""
import glob
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.abspath(__file__))
LONG = os.environ.get('RHEAPER_LONG', '') not in ('', '0')
SECONDS = 120 * float(os.environ.get('CASE_TIME_SCALE', '1'))          # after that a program hangs; no result depends on it
COMPILER = os.environ.get('CC', 'gcc').split()
BASE_FLAGS = ['-std=gnu11', '-g', '-O1', '-Wall', '-Wextra', '-Werror', '-D_GNU_SOURCE', '-I' + ROOT]

behaviours = []                                         # all tests, in the order of their definition


class Failure(Exception):
    """What is wrong, in a line."""


class Skip(Exception):
    """Why this cannot be tested here."""


def behaviour(function):
    behaviours.append(function)
    return function


def name_of(function):
    return function.__name__.replace('_', ' ')


def equal(what, got, wanted):
    if got != wanted:
        raise Failure('%s: got %r, wanted %r' % (what, got, wanted))


def true(what, value):
    if not value:
        raise Failure(what)


class Product:
    """An installation: what pkg-config says of it, and its rheaper-rip."""

    def __init__(self, prefix, destdir=''):
        root = destdir + os.path.abspath(prefix)
        found = [p for d in ('lib', 'lib64', 'lib/*') for p in glob.glob(os.path.join(root, d, 'pkgconfig/rheaper.pc'))]
        self.rip = os.path.join(root, 'bin/rheaper-rip')
        if not found or not os.path.exists(self.rip):
            sys.exit('no Rheaper is installed in %s' % root)
        self.lib = os.path.dirname(os.path.dirname(found[0]))
        self.env = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(found[0]), PKG_CONFIG_ALLOW_SYSTEM_CFLAGS='1',
                        PKG_CONFIG_ALLOW_SYSTEM_LIBS='1')
        if destdir:
            self.env['PKG_CONFIG_SYSROOT_DIR'] = destdir
        self.cflags = self.ask('--cflags')
        self.wrapped = self.ask('--libs')

    def ask(self, what):
        return subprocess.run(['pkg-config', what, 'rheaper'], env=self.env, check=True, stdout=subprocess.PIPE, text=True).stdout.split()

    def libs(self, static):
        if static:
            return ['-l:librheaper.a' if word == '-lrheaper' else word for word in self.wrapped]
        return self.wrapped + ['-Wl,-rpath,' + self.lib]


class Builder:
    """Compiles each program once a run, however many tests use it."""

    def __init__(self, product):
        self.product = product
        self.dir = tempfile.mkdtemp(prefix='programs-')
        os.chmod(self.dir, 0o755)
        self.built = {}
        self.locks = {}
        self.lock = threading.Lock()

    def get(self, key, command):
        """The file that `command` (a function of an output path) makes."""
        with self.lock:
            lock = self.locks.setdefault(key, threading.Lock())
            number = len(self.locks)
        with lock:
            if key not in self.built:
                output = os.path.join(self.dir, '%s.%d' % (os.path.basename(key[0]), number))
                done = subprocess.run(command(output), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                self.built[key] = output, done.returncode, done.stdout
        output, status, text = self.built[key]
        if status:
            raise Failure('build of %s: %s' % (key[0], text.strip()[-800:]))
        return output

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)


class Database:
    def __init__(self, path):
        self.connection = sqlite3.connect('file:%s?mode=ro' % path, uri=True)

    def rows(self, sql, *arguments):
        try:
            return self.connection.execute(sql, arguments).fetchall()
        except sqlite3.Error as e:
            raise Failure('%s: %s' % (sql, e)) from None

    def one(self, sql, *arguments):
        rows = self.rows(sql, *arguments)
        return rows[0][0] if rows else None

    def count(self, where='1', *arguments):
        return self.one('SELECT count(*) FROM allocations WHERE ' + where, *arguments)

    def lost(self, kind=None):
        return self.one('SELECT coalesce(sum(count), 0) FROM losses' + (' WHERE kind = ?' if kind else ''), *([kind] if kind else []))

    def overlaps(self, where='1'):
        """How often an address was handed out again before the life there had ended."""
        return self.one('SELECT count(*) FROM (SELECT alloc_after AS born, lag(coalesce(dealloc_after, 9e18)) OVER '
                        '(PARTITION BY process, addr ORDER BY alloc_after, dealloc_after) AS before FROM allocations WHERE %s) '
                        'WHERE born < before' % where)

    def sound(self, where='1'):
        """What holds in every heap profile."""
        equal('overlapping lives of an address', self.overlaps(where), 0)
        equal('blocks that end before they begin', self.count('dealloc_after < alloc_after AND ' + where), 0)
        equal('blocks whose free was not seen', self.count('ended = 2 AND ' + where), 0)
        return self


class Test:
    def __init__(self, product, builder):
        self.product = product
        self.builder = builder
        self.dir = tempfile.mkdtemp(prefix='program-')
        os.chmod(self.dir, 0o755)                       # some programs become another user
        self.undo = []
        self.databases = 0

    def close(self):
        for action in reversed(self.undo):
            action()
        shutil.rmtree(self.dir, ignore_errors=True)

    # ---- building ----

    def build(self, source, *flags, static=False, plain=False, libs=()):
        """A program of this folder: linked again with shared or static Rheaper; plain: without it and with PLAIN defined."""
        product = self.product

        def command(output):
            how = ['-DPLAIN', '-I' + os.path.join(ROOT, 'plain')] if plain else product.cflags
            path = source if os.path.isabs(source) else os.path.join(ROOT, source)
            return [*COMPILER, *BASE_FLAGS, *how, *flags, '-o', output, path, *libs, *([] if plain else product.libs(static)),
                    '-pthread', '-ldl', '-lm']
        return self.builder.get((source, flags, static, plain, tuple(libs)), command)

    def shared_object(self, source, *flags):
        return self.builder.get((source, flags, 'so'), lambda output: [*COMPILER, *BASE_FLAGS, '-fPIC', '-shared', *flags, '-o', output,
                                                                       os.path.join(ROOT, source), '-ldl'])

    # ---- running ----

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def mkdir(self, *names):
        path = self.path(*names)
        os.mkdir(path)
        return path

    def start(self, program, *arguments, env=None, cwd=None, **more):
        return subprocess.Popen([program, *map(str, arguments)], cwd=cwd or self.dir, env=dict(os.environ, **(env or {})),
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, **more)

    def finish(self, process, status=0):
        """Its output; it must end with that status (negative: a signal)."""
        try:
            out, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Failure('%s: not done after %d s' % (os.path.basename(process.args[0]), SECONDS)) from None
        text = out.decode('latin1')
        if process.returncode != status:
            raise Failure('%s: status %d, wanted %d: %s' % (os.path.basename(process.args[0]), process.returncode, status,
                                                            text.strip()[-600:]))
        return text

    def run(self, program, *arguments, status=0, **more):
        return self.finish(self.start(program, *arguments, **more), status)

    def numbers(self, text):
        """What a program says as NAME=NUMBER."""
        return {k: int(v) for k, v in re.findall(r'(\w+)=(-?\d+)', text)}

    # ---- profiles ----

    def profiles(self, directory=None):
        """Profiles in a directory, oldest first."""
        directory = directory or self.dir
        found = [re.fullmatch(r'rip-(\d+)(?:\.(\d+))?', n) for n in os.listdir(directory)]
        return [os.path.join(directory, m.group()) for m in sorted(filter(None, found), key=lambda m: (int(m[1]), int(m[2] or 0)))]

    def profile(self, directory=None):
        found = self.profiles(directory)
        equal('profiles', len(found), 1)
        return found[0]

    def rip_raw(self, *arguments, cwd='/', command=None, **more):
        try:
            return subprocess.run([command or self.product.rip, *arguments], cwd=cwd, timeout=SECONDS, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, **more)
        except subprocess.TimeoutExpired:
            raise Failure('rheaper-rip: not done after %d s' % SECONDS) from None

    def rip(self, *profiles, options=('--no-symbols',), warnings=None, tolerated=None):
        """The database of these profiles (default: the only one).

        warnings: text that rheaper-rip must warn with, None: it must not warn, but for one warning with the text `tolerated`.
        """
        self.databases += 1
        database = self.path('profile-%d.db' % self.databases)
        done = self.rip_raw(*options, *(profiles or [self.profile()]), database)
        said = done.stderr.decode('latin1').strip()
        equal('status of rheaper-rip (%s)' % said, done.returncode, 0)
        if warnings is None and not (tolerated and tolerated in said and len(said.splitlines()) == 1):
            equal('what rheaper-rip says', said, '')
        else:
            true('rheaper-rip does not say %r but %r' % (warnings, said), (warnings or tolerated) in said)
        db = Database(database)
        self.undo.append(db.connection.close)
        return db


# ---- what a test needs ----

def need_root():
    if os.geteuid() != 0:
        raise Skip('needs root')


def need_program(name):
    path = shutil.which(name)
    if not path:
        raise Skip('%s is not installed' % name)
    return path


def tmpfs(test, name, size):
    """A small file system of its own."""
    need_root()
    path = test.mkdir(name)
    done = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=%d,mode=0755' % size, 'rheaper-test', path], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Skip('no tmpfs can be mounted: ' + done.stdout.strip())
    test.undo.append(lambda: subprocess.run(['umount', '-l', path], check=False))
    return path
