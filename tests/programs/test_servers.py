# SPDX-License-Identifier: MIT
"""Servers as they are, under a bounded load on the loopback interface: every allocation of every process of theirs is a row (tally.c)."""
import os
import signal
import socket
import subprocess
import threading
import time

from harness import SECONDS, Failure, Skip, behaviour, equal, need_program, true
from launched import agree, finish, launcher, start, tally_library


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def serve(test, *command, env=None):
    profiles, counts = test.mkdir('profiles'), test.mkdir('counts')
    process = start([launcher(test), '-q', '-o', profiles, '--', *command], test.dir,
                    env=dict(env or {}, LD_PRELOAD=tally_library(test), TALLY_DIR=counts))
    test.undo.append(lambda: process.poll() is None and os.killpg(process.pid, signal.SIGKILL))
    return process, profiles, counts


def await_port(process, port):
    end = time.time() + SECONDS
    while time.time() < end:
        try:
            socket.create_connection(('127.0.0.1', port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None:
                raise Skip('the server does not start here: %r' % (process.communicate(),)) from None
            time.sleep(0.05)
    raise Failure('the server does not answer')


@behaviour
def redis_under_load_with_a_forked_save_has_every_allocation(test):
    server, benchmark, client = map(need_program, ('redis-server', 'redis-benchmark', 'redis-cli'))
    port = free_port()
    process, profiles, counts = serve(test, server, '--port', port, '--bind', '127.0.0.1', '--save', '', '--dir', test.dir, '--daemonize', 'no')
    await_port(process, port)

    def ask(*words):
        return subprocess.run([client, '-p', str(port), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout
    subprocess.run([benchmark, '-p', str(port), '-n', '2000', '-c', '10', '-d', '500', '-r', '500', '-t', 'set,get,lpush', '-q'], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    ask('BGSAVE')
    end = time.time() + SECONDS
    while 'rdb_bgsave_in_progress:1' in ask('INFO', 'persistence') and time.time() < end:
        time.sleep(0.05)
    true('it did not save', 'rdb_last_bgsave_status:ok' in ask('INFO', 'persistence') and os.path.exists(test.path('dump.rdb')))
    ask('SHUTDOWN', 'NOSAVE')
    finish(process, 0)
    db = agree(test, profiles, counts, process.pid)
    equal('processes', db.one('SELECT count(*) FROM processes'), 2)
    true('too few rows: %d' % db.count(), db.count() > 6000)


NGINX = """
daemon off; master_process on; worker_processes 3; error_log stderr; pid %(dir)s/nginx.pid; user root;
events { worker_connections 64; }
http { access_log off; client_body_temp_path %(dir)s/b; proxy_temp_path %(dir)s/p; fastcgi_temp_path %(dir)s/f; uwsgi_temp_path %(dir)s/u;
  scgi_temp_path %(dir)s/s; server { listen 127.0.0.1:%(port)d; location / { return 200 "hello"; } } }
"""


@behaviour
def nginx_with_several_workers_has_every_allocation_of_each(test):
    port = free_port()
    nginx = need_program('nginx')
    with open(test.path('nginx.conf'), 'w') as f:
        f.write(NGINX % {'dir': test.dir, 'port': port})
    process, profiles, counts = serve(test, nginx, '-c', test.path('nginx.conf'), '-p', test.dir)
    await_port(process, port)

    def load():
        for _ in range(100):
            with socket.create_connection(('127.0.0.1', port)) as s:
                s.sendall(b'GET / HTTP/1.0\r\n\r\n')
                while s.recv(4096):
                    pass
    threads = [threading.Thread(target=load) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    os.kill(process.pid, signal.SIGQUIT)                # workers finish, then the master
    finish(process, 0)
    db = agree(test, profiles, counts, process.pid)
    equal('master and workers', db.one('SELECT count(*) FROM processes'), 4)
    true('too few rows: %d' % db.count(), db.count() > 400)
