# SPDX-License-Identifier: MIT
"""Servers and virtual machines answer the same whether they are recorded or not, end in order, and are told who is whose child."""
import http.client
import os
import signal
import socket
import subprocess
import threading
import time

import launched
from harness import SECONDS, Failure, behaviour, equal, need_program, need_root, true


class Server:
    """A server that is recorded, or one that is not."""

    def __init__(self, test, place, *command, recorded):
        self.test, self.recorded = test, recorded
        self.work, self.profiles, self.counts = test.mkdir(place), test.mkdir(place + '-profiles'), test.mkdir(place + '-counts')
        for directory in (self.work, self.profiles, self.counts):
            os.chmod(directory, 0o777)                  # servers become other users
        env = None
        if recorded:
            env = {'LD_PRELOAD': launched.tally_library(test), 'TALLY_DIR': self.counts}
            command = (launched.launcher(test), '-q', '-o', self.profiles, '--', *command)
        self.process = launched.start(command, self.work, env)
        test.undo.append(self.end_anyhow)

    def end_anyhow(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def path(self, name):
        return os.path.join(self.work, name)

    def await_(self, what, ready):
        end = time.time() + SECONDS
        while not ready():
            if self.process.poll() is not None or time.time() > end:
                self.end_anyhow()
                raise Failure('%s: %s' % (' '.join(self.process.args), what))
            time.sleep(0.02)

    def finish(self):
        return launched.finish(self.process, 0)

    def database(self):
        return launched.agree(self.test, self.profiles, self.counts, self.process.pid)


# ---- redis ----

COMMANDS = '\n'.join(['SET greeting hello', 'GET greeting', 'APPEND greeting " world"', 'GET greeting']
                     + ['RPUSH list %d' % i for i in range(200)] + ['LRANGE list 0 -1']
                     + ['HSET hash field%d %s' % (i, 'v' * i) for i in range(100)] + ['HLEN hash', 'SORT list DESC LIMIT 0 5']
                     + ['ZADD zset %d member%d' % (i * 7 % 50, i) for i in range(50)]
                     + ['ZRANGE zset 0 -1 WITHSCORES', 'DEL list', 'DBSIZE']) + '\n'


def redis(test, place, recorded):
    server = Server(test, place, need_program('redis-server'), '--port', '0', '--unixsocket', 'socket', '--save', '', '--daemonize', 'no',
                    '--logfile', 'log', recorded=recorded)
    client = [need_program('redis-cli'), '-s', server.path('socket')]

    def ask(*words, text=''):
        done = subprocess.run([*client, *words], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS)
        return done.stdout

    server.await_('does not answer', lambda: os.path.exists(server.path('socket')) and ask('PING') == 'PONG\n')
    replies = ask(text=COMMANDS)
    load = subprocess.run([need_program('redis-benchmark'), '-s', server.path('socket'), '-n', '2000', '-c', '10', '-q',
                           '-t', 'set,get,lpush,hset'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=SECONDS)
    equal('status of redis-benchmark (%s)' % load.stdout[-300:], load.returncode, 0)
    equal('BGSAVE', ask('BGSAVE'), 'Background saving started\n')
    server.await_('does not finish to save', lambda: 'rdb_bgsave_in_progress:0' in ask('INFO', 'persistence'))
    true('BGSAVE failed', 'rdb_last_bgsave_status:ok' in ask('INFO', 'persistence'))
    ask('SHUTDOWN', 'NOSAVE')
    done = server.finish()
    equal('output', (done.out, done.err), ('', ''))
    true('nothing was saved', os.path.getsize(server.path('dump.rdb')) > 1000)
    return server, replies


@behaviour
def redis_that_saves_in_a_forked_child_answers_the_same(test):
    _, alone = redis(test, 'alone', False)
    server, replies = redis(test, 'recorded', True)
    equal('replies', replies, alone)
    db = server.database()
    family = db.rows('SELECT p.pid, q.pid FROM processes p LEFT JOIN processes q ON q.id = p.parent_process ORDER BY p.started')
    equal('processes', len(family), 2)
    equal('the server and its child', (family[0], family[1][1]), ((server.process.pid, None), server.process.pid))


# ---- nginx ----

NGINX = """
worker_processes 2;
daemon off;
error_log log;
pid pid;
events { worker_connections 64; }
http {
    access_log off;
    gzip on;
    gzip_min_length 100;
    gzip_types text/plain;
    client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
    server { listen 127.0.0.1:%d; root html; default_type text/plain; }
}
"""


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def request(port, path, headers):
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=SECONDS)
    try:
        connection.request('GET', path, headers=headers)
        reply = connection.getresponse()
        return reply.status, reply.getheader('Content-Encoding'), reply.read()
    finally:
        connection.close()


def nginx(test, place, recorded):
    need_root()                                         # its workers become another user
    port = free_port()
    prefix = test.mkdir(place + '-prefix')
    os.mkdir(os.path.join(prefix, 'html'))
    for n in range(5):
        with open(os.path.join(prefix, 'html', 'page%d' % n), 'w') as f:
            f.write('line %d\n' % n * (10 ** n))
    with open(os.path.join(prefix, 'nginx.conf'), 'w') as f:
        f.write(NGINX % port)
    os.chmod(prefix, 0o777)
    server = Server(test, place, need_program('nginx'), '-p', prefix, '-e', os.path.join(prefix, 'log'),
                    '-c', os.path.join(prefix, 'nginx.conf'), recorded=recorded)

    def answers():
        try:
            return request(port, '/page0', {})[0] == 200
        except OSError:
            return False

    server.await_('does not answer', answers)
    replies = {}

    def load(number):
        for i in range(60):
            replies[number, i] = request(port, '/page%d' % (i % 6), {'Accept-Encoding': 'gzip'} if number % 2 else {})

    clients = [threading.Thread(target=load, args=(n,)) for n in range(6)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    os.kill(server.process.pid, signal.SIGQUIT)
    done = server.finish()
    equal('output', (done.out, done.err), ('', ''))
    return server, replies


@behaviour
def nginx_whose_workers_are_another_user_answers_the_same(test):
    _, alone = nginx(test, 'alone', False)
    server, replies = nginx(test, 'recorded', True)
    equal('requests', len(replies), 360)
    true('replies differ', replies == alone)
    equal('statuses', sorted({r[0] for r in replies.values()}), [200, 404])
    true('nothing was compressed', any(r[1] == 'gzip' for r in replies.values()))
    db = server.database()
    family = db.rows('SELECT p.pid, q.pid FROM processes p LEFT JOIN processes q ON q.id = p.parent_process ORDER BY p.started, p.id')
    equal('the master and its workers', (family[0], [parent for _, parent in family[1:]]),
          ((server.process.pid, None), [server.process.pid] * 2))


# ---- virtual machines ----

def machine(test, *command):
    profiles = test.mkdir('profiles')
    alone = launched.run(test, *command, status=None)
    done = launched.rheaper(test, '-q', '-o', profiles, '--', *command, status=None)
    equal('status, output and errors', (done.status, done.out, done.err), (alone.status, alone.out, alone.err))
    db = test.rip(test.profile(profiles), options=())
    equal('losses', db.lost(), 0)
    true('too few rows: %d' % db.count(), db.count() > 1000)
    true('too few threads', db.one('SELECT count(*) FROM threads') > 4)


@behaviour
def node_runs_unchanged_and_its_profile_is_read(test):
    machine(test, need_program('node'), '-e', 'const a = []; for (let i = 0; i < 20000; i++) a.push({i, s: String(i).repeat(10)}); '
            'console.log(JSON.stringify(a).length); setTimeout(() => console.log("later"), 50)')


@behaviour
def java_runs_unchanged_and_its_profile_is_read(test):
    machine(test, need_program('java'), '-XX:-UsePerfData', '-version')
