# SPDX-License-Identifier: MIT
"""The public interface: errors, marks, pools, the share of allocations that is recorded."""
import math
import os

from harness import behaviour, equal, true


@behaviour
def each_error_has_its_code_and_leaves_nothing_behind(test):
    process = test.start(test.build('api.c'), 'errors')
    last = test.finish(process).strip()
    found = [os.path.basename(p) for p in test.profiles()]
    equal('profiles', len(found), 3)
    equal('files', sorted(os.listdir(test.dir)), sorted(found))
    equal('the path that it was told', last, os.path.realpath(test.profiles()[2]))
    with open(os.path.join(last, 'manifest')) as f:
        manifest = dict(line.rstrip('\n').split('=', 1) for line in f)
    equal('max_stack_depth of the older program', manifest['max_stack_depth'], '7')
    equal('sample_interval of the older program', manifest['sample_interval'], '0')


@behaviour
def marks_stand_in_order_of_time_with_their_threads(test):
    test.run(test.build('api.c'), 'marks')
    rows = test.rip(warnings='the profile is empty').rows(
        'SELECT marks.name, threads.name, t FROM marks JOIN threads ON threads.id = thread ORDER BY t, marks.rowid')
    wanted = [(w % i, t) for i in range(100) for w, t in (('a%03d', 'first'), ('b%03d', 'second'))]
    wanted += [('x' * 255, 'first'), ('', 'first'), ("Gr\u00fc\u00df 'e; --\n", 'first')]
    equal('marks', [r[:2] for r in rows], wanted)
    true('times do not increase', all(a[2] <= b[2] for a, b in zip(rows, rows[1:])))


@behaviour
def objects_of_a_pool_are_apart_from_the_heap(test):
    test.run(test.build('api.c'), 'pool')
    db = test.rip()
    slab = db.one('SELECT addr FROM allocations WHERE size = 65536')

    def rows(sql):
        return db.rows('SELECT size, addr - %d, calls.name, ended FROM allocations JOIN calls ON calls.id = call WHERE %s' % (slab, sql))
    equal('the slab', rows('size = 65536'), [(65536, 0, 'malloc', 0)])
    equal('freed objects', rows('size < 60'), [(10 + i, i * 16, 'pool', 0) for i in range(50)])
    equal('moved objects', rows('size IN (60, 61)'), [(60, 800, 'pool', 1), (61, 816, 'pool', 1)])
    equal('objects that stay', rows('size BETWEEN 62 AND 109'), [(10 + i, i * 16, 'pool', None) for i in range(52, 100)])
    equal('new places', rows('size BETWEEN 5000 AND 5002'),
          [(5000, 0, 'pool_realloc', None), (5001, 816, 'pool_realloc', None), (5002, 800, 'pool_realloc', None)])
    equal('rows', db.count(), 1 + 100 + 3)


@behaviour
def half_of_the_allocations_stand_for_all(test):
    blocks, rate = 400000, 0.5
    test.run(test.build('sampled.c'), rate, blocks)
    db = test.rip()
    reallocated = blocks // 4
    for what, where, n in (('malloc', 'size = 100', blocks), ('realloc', 'size = 300', reallocated)):
        rows = db.count(where)
        # 5 sigma of a binomial distribution: missed by chance once in 1.7 million runs.
        true('%s: %d rows of %d' % (what, rows, n), abs(rows - n * rate) < 5 * math.sqrt(n * rate * (1 - rate)))
        equal('weights of %s' % what, db.one('SELECT sum(weight) FROM allocations WHERE ' + where), rows / rate)
    # What was sampled is followed to its end, whether or not what became of it was sampled.
    equal('ends of malloc', db.count("size = 100 AND ended IS NULL"), db.count('size = 100 AND dealloc_after IS NULL'))
    equal('blocks whose free was not seen', db.count('ended = 2'), 0)
    equal('reallocated blocks that stay', db.count('size = 300 AND ended IS NOT 0'), 0)
    live = db.count('size = 100 AND ended IS NULL')
    n = blocks // 2
    true('%d live rows of %d' % (live, n), abs(live - n * rate) < 5 * math.sqrt(n * rate * (1 - rate)))
    equal('lives overlap', db.overlaps(), 0)
    equal('rows of the summary', db.one('SELECT sum(allocations) FROM callsites'), db.count() / rate)


@behaviour
def none_of_the_allocations_at_rate_0(test):
    test.run(test.build('sampled.c'), 0, 100000)
    equal('rows', test.rip(warnings='the profile is empty').count(), 0)
