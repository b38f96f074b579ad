# SPDX-License-Identifier: MIT
"""rheaper-rip and what it may be given: damage of every kind, and no room for its answer."""
import os
import random
import re
import resource
import shutil
import signal
import time

from harness import LONG, Failure, Skip, behaviour, equal, need_program, need_root, tmpfs, true


def recorded(test):
    """A profile of several streams, some of it still in the buffers."""
    work = test.mkdir('work')
    test.run(test.build('crowd.c'), 4, 9, 1500, 0, cwd=work)
    return test.profile(work)


def killed(test):
    work = test.mkdir('killed')
    test.run(test.build('kill.c'), 'self', cwd=work, status=-signal.SIGKILL)
    return test.profile(work)


def fails(test, arguments, about, status=1, directory=None, keep=(), **more):
    """rheaper-rip refuses with one line about that, and leaves nothing in the directory but `keep`."""
    done = test.rip_raw(*arguments, **more)
    said = done.stderr.decode('latin1')
    equal('status (%s)' % said.strip(), done.returncode, status)
    errors = [line for line in said.splitlines() if re.match('rheaper-rip: (?!warning: )', line)]
    true('not one error line: %r' % said, len(errors) == 1)
    for word in about:
        true('%r is not in %r' % (word, errors[0]), word in errors[0])
    equal('stdout', done.stdout, b'')
    if directory:
        equal('files left', sorted(os.listdir(directory)), sorted(keep))


@behaviour
def wrong_usage_is_status_2(test):
    for arguments in ((), (test.dir,), ('--unknown', test.dir, 'x.db'), ('--debug-path',)):
        done = test.rip_raw(*arguments)
        said = done.stderr.decode().splitlines()
        equal('status', done.returncode, 2)
        true('%r does not begin with its name' % said, said and 'rheaper-rip: ' in said[0])
        equal('stdout', done.stdout, b'')


@behaviour
def what_is_no_profile_is_refused(test):
    out = test.mkdir('out')
    empty, garbage, text = test.mkdir('empty'), test.mkdir('garbage'), test.path('text')
    noise = random.Random(2)
    for name in ('manifest', 'rings', 'log-0', 'log-spill', 'log-99999999999999999999'):
        with open(os.path.join(garbage, name), 'wb') as f:
            f.write(bytes(noise.randrange(256) for _ in range(20000)))
    with open(text, 'w') as f:
        f.write('no profile\n')
    for path, reason in ((empty, 'manifest'), (garbage, 'manifest'), (text, ''), (test.path('missing'), 'No such file'), ('/dev/null', '')):
        fails(test, (path, os.path.join(out, 'x.db')), (path, reason), directory=out)


@behaviour
def an_existing_file_is_kept_without_force(test):
    profile, out = recorded(test), test.mkdir('out')
    target = os.path.join(out, 'x.db')
    with open(target, 'w') as f:
        f.write('precious')
    fails(test, (profile, target), (target, 'exists'), directory=out, keep=['x.db'])
    with open(target) as f:
        equal('the file', f.read(), 'precious')
    # A failure with -f keeps it too.
    fails(test, ('-f', test.path('missing'), target), ('missing',), directory=out, keep=['x.db'])
    with open(target) as f:
        equal('the file', f.read(), 'precious')
    equal('status', test.rip_raw('-f', profile, target).returncode, 0)
    with open(target, 'rb') as f:
        equal('the file', f.read(15), b'SQLite format 3')
    equal('files', os.listdir(out), ['x.db'])
    fails(test, ('-f', profile, out), (out, 'directory'), directory=out, keep=['x.db'])


@behaviour
def a_full_disk_leaves_no_database(test):
    profile, target = recorded(test), None
    for size in (4096, 1 << 16, 1 << 18):
        out = tmpfs(test, 'out-%d' % size, size)
        target = os.path.join(out, 'x.db')
        fails(test, (profile, target), (target,), directory=out)


@behaviour
def a_file_size_limit_leaves_no_database(test):
    profile, out = recorded(test), test.mkdir('out')
    target = os.path.join(out, 'x.db')
    fails(test, (profile, target), (target,), directory=out,
          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000)))


@behaviour
def a_directory_that_cannot_be_written_is_an_error(test):
    need_root()                                         # to become somebody else
    profile, out = recorded(test), test.mkdir('out')
    os.chmod(profile, 0o755)
    for name in os.listdir(profile):
        os.chmod(os.path.join(profile, name), 0o644)
    target = os.path.join(out, 'x.db')
    os.chmod(os.path.dirname(profile), 0o755)
    command = shutil.copy(test.product.rip, test.path('rheaper-rip')) # the installation may be out of that user's reach
    fails(test, (profile, target), (target, 'Permission denied'), directory=out, command=command, user=65534, group=65534, extra_groups=[])
    target = test.path('missing', 'x.db')
    fails(test, (profile, target), (target, 'No such file'))


def survives(test, profile, out, what):
    """A damaged profile becomes a database, or is refused cleanly."""
    target = os.path.join(out, 'x.db')
    done = test.rip_raw('--no-symbols', profile, target)
    said = done.stderr.decode('latin1')
    if done.returncode == 0:
        equal('%s: files' % what, os.listdir(out), ['x.db'])
        os.unlink(target)
    elif done.returncode == 1:
        errors = [line for line in said.splitlines() if re.match('rheaper-rip: (?!warning: )', line)]
        equal('%s: files' % what, os.listdir(out), [])
        true('%s: not one error line: %r' % (what, said), len(errors) == 1 and profile in errors[0])
    else:
        raise Failure('%s: status %d: %s' % (what, done.returncode, said.strip()))
    return done.returncode, said


@behaviour
def each_file_of_a_profile_may_be_cut_anywhere(test):
    for number, original in enumerate((recorded(test), killed(test))):
        copy, out = test.path('copy-%d' % number), test.mkdir('out-%d' % number)
        for name in sorted(os.listdir(original)):
            size = os.path.getsize(os.path.join(original, name))
            for length in sorted({0, 1, 63, 64, 100, 4095, 4096, 4096 + 255, 4096 + 320, size // 3, size // 2, size - 1}):
                if length >= size or length < 0:
                    continue
                shutil.copytree(original, copy)
                os.truncate(os.path.join(copy, name), length)
                status, said = survives(test, copy, out, '%s cut to %d of %d' % (name, length, size))
                if name.startswith('log-') and size:
                    equal('%s cut to %d of %d' % (name, length, size), status, 0)
                    true('%s cut to %d of %d: no warning' % (name, length, size), 'warning' in said)
                shutil.rmtree(copy)
            shutil.copytree(original, copy)
            os.unlink(os.path.join(copy, name))
            survives(test, copy, out, name + ' missing')
            shutil.rmtree(copy)


@behaviour
def flipped_bits_neither_crash_nor_hang(test):
    original, copy, out = recorded(test), test.path('copy'), test.mkdir('out')
    draw = random.Random(3)
    names = [n for n in sorted(os.listdir(original)) if os.path.getsize(os.path.join(original, n))]
    for number in range(5000 if LONG else 200):
        shutil.copytree(original, copy)
        name = draw.choice(names)
        with open(os.path.join(copy, name), 'r+b') as f:
            size = os.path.getsize(f.name)
            for _ in range(draw.choice((1, 1, 1, 10, 100))):
                # Headers are where it hurts: every second flip is at a place of one.
                at = draw.randrange(min(size, 400)) if draw.random() < 0.5 else draw.randrange(size)
                f.seek(at)
                old = f.read(1)[0]
                f.seek(at)
                f.write(bytes([old ^ 1 << draw.randrange(8)]))
        survives(test, copy, out, 'flip %d in %s' % (number, name))
        shutil.rmtree(copy)


@behaviour
def an_interrupted_run_leaves_nothing(test):
    work, out = test.mkdir('work'), test.mkdir('out')
    test.run(test.build('swap.c'), 100000, 0, cwd=work)
    profile, target = test.profile(work), os.path.join(out, 'x.db')
    for number, kind in enumerate((signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)):
        process = test.start(test.product.rip, profile, target)
        while process.poll() is None and not os.listdir(out):
            time.sleep(0.001)
        while number == 3 and process.poll() is None and os.path.getsize(os.path.join(out, os.listdir(out)[0])) < 1 << 20:
            time.sleep(0.001)
        process.send_signal(kind)
        test.finish(process, -kind)
        equal('files after ' + kind.name, os.listdir(out), [])


@behaviour
def valgrind_finds_nothing_wrong(test):
    valgrind = need_program('valgrind')
    with open(test.product.rip, 'rb') as f:
        if b'__asan_init' in f.read():
            raise Skip('rheaper-rip is built with sanitizers, which do the same')
    for number, profile in enumerate((recorded(test), killed(test))):
        text = test.run(valgrind, '-q', '--error-exitcode=9', '--leak-check=full', '--errors-for-leak-kinds=definite', test.product.rip,
                        profile, test.path('valgrind-%d.db' % number))
        equal('what is said', text, '')
