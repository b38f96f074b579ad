# SPDX-License-Identifier: MIT
"""No room: full disks and file size limits cost events, which are counted, and never the program."""
import os

from harness import behaviour, equal, tmpfs, true

PAGE = 4096
BLOCKS = 60000                                          # a thread of disk.c
LIMITED = 200000                                        # limits.c


def contents(path):
    with open(path, 'rb') as f:
        return f.read()


def on_disk(test, size, before, after, threads):
    """Runs disk.c on a small disk and without Rheaper; its output, status and file must be the same."""
    disk = tmpfs(test, 'disk', size)
    with_it, without = test.mkdir('with'), test.mkdir('without')
    equal('output', test.run(test.build('disk.c'), disk, before, after, threads, cwd=with_it, status=3),
          test.run(test.build('disk.c', plain=True), disk, before, after, threads, cwd=without, status=3))
    equal('its own file', contents(os.path.join(with_it, 'own')), contents(os.path.join(without, 'own')))
    return disk


def every_event_is_a_row_or_a_loss(db, events):
    rows, lost = db.count(), db.lost()
    equal('rows (%d) and losses (%d)' % (rows, lost), rows + lost, events)
    true('nothing was kept', rows > 0)
    true('nothing was lost: the test misses its point', lost > 0)


@behaviour
def a_disk_that_fills_up_costs_counted_events_only(test):
    disk = on_disk(test, 8 << 20, -1, 0, 1)
    every_event_is_a_row_or_a_loss(test.rip(test.profile(disk), warnings='events lost (write)'), BLOCKS)


@behaviour
def threads_that_find_no_room_for_a_buffer_cost_counted_events_only(test):
    disk = on_disk(test, 8 << 20, -1, 0, 4)
    every_event_is_a_row_or_a_loss(test.rip(test.profile(disk), warnings='events lost'), 4 * BLOCKS)


@behaviour
def a_disk_with_a_little_room_is_used_up_to_the_end(test):
    disk = on_disk(test, 8 << 20, -1, 100 * 1024, 1)
    db = test.rip(test.profile(disk), warnings='events lost (write)')
    every_event_is_a_row_or_a_loss(db, BLOCKS)
    true('only %d rows' % db.count(), db.count() > 5000)


@behaviour
def a_disk_where_only_the_buffer_fits_costs_counted_events_only(test):
    disk = on_disk(test, 8 << 20, 45 * PAGE, -1, 1)
    every_event_is_a_row_or_a_loss(test.rip(test.profile(disk), warnings='events lost'), BLOCKS)


@behaviour
def tracking_does_not_start_on_a_full_disk_and_leaves_nothing(test):
    disk = on_disk(test, 1 << 20, 0, -1, 1)
    equal('files', sorted(os.listdir(disk)), ['filler'])


@behaviour
def a_file_size_limit_does_not_kill_and_its_losses_are_counted(test):
    for how in ('default', 'handler', 'thread', 'process', 'ignored'):
        work = test.mkdir(how)
        equal('output', test.run(test.build('limits.c'), how, cwd=work, status=3), 'done\n')
        every_event_is_a_row_or_a_loss(test.rip(test.profile(work), warnings='events lost (write)'), LIMITED)


@behaviour
def tracking_does_not_start_under_a_file_size_limit_and_leaves_nothing(test):
    for limit in (0, 100, 4096, 1 << 20):
        work = test.mkdir('limit-%d' % limit)
        test.run(test.build('limits.c'), 'before', limit, cwd=work)
        equal('files', os.listdir(work), ['own'])
