# SPDX-License-Identifier: MIT
"""Code that comes and goes."""
from harness import behaviour, equal, true


def taking_turns(test, static):
    rounds = 1000
    plugins = [test.shared_object('plugin.c', '-DFUNCTION=%s_plugin' % name, '-DSIZE=%d' % size) for name, size in
               (('first', 1001), ('second', 2002))]
    said = test.numbers(test.run(test.build('plugins.c', '-rdynamic', static=static), *plugins, rounds))
    true('the libraries lay at one address %d times of %d: the test misses its point' % (said['same'], rounds), said['same'] > rounds / 2)
    db = test.rip(options=())
    for name, size, path in (('first_plugin', 1001, plugins[0]), ('second_plugin', 2002, plugins[1])):
        equal('rows of ' + name, db.count('size = ?', size), rounds)
        equal('frame 1 of ' + name, db.rows(
            'SELECT sym, module, count(*) FROM allocations JOIN backtraces ON id = bt AND frame_no = 1 WHERE size = ? GROUP BY sym, module',
            size), [(name, path, rounds)])
        equal('frame 2 of ' + name, db.rows(
            'SELECT sym, count(*) FROM allocations JOIN backtraces ON id = bt AND frame_no = 2 AND inlined = 0 WHERE size = ? GROUP BY sym',
            size), [('once', rounds)])


@behaviour
def two_libraries_that_take_turns_at_one_address_keep_their_names(test):
    taking_turns(test, static=False)


@behaviour
def so_they_do_with_the_static_library(test):
    taking_turns(test, static=True)
