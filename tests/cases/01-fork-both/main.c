/* SPDX-License-Identifier: MIT
 *
 * Parent and child both allocate after a fork; the child leaves by exit. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *before_fork(void)
{
	return malloc(7001);
}

static void *in_child(void)
{
	return malloc(7013);
}

static void *in_parent(void)
{
	return malloc(7027);
}

int main(void)
{
	void *p[100];
	for (int i = 0; i < 100; i++)
		p[i] = before_fork();
	fflush(stdout);
	pid_t k = fork();
	if (k == 0) {
		for (int i = 0; i < 30; i++)
			free(p[i]); /* inherited blocks */
		void *c[50];
		for (int i = 0; i < 50; i++)
			c[i] = in_child();
		for (int i = 0; i < 20; i++)
			free(c[i]);
		exit(0); /* runs atexit handlers */
	}
	for (int i = 0; i < 25; i++)
		(void)in_parent();
	int st;
	waitpid(k, &st, 0);
	for (int i = 40; i < 100; i++)
		free(p[i]);
	if (st == 0)
		puts("ok");
	return 0;
}
