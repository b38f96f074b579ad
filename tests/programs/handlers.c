/* SPDX-License-Identifier: MIT
 *
 * Signal handlers that allocate (with arena.c, an allocator that lets them).
 *   handlers same TRACKERS        a timer's handler allocates and frees at 1 kHz while the main program does, until it has run 300 times.
 *                                 The handler's blocks have 100 bytes, the main program's 200.
 *   handlers alternate TRACKERS   ... on an alternate stack
 *   handlers jump TRACKERS        ... and leaves by siglongjmp, wherever it interrupted */
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "program.h"

enum { RUNS = 300, HANDLER_SIZE = 100, MAIN_SIZE = 200 };

static volatile sig_atomic_t runs;
static volatile uint64_t handler_blocks;
static int jumps;
static sigjmp_buf back;

static void handler(int number)
{
	(void)number;
	for (int i = 0; i < 3; i++) {
		void *block = keep(malloc(HANDLER_SIZE));

		free(block);
		handler_blocks++;
	}
	runs++;
	if (jumps)
		siglongjmp(back, 1);
}

int main(int argc, char **argv)
{
	static char stack[65536];
	struct sigaction action = {.sa_handler = handler};
	struct itimerval timer = {{0, 1000}, {0, 1000}};
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
	volatile uint64_t begun = 0, done = 0;

	CHECK(argc == 3);
	jumps = *argv[1] == 'j';
	if (*argv[1] == 'a') {
		CHECK(sigaltstack(&alternate, NULL) == 0);
		action.sa_flags = SA_ONSTACK;
	}
	track(".", (uint32_t)atoi(argv[2]), 50); /* few events a chunk: many handlers interrupt the writing of one */
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	sigsetjmp(back, 1);
	if (runs == 0)
		CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
	while (runs < RUNS) {
		void *block;

		begun++;
		block = keep(malloc(MAIN_SIZE));
		done++;
		free(block);
	}
	signal(SIGALRM, SIG_IGN);
	untrack();
	printf("runs=%d handler=%lu begun=%lu done=%lu\n", (int)runs, handler_blocks, begun, done);
	return 0;
}
