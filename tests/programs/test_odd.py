# SPDX-License-Identifier: MIT
"""What no program should do, but some do, in the middle of a recording."""
from harness import behaviour, equal, true


def odd(test, how, static=False):
    text = test.run(test.build('odd.c', static=static, libs=('-lm',)), how)
    return test.numbers(text) if text else {}


@behaviour
def a_child_that_a_handler_forks_goes_on_and_leaves_its_parents_profile_alone(test):
    said = odd(test, 'fork')
    equal('children that crashed', said['crashed'], 0)
    own = min(test.profiles(), key=lambda path: int(path.rsplit('-', 1)[1].split('.')[0])) # the parent is the oldest
    db = test.rip(own)
    # The event that was interrupted may have been counted by the program or not.
    true('%d rows of %d' % (db.count('size = 5'), said['reported']), said['reported'] <= db.count('size = 5') <= said['reported'] + 1)
    equal('losses', db.lost(), 0)


@behaviour
def a_handler_may_end_the_session_and_begin_another(test):
    equal('failed', odd(test, 'switch')['failed'], 0)
    for profile in test.profiles():
        equal('status of rheaper-rip', test.rip_raw('-q', '--no-symbols', profile, profile + '.db').returncode, 0)


@behaviour
def unmasked_floating_point_exceptions_are_not_raised(test):
    odd(test, 'trap')


@behaviour
def a_jump_out_of_getline_leaves_the_next_realloc_alone(test):
    odd(test, 'line')
    equal('rows', test.rip().rows('SELECT size, ended FROM allocations ORDER BY rowid'), [(120, 1), (5000, 1), (90000, 0)])


@behaviour
def a_handler_on_a_stack_that_the_kernel_does_not_tell_of_loses_nothing(test):
    said = odd(test, 'disarm')
    db = test.rip()
    equal('rows', (db.count('size = 5'), db.count('size = 7')), (said['reported'], said['handled']))
    equal('losses', db.lost(), 0)


@behaviour
def jumps_over_much_stack_do_not_end_the_recording(test):
    odd(test, 'deep')
    db = test.rip(options=('--no-symbols', '-q'))
    equal('rows after the jumps', db.count('size = 4242 AND ended = 0'), 1000)


@behaviour
def a_stack_without_a_describable_end_does_no_harm(test):
    odd(test, 'guard')
    equal('rows', test.rip(options=('--no-symbols', '-q')).count('size = 4243 AND ended = 0'), 10)
