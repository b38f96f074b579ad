# SPDX-License-Identifier: MIT
"""Families of processes (forks.c): each has its own profile, its own rows, and a known parent; a child never waits for what a thread of
its parent held."""
import shutil

import either
from harness import LONG, behaviour, equal

BEFORE, AFTER, CHILD, THREAD, GRANDCHILD = 3001, 3011, 3023, 3041, 3049


def family(db):
    """{pid: (parent's pid or None if it has no profile, {size: rows})}, of sizes that the program is known by."""
    found = {}
    for number, pid, parent in db.rows('SELECT p.id, p.pid, q.pid FROM processes p LEFT JOIN processes q ON q.id = p.parent_process'):
        found[pid] = parent, dict(db.rows('SELECT size, count(*) FROM allocations WHERE process = ? '
                                          'AND size IN (3001, 3011, 3023, 3041, 3049) GROUP BY size', number))
    return found


def offspring(members, pid):
    return sorted((p for p, (parent, _) in members.items() if parent == pid))


def fork_among_threads(test, way, number, children=3):
    done = either.run(test, way, 'forks.c', 'threads', str(children), place='%s-%d' % (way, number))
    profiles = test.profiles(done.work)
    equal('profiles', len(profiles), 1 + 2 * children)
    db = test.rip(*profiles).sound()
    members = family(db)
    equal('rows of the parent', members[done.pid], (None, {BEFORE: 20, AFTER: 10}))
    equal('children', len(offspring(members, done.pid)), children)
    for child in offspring(members, done.pid):
        equal('rows of a child', members[child][1], {CHILD: 7, THREAD: 5})
        equal('rows of its children', [members[p][1] for p in offspring(members, child)], [{GRANDCHILD: 3}])
    for name, count in test.numbers(done.out).items():
        equal('rows, ends and threads of thread %s' % name,
              db.rows('SELECT count(*), count(dealloc_after), count(DISTINCT alloc_thread) FROM allocations WHERE size = 4000 + ?',
                      int(name[1:])), [(count, count, 1 if count else 0)])
    equal('losses', db.lost(), 0)
    db.connection.close()
    shutil.rmtree(done.work)


@behaviour
def a_relinked_process_forks_while_its_threads_allocate(test):
    for number in range(200 if LONG else 10):
        fork_among_threads(test, 'wrap', number)


@behaviour
def a_process_under_rheaper_forks_while_its_threads_allocate(test):
    for number in range(200 if LONG else 10):
        fork_among_threads(test, 'preload', number)


def one_child(test, way, how, linked=True):
    done = either.run(test, way, 'forks.c', how, place='%s-%s' % (way, how))
    db = test.rip(*test.profiles(done.work)).sound()
    members = family(db)
    equal('rows of the parent by %s, %s' % (how, way), members[done.pid][1], {BEFORE: 20, AFTER: 10})
    others = [(pid, rows) for pid, (_, rows) in members.items() if pid != done.pid and rows]
    equal('rows of others by %s, %s' % (how, way), [rows for _, rows in others], [{CHILD: 7}])
    if linked:
        equal('parent of the child by %s, %s' % (how, way), members[others[0][0]][0], done.pid)
    equal('losses', db.lost(), 0)


@behaviour
def children_that_no_fork_handler_hears_of_have_their_own_profile(test):
    for way in either.WAYS:
        one_child(test, way, '_Fork')
        one_child(test, way, 'clone')


@behaviour
def a_child_that_shares_our_memory_is_recorded_as_ours(test):
    for way in either.WAYS:
        done = either.run(test, way, 'forks.c', 'shared')
        db = test.rip(test.profile(done.work)).sound()
        equal('rows, ' + way, family(db), {done.pid: (None, {BEFORE: 20, AFTER: 10, CHILD: 7})})
        equal('losses', db.lost(), 0)


@behaviour
def relinked_programs_start_relinked_programs(test):
    for how in ('vfork', 'spawn', 'system', 'popen'):
        one_child(test, 'wrap', how, linked=False)


@behaviour
def orphans_and_daemons_of_a_relinked_program_are_recorded(test):
    for how in ('twice', 'daemon'):
        one_child(test, 'wrap', how, linked=False)
