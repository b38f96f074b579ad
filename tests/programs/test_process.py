# SPDX-License-Identifier: MIT
"""What a program may do to its own process while it is recorded: descriptors, directories, users."""
import os
import shutil
import stat

from harness import behaviour, equal, need_root, true

BLOCKS = 100000


def whole(test, directory, **more):
    db = test.rip(test.profile(directory), **more)
    equal('rows', db.count(), BLOCKS)
    equal('losses', db.lost(), 0)
    return db


def descriptors(test, how):
    test.run(test.build('descriptors.c'), how, status=3)


@behaviour
def numbers_of_closed_descriptors_are_the_programs_own(test):
    descriptors(test, 'closed')
    for i in range(40):
        with open(test.path('own-%02d' % i)) as f:
            equal('own-%02d' % i, f.read(), ''.join('block %d\n' % n for n in range(i * 50, BLOCKS, 40 * 50)))
    whole(test, test.dir)


@behaviour
def without_a_free_descriptor_nothing_is_lost(test):
    descriptors(test, 'exhausted')
    whole(test, test.dir)


@behaviour
def with_all_descriptors_closed_and_none_free_losses_are_counted(test):
    descriptors(test, 'both')
    db = test.rip(warnings='events lost (write)')
    rows, lost = db.count(), db.lost()
    equal('rows (%d) and losses (%d)' % (rows, lost), rows + lost, BLOCKS)
    true('nothing was kept', rows > 0)
    true('nothing was lost: the test misses its point', lost > 0)


def surroundings(test, how, what, cwd=None, static=False, **more):
    equal('output', test.run(test.build('surroundings.c', static=static), how, what, cwd=cwd, status=3, **more)[-5:], 'done\n')


@behaviour
def a_relative_directory_stays_where_it_was_after_chdir(test):
    other, work = test.mkdir('other'), test.mkdir('work')
    surroundings(test, 'chdir', other, cwd=work)
    equal('files in the other directory', os.listdir(other), [])
    whole(test, work)


@behaviour
def chroot_loses_nothing(test):
    need_root()
    other, work = test.mkdir('other'), test.mkdir('work')
    surroundings(test, 'chroot', other, cwd=work)
    equal('files in the new root', os.listdir(other), [])
    whole(test, work)


@behaviour
def becoming_another_user_loses_nothing(test):
    need_root()
    work = test.mkdir('work')
    surroundings(test, 'setuid', 65534, cwd=work)
    whole(test, work)


@behaviour
def an_odd_umask_neither_opens_nor_closes_the_profile(test):
    for mask in ('0777', '0000'):                       # static: the user may not be able to reach the shared library
        work = test.mkdir('work' + mask)
        more = {}
        if os.geteuid() == 0:                           # root may read whatever the mode says
            os.chown(work, 65534, 65534)
            more = {'user': 65534, 'group': 65534, 'extra_groups': []}
        surroundings(test, 'umask', mask, cwd=work, static=True, **more)
        profile = test.profile(work)
        equal('mode of the directory', oct(stat.S_IMODE(os.stat(profile).st_mode)), oct(0o700))
        for name in os.listdir(profile):
            equal('mode of ' + name, oct(stat.S_IMODE(os.stat(os.path.join(profile, name)).st_mode)), oct(0o600))
        whole(test, work)


@behaviour
def a_deleted_working_directory_loses_nothing(test):
    surroundings(test, 'rmdir', test.path('here'))
    whole(test, test.dir)


@behaviour
def tracking_does_not_start_in_a_deleted_working_directory(test):
    test.run(test.build('surroundings.c'), 'gone', test.path('here'), status=3)
    equal('files', os.listdir(test.dir), [])


@behaviour
def a_removed_profile_hurts_neither_the_program_nor_the_next_session(test):
    surroundings(test, 'remove', '-')
    whole(test, test.dir)


@behaviour
def a_profile_that_was_moved_away_is_read_where_it_lies(test):
    work, other = test.mkdir('work'), test.mkdir('other')
    surroundings(test, 'chdir', '/', cwd=work)
    shutil.move(test.profile(work), os.path.join(other, 'anything'))
    db = test.rip(os.path.join(other, 'anything'))
    equal('rows', db.count(), BLOCKS)
