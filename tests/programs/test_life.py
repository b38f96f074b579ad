# SPDX-License-Identifier: MIT
"""How unmodified processes come and go (life.c, earliest.c): each has its own profile, complete and exact."""
import os
import signal

from harness import COMPILER, BASE_FLAGS, LONG, ROOT, behaviour, equal, true
from launched import directory_of, program, rheaper

OURS, LATER, CHILD = 20, 10, 7


def count(db, size, process=None):
    return db.count('size = ?' + (' AND process = %d' % process if process else ''), size)


def live(test, how, status=0, options=(), **more):
    done = rheaper(test, *options, '--', program(test, 'life.c'), how, status=status, **more)
    db = test.rip(*test.profiles()).sound()
    equal('losses', db.lost(), 0)
    return done, db


def processes(db):
    """(parent's pid, blocks of before, of after, of the child) of each, the oldest first."""
    return [(parent, *(count(db, size, p) for size in (3001, 3011, 3023)))
            for p, parent in db.rows('SELECT id, parent FROM processes ORDER BY started, id')]


@behaviour
def a_forked_child_is_recorded_into_a_profile_of_its_own(test):
    done, db = live(test, 'fork')
    equal('blocks', [p[1:] for p in processes(db)], [(OURS, LATER, 0), (0, 0, CHILD)])
    equal('profiles', len(test.profiles()), 2)
    true('the closing line names %s' % directory_of(done), directory_of(done) == test.path('rip-%d' % done.pid))


@behaviour
def a_child_of_bare_clone_is_recorded_too(test):
    equal('blocks', [p[1:] for p in processes(live(test, 'clone')[1])], [(OURS, LATER, 0), (0, 0, CHILD)])


@behaviour
def children_of_a_process_whose_threads_allocate_are_recorded(test):
    for _ in range(10 if LONG else 1):
        work = test.mkdir('threads-%d' % _)
        rheaper(test, '-q', '-o', work, program(test, 'life.c'), 'threaded-fork')
        profiles = test.profiles(work)
        equal('profiles', len(profiles), 21)
        db = test.rip(*profiles).sound()
        equal('children with their blocks', db.one('SELECT count(*) FROM (SELECT process FROM allocations WHERE size = 3023 GROUP BY process '
                                                   'HAVING count(*) = ?)', CHILD), 20)


@behaviour
def the_events_of_a_vfork_child_are_its_parents(test):
    equal('blocks', [p[1:] for p in processes(live(test, 'vfork')[1])], [(OURS, LATER, CHILD)])


@behaviour
def a_spawned_program_is_a_profile_of_its_own(test):
    equal('blocks', [p[1:] for p in processes(live(test, 'spawn')[1])], [(OURS, LATER, 0), (0, 0, CHILD)])


@behaviour
def programs_that_a_shell_starts_are_profiles_of_their_own(test):
    db = live(test, 'system')[1]
    equal('processes with the blocks of a child', db.count('size = 3023'), CHILD)
    equal('they are another process', db.one('SELECT count(*) FROM allocations WHERE size = 3023 AND process = '
                                             '(SELECT process FROM allocations WHERE size = 3001)'), 0)


@behaviour
def a_program_behind_popen_is_recorded_and_heard(test):
    db = live(test, 'popen')[1]
    equal('blocks of the child', db.count('size = 3023'), CHILD)
    equal('blocks of ours', (db.count('size = 3001'), db.count('size = 3011')), (OURS, LATER))


@behaviour
def a_grandchild_that_init_adopts_is_recorded(test):
    db = live(test, 'double-fork')[1]
    equal('blocks', sorted(p[1:] for p in processes(db) if any(p[1:])), [(0, 0, CHILD), (OURS, LATER, 0)])


@behaviour
def a_daemon_is_recorded_on_both_sides_of_its_fork(test):
    db = live(test, 'daemon')[1]
    equal('blocks', [p[1:] for p in processes(db)], [(OURS, 0, 0), (0, LATER, 0)])


@behaviour
def a_program_that_is_executed_in_the_same_process_gets_the_next_number(test):
    done, db = live(test, 'exec')
    names = [os.path.basename(p) for p in test.profiles()]
    equal('profiles', names, ['rip-%d' % done.pid, 'rip-%d.1' % done.pid])
    equal('blocks', [p[1:] for p in processes(db)], [(OURS, 0, 0), (0, 0, CHILD)])
    equal('closing line', os.path.basename(directory_of(done)), names[1])


@behaviour
def without_follow_only_the_program_itself_is_recorded(test):
    for how in ('fork', 'spawn', 'system'):
        work = test.mkdir(how)
        rheaper(test, '-q', '--no-follow', '-o', work, program(test, 'life.c'), how)
        db = test.rip(test.profile(work))
        equal('blocks by ' + how, [p[1:] for p in processes(db)], [(OURS, LATER, 0)])


@behaviour
def nothing_is_lost_by_leaving_in_a_hurry(test):
    for how, status, later in (('_exit', 5, LATER), ('_Exit', 5, LATER), ('quick_exit', 5, LATER), ('exit', 5, LATER),
                               ('abort', -signal.SIGABRT, LATER), ('segv', -signal.SIGSEGV, LATER), ('term', -signal.SIGTERM, LATER)):
        work = test.mkdir(how)
        done = rheaper(test, '-o', work, program(test, 'life.c'), how, status=status)
        db = test.rip(test.profile(work)).sound()
        equal('blocks by ' + how, [p[1:] for p in processes(db)], [(OURS, later, 0)])
        equal('blocks of handlers', (db.count('size = 3037'), db.count('size = 3041')),
              (3 if how == 'quick_exit' else 0, 5 if how == 'exit' else 0))
        if status > 0:
            equal('closing line', directory_of(done), test.profile(work))
        else:
            equal('what is said', done.err, '')


@behaviour
def the_first_and_the_last_allocations_are_rows(test):
    library = test.builder.get(('earliest.c', 'library'), lambda output: [
        *COMPILER, *BASE_FLAGS, '-DPLAIN', '-DLIBRARY', '-fPIC', '-shared', '-o', output, os.path.join(ROOT, 'earliest.c')])
    done = rheaper(test, '-q', program(test, 'earliest.c', '-Wl,-rpath,' + os.path.dirname(library), libs=(library,)))
    equal('output', (done.out, done.err), ('ok\n', ''))
    db = test.rip(options=())
    lives = {size: (n, live) for size, n, live in db.rows(
        'SELECT size, count(*), sum(dealloc_after IS NULL) FROM allocations WHERE size BETWEEN 5000 AND 5100 GROUP BY size')}
    equal('rows and live ones of each size', lives, {
        5003: (1, 1), 5009: (1, 0), 5011: (1, 0), 5021: (1, 0), 5023: (1, 0),               # in a library's resolver
        5039: (1, 1), 5051: (1, 0), 5059: (1, 1),                                           # its constructor and destructor
        5077: (1, 1), 5081: (1, 0), 5087: (1, 1), 5099: (1, 1)})                            # the program's
    for size, function in ((5003, 'resolve_library'), (5039, 'begin_library'), (5059, 'end_library'), (5077, 'resolve_own'),
                           (5081, 'before_everything'), (5099, 'end')):
        equal('innermost frame of %d' % size, db.one('SELECT sym FROM backtraces JOIN allocations ON bt = id WHERE size = ? AND frame_no = 0',
                                                     size), function)
