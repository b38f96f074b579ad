# SPDX-License-Identifier: MIT
"""What `rheaper` promises: it becomes the program and changes nothing of it, refuses what it cannot record, and takes part of nothing else."""
import os
import re
import shutil
import signal
import subprocess

from harness import COMPILER, BASE_FLAGS, ROOT, Skip, behaviour, equal, need_program, need_root, true
from launched import directory_of, finish, launcher, library, program, rheaper, run, start


def manifest(profile):
    with open(os.path.join(profile, 'manifest')) as f:
        return dict(line.rstrip('\n').split('=', 1) for line in f if '=' in line)


def small(test, *flags, text='int main(void) { return 0; }', libs=()):
    source = test.path('small-%d.c' % len(os.listdir(test.dir)))
    with open(source, 'w') as f:
        f.write(text)
    output = source[:-2]
    done = subprocess.run([*COMPILER, '-o', output, source, *flags, *libs], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Skip('cannot be built here: ' + done.stdout.strip().splitlines()[0])
    return output


def refused(test, path, *reasons, options=()):
    done = rheaper(test, *options, path, status=126)
    for reason in reasons:
        true('%r is missing in %r' % (reason, done.err), reason in done.err)
    equal('standard output', done.out, '')
    equal('profiles', test.profiles(), [])
    return done


# ---- becoming the program ----

@behaviour
def the_program_keeps_the_process_and_its_status(test):
    for status in (0, 1, 42, 255):
        done = rheaper(test, '-q', 'sh', '-c', 'echo $$; exit %d' % status, status=status)
        equal('process id', done.out, '%d\n' % done.pid)


@behaviour
def a_signal_that_ends_the_program_is_seen_as_such(test):
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
        rheaper(test, '-q', 'sh', '-c', 'kill -%d $$' % number, status=-number)


@behaviour
def standard_output_is_the_programs_alone_and_the_closing_line_comes_on_standard_error(test):
    done = rheaper(test, 'sh', '-c', 'echo out; echo err >&2')
    equal('standard output', done.out, 'out\n')
    equal('standard error', done.err.splitlines()[0], 'err')
    equal('profile', directory_of(done), test.profile())


@behaviour
def the_closing_line_comes_from_a_program_that_closes_standard_error_in_the_end(test):
    done = rheaper(test, 'ls', '-d', '.')
    equal('standard output', done.out, '.\n')
    equal('profile', directory_of(done), test.profile())


@behaviour
def quiet_is_quiet(test):
    equal('what is said', rheaper(test, '-q', 'true').err, '')


@behaviour
def a_program_that_closed_standard_error_and_opened_its_own_file_there_keeps_it_clean(test):
    rheaper(test, small(test, text='#include <fcntl.h>\n#include <unistd.h>\nint main(void) { close(2); return open("own", O_CREAT | O_WRONLY, 0600) != 2; }'))
    equal('its file', os.path.getsize(test.path('own')), 0)


@behaviour
def what_LD_PRELOAD_held_stays_behind_our_library(test):
    done = rheaper(test, '-q', 'sh', '-c', 'echo $LD_PRELOAD', env={'LD_PRELOAD': 'libm.so.6'})
    equal('LD_PRELOAD', done.out, '%s:libm.so.6\n' % os.path.realpath(library(test, 'preload')))


@behaviour
def the_directory_is_absolute_for_processes_that_go_elsewhere(test):
    test.mkdir('profiles')
    rheaper(test, '-q', '-o', 'profiles', 'sh', '-c', 'cd / && ls -d . >/dev/null; exit 0')
    equal('profiles', len(test.profiles(test.path('profiles'))), 2)


@behaviour
def options_reach_the_profile(test):
    rheaper(test, '-q', '--max-stack-depth', '7', '--max-trackers', '9', '--buffer-events', '11', '-r', '0.5', 'true')
    kept = manifest(test.profile())
    equal('manifest', [kept[k] for k in ('max_stack_depth', 'max_trackers', 'tracker_event_buffer_size', 'sample_rate', 'frontend')],
          ['7', '9', '11', '0.500000000', 'preload'])


@behaviour
def arguments_are_kept_only_if_wanted(test):
    rheaper(test, '-q', '-o', test.mkdir('with'), 'true', 'secret word')
    rheaper(test, '-q', '-o', test.mkdir('without'), '--no-cmdline', 'true', 'secret word')
    equal('command line', manifest(test.profile(test.path('with')))['cmdline'], 'true\\0secret word\\0')
    equal('without arguments', manifest(test.profile(test.path('without')))['cmdline'], 'true')


@behaviour
def a_profile_in_place_of_a_program_is_ripped(test):
    rheaper(test, '-q', 'true')
    rheaper(test, test.profile(), 'out.db')
    true('no database', os.path.getsize(test.path('out.db')) > 0)
    rheaper(test, test.profile(), 'out.db', status=1)    # it exists: rheaper-rip refuses
    rheaper(test, test.profile(), status=2)


# ---- what it does not start ----

@behaviour
def a_program_that_is_not_there_is_127_and_one_that_cannot_be_run_126(test):
    true('reason', 'No such file' in rheaper(test, './nothing', status=127).err)
    rheaper(test, 'no-such-program-anywhere', status=127)
    with open(test.path('plain'), 'w') as f:
        f.write('text')
    true('reason', 'ermission denied' in rheaper(test, './plain', status=126).err)
    rheaper(test, test.dir, status=126)


@behaviour
def wrong_options_are_said_and_are_125(test):
    for wrong in (['--max-stack-depth', '0'], ['--max-stack-depth', 'x'], ['--max-trackers', '5000'], ['--buffer-events', '-1'], ['-r', '1.5'],
                  ['--toggle-signal', 'NONE'], ['-o', test.path('nowhere')], ['-i', '4096'], ['--nonsense'], []):
        done = rheaper(test, *wrong, *(['true'] if wrong else []), status=125)
        true('nothing is said of %s' % wrong, 'ry `rheaper' in done.err or done.err.startswith('rheaper: '))
    equal('profiles', test.profiles(), [])


@behaviour
def static_programs_are_refused_with_the_way_to_link(test):
    for flags in (['-static'], ['-static-pie']):
        refused(test, small(test, *flags), 'statically linked', 'pkg-config --libs rheaper')


@behaviour
def programs_with_a_malloc_of_their_own_are_refused(test):
    text = ('#include <stddef.h>\nstatic char heap[1 << 20]; static size_t used;\nvoid *malloc(size_t n) { used += (n + 15) / 16 * 16; '
            'return used > sizeof heap ? NULL : heap + used - (n + 15) / 16 * 16; }\nvoid free(void *p) { (void)p; }\nint main(void) { return !malloc(1); }\n')
    refused(test, small(test, '-fno-builtin', text=text), 'defines malloc itself', 'pkg-config --libs rheaper')


@behaviour
def set_user_id_and_set_group_id_programs_are_refused(test):
    for mode, word in ((0o4755, 'set-user-ID'), (0o2755, 'set-group-ID')):
        path = small(test)
        os.chmod(path, mode)
        refused(test, path, word, 'cp')


@behaviour
def programs_with_capabilities_are_refused(test):
    need_root()
    path = small(test)
    done = subprocess.run([need_program('setcap'), 'cap_net_raw+ep', path], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise Skip('no capabilities can be given to files here: ' + done.stderr.strip())
    refused(test, path, 'capabilities')


@behaviour
def sanitized_programs_are_refused(test):
    for flag in ('-fsanitize=address', '-fsanitize=thread', '-fsanitize=leak'):
        refused(test, small(test, flag), 'sanitizer')
    refused(test, small(test, '-fsanitize=address', '-static-libasan'), 'sanitizer')


@behaviour
def other_machines_and_musl_are_refused(test):
    path = small(test)
    with open(path, 'rb') as f:
        content = bytearray(f.read())
    for name, change, reason in (('class', (4, 1), '32-bit'), ('machine', (18, 183), 'another machine')):
        other = test.path(name)
        with open(other, 'wb') as f:
            f.write(content[:change[0]] + bytes([change[1]]) + content[change[0] + 1:])
        os.chmod(other, 0o755)
        done = rheaper(test, other, status=126)
        if name == 'machine':
            true('reason: %r' % done.err, reason in done.err)
    musl = small(test, '-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1')
    refused(test, musl, 'musl')


@behaviour
def a_script_is_as_recordable_as_its_interpreter(test):
    static = small(test, '-static', text='int main(void) { return 0; }')
    for name, interpreter in (('good', '/bin/sh'), ('bad', static)):
        with open(test.path(name), 'w') as f:
            f.write('#! %s -e\necho script $1\n' % interpreter)
        os.chmod(test.path(name), 0o755)
    refused(test, test.path('bad'), static, 'statically linked')
    equal('output', rheaper(test, '-q', './good', 'argument').out, 'script argument\n')
    with open(test.path('bare'), 'w') as f:
        f.write('echo bare $1\n')
    os.chmod(test.path('bare'), 0o755)
    equal('output without an interpreter named', rheaper(test, '-q', './bare', 'x').out, 'bare x\n')


@behaviour
def hooks_are_refused_without_the_debugging_library_and_said_when_nobody_calls_them(test):
    done = rheaper(test, '--hooks', 'true', status=None, env={'LD_PRELOAD': library(test, 'hooks')}, cwd=test.mkdir('fine'))
    if 'not installed' in done.err:
        raise Skip(done.err.strip())
    done = run(test, 'true', env={'LD_PRELOAD': library(test, 'hooks'), 'RHEAPER_ENABLE': '1'})
    equal('what is said', done.err, 'rheaper: not recording: nobody calls the malloc hooks; libc_malloc_debug.so.0 must be preloaded too\n')
    equal('profiles', test.profiles(), [])


# ---- the environment ----

@behaviour
def a_bad_value_is_said_once_and_nothing_is_recorded(test):
    done = run(test, program(test, 'life.c'), 'fork', env={'LD_PRELOAD': library(test, 'preload'), 'RHEAPER_ENABLE': '1', 'RHEAPER_SAMPLE_RATE': '2'})
    equal('what is said', done.err, 'rheaper: not recording: RHEAPER_SAMPLE_RATE=2: not a valid value\n')
    equal('profiles', test.profiles(), [])


@behaviour
def set_user_id_programs_ignore_the_environment(test):
    need_root()
    path = test.build('calls.c', '-DRELINKED', static=True) # the user that it becomes may not reach a shared library
    shutil.copy(path, test.path('setuid'))
    os.chown(test.path('setuid'), 1, 1)
    os.chmod(test.path('setuid'), 0o6755)
    os.chmod(test.dir, 0o777)
    done = run(test, test.path('setuid'), env={'RHEAPER_ENABLE': '1'}, status=None)
    true('its check of being recorded: %r' % done.err, 'rheaper_tracking_enabled' in done.err)
    equal('profiles', test.profiles(), [])


@behaviour
def a_program_with_a_malloc_of_its_own_is_told_that_nothing_is_recorded(test):
    text = '#include <stdlib.h>\nextern void *__libc_malloc(size_t);\nvoid *malloc(size_t n) { return __libc_malloc(n); }\nint main(void) { return 0; }\n'
    done = run(test, small(test, '-fno-builtin', text=text), env={'LD_PRELOAD': library(test, 'preload'), 'RHEAPER_ENABLE': '1'})
    true('what is said: %r' % done.err, 'malloc of its own' in done.err)


@behaviour
def a_program_at_a_fixed_address_that_takes_mallocs_address_is_recorded(test):
    text = ('#include <stdlib.h>\nvoid *(*volatile allocate)(size_t) = malloc;\nint main(void) { return !allocate(7207); }\n')
    done = rheaper(test, '-q', small(test, '-no-pie', '-fno-pie', text=text))
    equal('what is said', done.err, '')
    equal('rows', test.rip().count('size = 7207'), 1)


# ---- switching ----

@behaviour
def off_leaves_nothing_until_the_signal_comes(test):
    number = signal.SIGUSR2
    rheaper(test, '-q', '--off', '-o', test.mkdir('never'), program(test, 'toggled.c'), signal.SIGCONT)
    equal('profiles', test.profiles(test.path('never')), [])
    done = rheaper(test, '--off', '--toggle-signal', 'USR2', program(test, 'toggled.c'), int(number))
    equal('output', done.out, 'ok\n')
    counts = []
    for profile in test.profiles():
        db = test.rip(profile)
        counts.append([db.count('size = ?', s) for s in (6007, 6011, 6029, 6037)])
    equal('blocks of each session', counts, [[0, 6, 0, 0], [0, 0, 0, 8]])
    equal('closing line', directory_of(done), test.profiles()[-1])


@behaviour
def a_program_switches_the_preloaded_library_by_the_interface(test):
    path = program(test, 'calls.c', *test.product.cflags, '-UPLAIN')
    equal('alone', run(test, path, 'by', 'itself').out, 'no Rheaper\n')
    for how in ([], ['--hooks']):
        work = test.mkdir('work%d' % len(how))
        done = rheaper(test, '-q', '--off', *how, path, 'by', 'itself', cwd=work)
        equal('profile', done.out.strip(), test.profile(work))
        blocks_of_a_session(test, test.rip(test.profile(work)), done)


def blocks_of_a_session(test, db, done):
    equal('standard error', done.err, '')
    equal('blocks before, in and after', [db.count('size = ?', s) for s in (4003, 4007, 4013, 4049)], [0, 1, 1, 0])
    equal('objects of the pool', db.rows('SELECT size, ended FROM allocations WHERE size IN (4019, 4027) ORDER BY size'), [(4019, 1), (4027, 0)])
    equal('copies of strings', db.count('size = 14'), 1)
    equal('marks', db.rows('SELECT name FROM marks'), [('here',)])


@behaviour
def a_relinked_program_under_the_preloaded_library_is_recorded_once(test):
    for static in (False, True):
        path = test.build('calls.c', '-DRELINKED', static=static)
        for how, name in ([], 'preload'), (['--hooks'], 'hooks'):
            work = test.mkdir('work-%d-%s' % (static, name))
            done = rheaper(test, '-q', *how, '-o', work, path)
            equal('output', done.out, '\n')
            db = test.rip(test.profile(work))
            blocks_of_a_session(test, db, done)
            equal('front-end', db.one('SELECT frontend FROM processes'), name)
            work = test.mkdir('off-%d-%s' % (static, name))
            done = rheaper(test, '-q', '--off', *how, path, 'by', 'itself', cwd=work)
            equal('profile', done.out.strip(), test.profile(work))
            blocks_of_a_session(test, test.rip(test.profile(work)), done)
