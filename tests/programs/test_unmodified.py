# SPDX-License-Identifier: MIT
"""Real programs as they are: what they print and how they end is the same, and each allocation of each process is a row (tally.c)."""
import os

from harness import behaviour, equal, need_program, true
from launched import same_count

SQL = """
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO t SELECT i, hex(i * 7919) FROM n;
CREATE INDEX ti ON t(b);
SELECT count(*), sum(length(b)) FROM t WHERE b > 'A';
"""

PYTHON = """
import subprocess, sys, threading
def work(n):
    return [str(i) * 40 for i in range(n)]
threads = [threading.Thread(target=work, args=(2000,)) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(subprocess.run([sys.executable, '-S', '-c', 'print(6 * 7)'], stdout=subprocess.PIPE, text=True).stdout)
print(subprocess.check_output('echo shell; exit 0', shell=True, text=True))
"""


def write(test, name, text):
    with open(test.path(name), 'w') as f:
        f.write(text)
    return test.path(name)


@behaviour
def sqlite3_as_it_is_has_every_allocation(test):
    db = same_count(test, need_program('sqlite3'), ':memory:', SQL)
    true('too few rows: %d' % db.count(), db.count() > 5000)


@behaviour
def jq_as_it_is_has_every_allocation(test):
    text = '[%s]' % ','.join('{"a":%d,"b":"%s"}' % (i, 'x' * (i % 50)) for i in range(1000))
    db = same_count(test, need_program('jq'), '-c', 'map(select(.a % 3 == 0)) | group_by(.b) | map(length)', write(test, 'in.json', text))
    true('too few rows: %d' % db.count(), db.count() > 1000)


@behaviour
def python_with_threads_and_children_has_every_allocation_of_each(test):
    db = same_count(test, need_python(), '-S', write(test, 'work.py', PYTHON), env={'PYTHONMALLOC': 'malloc', 'PYTHONHASHSEED': '0'})
    equal('processes', db.one('SELECT count(*) > 2 FROM processes'), 1)
    equal('threads of the first one', db.one('SELECT count(*) >= 9 FROM threads WHERE process = 1'), 1)


def need_python():
    path = '/usr/bin/python3'                           # not a script that looks for one
    return path if os.path.exists(path) else need_program('python3')


@behaviour
def a_compilation_is_recorded_with_its_whole_process_tree(test):
    source = write(test, 'small.c', '#include <stdio.h>\nint main(int argc, char **argv) { return printf("%d %s", argc, *argv) < 0; }\n')
    db = same_count(test, need_program('gcc'), '-O2', '-g', '-o', test.path('small'), source)
    names = {os.path.basename(r[0]) for r in db.rows('SELECT exe FROM processes')}
    true('cc1 is missing among %s' % names, 'cc1' in names)
    true('no linker among %s' % names, any('ld' in n for n in names))


@behaviour
def git_as_it_is_has_every_allocation(test):
    git = need_program('git')
    env = {'HOME': test.dir, 'GIT_CONFIG_NOSYSTEM': '1', 'GIT_AUTHOR_NAME': 'a', 'GIT_AUTHOR_EMAIL': 'a@b', 'GIT_COMMITTER_NAME': 'a',
           'GIT_COMMITTER_EMAIL': 'a@b', 'GIT_AUTHOR_DATE': '1700000000 +0000', 'GIT_COMMITTER_DATE': '1700000000 +0000'}
    write(test, 'file', 'text\n' * 1000)
    write(test, 'commit.sh', 'rm -rf .git\n"%s" init -q . && "%s" add file && "%s" commit -qm one && "%s" log --stat\n' % ((git,) * 4))
    same_count(test, '/bin/sh', test.path('commit.sh'), env=env)
