/* SPDX-License-Identifier: MIT
 *
 * A signal handler allocates on a 32 KiB alternate stack between guard pages. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void *keep[100];
static volatile int k;

static void *from_handler(void)
{
	return malloc(7309);
}

static void on_usr1(int s)
{
	(void)s;
	keep[k++] = from_handler();
}

static void victim(void)
{
	raise(SIGUSR1);
}

int main(void)
{
	long pg = 4096, sz = 32768;
	char *m = mmap(0, sz + 2 * pg, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* guard pages on both sides */
	mprotect(m + pg, sz, PROT_READ | PROT_WRITE);
	stack_t ss = {.ss_sp = m + pg, .ss_size = sz};
	sigaltstack(&ss, 0);
	struct sigaction sa = {.sa_handler = on_usr1, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &sa, 0);
	for (int i = 0; i < 100; i++)
		victim();
	for (int i = 0; i < 40; i++)
		free(keep[i]);
	if (k == 100)
		puts("ok");
	return 0;
}
