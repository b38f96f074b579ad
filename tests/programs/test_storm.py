# SPDX-License-Identifier: MIT
"""Libraries that come and go in four threads at once, at addresses of one another (storm.c): no hang, and each row has the name of the
library that it is of."""
import shutil

import either
from harness import LONG, behaviour, equal, true

LIBRARIES, ROUNDS = 8, 30


def storm(test, way, number):
    libraries = [test.shared_object('storm-library.c', '-DFUNCTION=work_%d' % n, '-DSIZE=%d' % (2000 + n), *wrapped)
                 for n in range(LIBRARIES) for wrapped in [libs_of(test, way)]]
    done = either.run(test, way, 'storm.c', str(ROUNDS), *libraries, flags=('-rdynamic',), place='%s-%d' % (way, number))
    said = test.numbers(done.out)
    db = test.rip(test.profile(done.work), options=()).sound('(size = 3001 OR size BETWEEN 2000 AND 2999)')
    share = LIBRARIES // 4
    names = db.rows('SELECT size, sym, module, count(*) FROM allocations JOIN backtraces ON id = bt AND frame_no = 0 '
                    'WHERE size BETWEEN 2000 AND ? GROUP BY size, sym, module ORDER BY size', 1999 + LIBRARIES)
    equal('rows by size, function and library', names,
          [(2000 + n, 'work_%d' % n, libraries[n], ROUNDS // share) for n in range(LIBRARIES)])
    equal('callers', db.rows('SELECT sym, count(*) FROM allocations JOIN backtraces ON id = bt AND frame_no = 1 '
                             'WHERE size BETWEEN 2000 AND ? GROUP BY sym', 1999 + LIBRARIES), [('once', 4 * ROUNDS)])
    equal("the bystander's rows", db.count('size = 3001'), said['bystanders'])
    equal('losses', db.lost(), 0)
    db.connection.close()
    shutil.rmtree(done.work)
    return said['reused']


def storms(test, way):
    reused = sum(storm(test, way, number) for number in range(200 if LONG else 10))
    true('no address was ever used again: the test misses its point', reused > 0)


def libs_of(test, way):
    """A relinked program's libraries are linked with Rheaper as well, or it would not see what they allocate."""
    return test.product.libs(False) if way == 'wrap' else []


@behaviour
def libraries_that_a_relinked_program_loads_in_a_storm_keep_their_names(test):
    storms(test, 'wrap')


@behaviour
def libraries_that_a_program_under_rheaper_loads_in_a_storm_keep_their_names(test):
    storms(test, 'preload')
