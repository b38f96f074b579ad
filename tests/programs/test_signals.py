# SPDX-License-Identifier: MIT
"""Signal handlers that allocate in the middle of anything, and what a recorded call must not change."""
import os

from harness import ROOT, behaviour, equal, true


def handlers(test, how, static=False, trackers=200):
    said = test.numbers(test.run(test.build('handlers.c', static=static, libs=(os.path.join(ROOT, 'arena.c'),)), how, trackers))
    true('the handler ran %d times' % said['runs'], said['runs'] >= 300)
    return said


def exact(test, how, static=False, trackers=200):
    said = handlers(test, how, static, trackers)
    db = test.rip().sound()
    equal('rows of the handler', db.count('size = 100'), said['handler'])
    equal('rows of the main program', db.count('size = 200'), said['done'])
    equal('ends', db.count('ended = 0'), said['handler'] + said['done'])
    equal('losses', db.lost(), 0)


@behaviour
def a_handler_at_1_kHz_loses_nothing(test):
    exact(test, 'same')


@behaviour
def a_handler_on_an_alternate_stack_loses_nothing(test):
    exact(test, 'alternate', static=True)


@behaviour
def a_handler_that_finds_no_tracker_left_loses_nothing(test):
    exact(test, 'same', trackers=1)


@behaviour
def handlers_that_jump_away_cost_at_most_what_they_interrupted(test):
    said = handlers(test, 'jump')
    db = test.rip(options=('--no-symbols', '-q'))
    equal('rows of the handler', db.count('size = 100'), said['handler'])
    rows, lost = db.count('size = 200'), db.lost()
    # An interrupted allocation is a row or a loss or had not begun; each run interrupts one event at most.
    true('%d rows of %d to %d, %d lost' % (rows, said['done'], said['begun'], lost), said['done'] - lost <= rows <= said['begun'])
    true('%d lost in %d runs' % (lost, said['runs']), lost <= said['runs'])


@behaviour
def errno_and_the_floating_point_environment_stay_untouched(test):
    equal('output', test.run(test.build('untouched.c')), 'ok\n')
