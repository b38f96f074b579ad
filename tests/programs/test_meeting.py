# SPDX-License-Identifier: MIT
"""A preloaded copy of Rheaper meets the one that a program is linked with (meeting.cc): one of them records, each call once."""
import os

import either
import launched
from harness import behaviour, equal

# size: rows and ends of one thread
WANTED = {6001: (100, 100), 6011: (100, 0), 6029: (100, 100), 6037: (100, 100), 6043: (100, 100), 6047: (100, 100), 6053: (200, 200),
          6067: (100, 100)}


def each_once(test, profile):
    db = test.rip(profile)
    found = {size: (rows, ends) for size, rows, ends in db.rows(
        'SELECT size, count(*), count(dealloc_after) FROM allocations WHERE size BETWEEN 6000 AND 6099 GROUP BY size')}
    equal('rows and ends by size', found, {6079: (1, 1), **{size: (4 * rows, 4 * ends) for size, (rows, ends) in WANTED.items()}})
    equal('marks', db.rows('SELECT name FROM marks'), [('met',)])
    equal('losses', db.lost(), 0)
    db = test.rip(profile, options=())
    equal('calls of the innermost function', db.rows(
        "SELECT DISTINCT c.name FROM allocations a, calls c, backtraces b WHERE c.id = a.call AND b.id = a.bt AND b.frame_no = 0 AND "
        "a.size BETWEEN 6000 AND 6059 AND b.sym = 'work()' ORDER BY 1"),
          [(name,) for name in ('calloc', 'malloc', 'new', 'new[]', 'realloc', 'strdup')])
    equal('rows with another innermost function', db.one(
        "SELECT count(*) FROM allocations a, backtraces b WHERE b.id = a.bt AND b.frame_no = 0 AND a.size BETWEEN 6000 AND 6059 AND "
        "b.sym <> 'work()'"), 0)


def meet(test, how, *options):
    program = either.built(test, 'wrap', 'meeting.cc')
    done = launched.rheaper(test, '-q', *options, '--', program, how)
    equal('output', (done.out, done.err), ('', ''))


@behaviour
def a_relinked_program_under_rheaper_is_recorded_once(test):
    meet(test, 'on')
    each_once(test, test.profile())


@behaviour
def a_relinked_program_under_rheaper_begins_by_itself(test):
    own = test.mkdir('own')
    meet(test, 'off', '--off')
    equal('profiles elsewhere', test.profiles(), [])
    each_once(test, test.profile(own))
