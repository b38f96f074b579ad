/* SPDX-License-Identifier: MIT
 *
 * Processes in all their ways of coming and going, each with blocks of sizes of its own: the argument says which. The parent allocates OURS blocks of 3001
 * bytes before and 10 more of 3011 after; a child as many of 3023 as CHILD says. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "program.h"

#define OURS 20
#define CHILD 7

extern char **environ;
static const char *self;

static void blocks(int count, size_t size)
{
	for (int i = 0; i < count; i++)
		keep(malloc(size));
}

static void await(pid_t child, int wanted)
{
	int status;

	CHECK(waitpid(child, &status, 0) == child);
	CHECK(status == wanted);
}

static void by_fork(void)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		blocks(CHILD, 3023);
		exit(0);
	}
	await(child, 0);
}

/* _Fork runs no handlers (glibc 2.34). */
static void by_clone(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	CHECK(child >= 0);
	if (child == 0) {
		blocks(CHILD, 3023);
		_exit(0);
	}
	await(child, 0);
}

static volatile int stop;

static void *churn(void *unused)
{
	while (!stop) {
		for (int i = 0; i < 100; i++)
			free(keep(malloc(64)));
		usleep(200);
	}
	return unused;
}

/* Children of a process whose other threads allocate all the time. */
static void by_threaded_fork(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&threads[i], NULL, churn, NULL) == 0);
	for (int i = 0; i < 20; i++)
		by_fork();
	stop = 1;
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

/* Its events are its parent's. */
static void by_vfork(void)
{
	pid_t child = vfork();

	CHECK(child >= 0);
	if (child == 0) {
		blocks(CHILD, 3023);
		_exit(0);
	}
	await(child, 0);
}

static void by_spawn(void)
{
	char *arguments[] = {(char *)self, "child", NULL};
	pid_t child;

	CHECK(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0);
	await(child, 0);
}

static void by_system(void)
{
	char command[4096];

	snprintf(command, sizeof command, "'%s' child; exit 0", self);
	CHECK(system(command) == 0);
}

static void by_popen(void)
{
	char command[4096], line[20] = "";
	FILE *pipe;

	snprintf(command, sizeof command, "exec '%s' child", self);
	pipe = popen(command, "r");
	CHECK(pipe && fgets(line, sizeof line, pipe) && strcmp(line, "child\n") == 0);
	CHECK(pclose(pipe) == 0);
}

/* Both forks return by _exit in the parents; what is left belongs to init. */
static void by_double_fork(void)
{
	int fds[2];
	char end;
	pid_t child;

	CHECK(pipe(fds) == 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		pid_t grandchild = fork();

		CHECK(grandchild >= 0);
		if (grandchild == 0) {
			blocks(CHILD, 3023);
			exit(0);
		}
		_exit(0);
	}
	await(child, 0);
	close(fds[1]);
	CHECK(read(fds[0], &end, 1) == 0); /* the grandchild is gone too */
}

static int quick_blocks;

static void at_quick_exit_handler(void)
{
	blocks(quick_blocks, 3037);
}

static void at_exit_handler(void)
{
	blocks(5, 3041);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	self = argv[0];
	if (strcmp(how, "child") == 0) {
		blocks(CHILD, 3023);
		puts("child");
		return 0;
	}
	blocks(OURS, 3001);
	if (strcmp(how, "fork") == 0)
		by_fork();
	else if (strcmp(how, "clone") == 0)
		by_clone();
	else if (strcmp(how, "threaded-fork") == 0)
		by_threaded_fork();
	else if (strcmp(how, "vfork") == 0)
		by_vfork();
	else if (strcmp(how, "spawn") == 0)
		by_spawn();
	else if (strcmp(how, "system") == 0)
		by_system();
	else if (strcmp(how, "popen") == 0)
		by_popen();
	else if (strcmp(how, "double-fork") == 0)
		by_double_fork();
	else if (strcmp(how, "daemon") == 0)
		CHECK(daemon(1, 1) == 0);
	else if (strcmp(how, "exec") == 0) {
		execl(self, self, "child", NULL);
		CHECK(0);
	}
	blocks(10, 3011);
	if (strcmp(how, "_exit") == 0)
		_exit(5);
	if (strcmp(how, "_Exit") == 0)
		_Exit(5);
	if (strcmp(how, "quick_exit") == 0) {
		quick_blocks = 3;
		at_quick_exit(at_quick_exit_handler);
		quick_exit(5);
	}
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "segv") == 0)
		raise(SIGSEGV);
	if (strcmp(how, "term") == 0)
		kill(getpid(), SIGTERM);
	if (strcmp(how, "exit") == 0) {
		atexit(at_exit_handler);
		exit(5);
	}
	return 0;
}
