/* SPDX-License-Identifier: MIT
 *
 * forks HOW: processes that come out of this one, in ways that fork(3) does not stand for alone.
 *   threads N    N children, one after another, while four threads allocate; each child has a thread and a child of its own
 *   _Fork clone  a child that no handler of pthread_atfork hears of; clone: on a stack of 16 KiB
 *   shared       a child that shares our memory (CLONE_VM), on a stack of its own
 *   vfork spawn system popen daemon twice       as they are called
 * Before, 20 blocks of 3001 bytes, after, 10 of 3011; a child makes 7 of 3023, its thread 5 of 3041, its child 3 of 3049. With `threads`
 * each thread t makes blocks of 4000 + t bytes and says how many. An executed program is this one, with the argument `child`. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "program.h"

enum { THREADS = 4, STACK = 16384 };

extern char **environ;
static const char *self;
static char stack[STACK] __attribute__((aligned(16)));

static void blocks(int count, size_t size)
{
	for (int i = 0; i < count; i++)
		CHECK(keep(malloc(size)));
}

static void await(pid_t child)
{
	int status;

	CHECK(child > 0);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Threads allocate most while a fork is near: what matters is that moment. `near` counts the forks, and is 0 between them. */
enum { BURST = 2000 };
static volatile int stop, near;
static struct {
	long count;
	char apart[56];
} made[THREADS];

static void *work(void *argument)
{
	size_t t = (size_t)argument;
	int of = 0, left = 0;

	while (!stop) {
		void *block = keep(malloc(4000 + t));

		CHECK(block);
		made[t].count++;
		free(block);
		if (near && near != of) {
			of = near;
			left = BURST;
		}
		if (!near || left-- <= 0)
			usleep(100);
	}
	return NULL;
}

static void *in_child(void *unused)
{
	blocks(5, 3041);
	return unused;
}

static void child_with_family(void)
{
	pthread_t thread;
	pid_t child;

	blocks(7, 3023);
	CHECK(pthread_create(&thread, NULL, in_child, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	child = fork();
	if (child == 0) {
		blocks(3, 3049);
		exit(0);
	}
	await(child);
	exit(0);
}

static void fork_among_threads(int children)
{
	pthread_t threads[THREADS];

	for (size_t t = 0; t < THREADS; t++)
		CHECK(pthread_create(&threads[t], NULL, work, (void *)t) == 0);
	for (int i = 0; i < children; i++) {
		pid_t child;

		near = i + 1;
		usleep(200);
		child = fork();
		near = 0;
		if (child == 0)
			child_with_family();
		await(child);
	}
	stop = 1;
	for (size_t t = 0; t < THREADS; t++)
		CHECK(pthread_join(threads[t], NULL) == 0);
	for (size_t t = 0; t < THREADS; t++)
		printf("t%zu=%ld\n", t, made[t].count);
	fflush(stdout);
}

static int cloned(void *unused)
{
	(void)unused;
	blocks(7, 3023);
	return 0;
}

static void by_clone(int flags)
{
	await(clone(cloned, stack + STACK, flags | SIGCHLD, NULL));
}

static void by_bare_fork(void)
{
	pid_t child = _Fork();

	if (child == 0) {
		blocks(7, 3023);
		_exit(0);
	}
	await(child);
}

static void by_vfork(void)
{
	pid_t child = vfork();

	if (child == 0) {
		execl(self, self, "child", NULL);
		_exit(1);
	}
	await(child);
}

static void by_spawn(void)
{
	char *arguments[] = {(char *)self, "child", NULL};
	pid_t child;

	CHECK(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0);
	await(child);
}

static void by_shell(int with_pipe)
{
	char command[4096], line[20] = "";
	FILE *pipe;

	snprintf(command, sizeof command, "'%s' child; exit 0", self);
	if (!with_pipe) {
		CHECK(system(command) == 0);
		return;
	}
	pipe = popen(command, "r");
	CHECK(pipe && fgets(line, sizeof line, pipe) && strcmp(line, "child\n") == 0);
	CHECK(pclose(pipe) == 0);
}

/* The grandchild belongs to init; a pipe tells when it is gone. */
static void twice(void)
{
	int fds[2];
	char end;
	pid_t child;

	CHECK(pipe(fds) == 0);
	child = fork();
	if (child == 0) {
		if (fork() == 0) {
			blocks(7, 3023);
			exit(0);
		}
		_exit(0);
	}
	await(child);
	close(fds[1]);
	CHECK(read(fds[0], &end, 1) == 0);
}

/* daemon(3) forks: this process ends in it and the child goes on. Without it the caller would not know when. */
static void become_daemon(void)
{
	int fds[2];
	char end;
	pid_t child;

	CHECK(pipe(fds) == 0);
	child = fork();
	if (child == 0) {
		CHECK(daemon(1, 1) == 0);
		blocks(7, 3023);
		exit(0);
	}
	await(child);
	close(fds[1]);
	CHECK(read(fds[0], &end, 1) == 0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	self = argv[0];
	track(".", 0, 0);
	if (strcmp(how, "child") == 0) {
		blocks(7, 3023);
		puts("child");
		return 0;
	}
	blocks(20, 3001);
	if (strcmp(how, "threads") == 0)
		fork_among_threads(atoi(argv[2]));
	else if (strcmp(how, "_Fork") == 0)
		by_bare_fork();
	else if (strcmp(how, "clone") == 0)
		by_clone(0);
	else if (strcmp(how, "shared") == 0)
		by_clone(CLONE_VM | CLONE_FILES);
	else if (strcmp(how, "vfork") == 0)
		by_vfork();
	else if (strcmp(how, "spawn") == 0)
		by_spawn();
	else if (strcmp(how, "system") == 0)
		by_shell(0);
	else if (strcmp(how, "popen") == 0)
		by_shell(1);
	else if (strcmp(how, "twice") == 0)
		twice();
	else if (strcmp(how, "daemon") == 0)
		become_daemon();
	else
		CHECK(!"a way that is known");
	blocks(10, 3011);
	return 0;
}
