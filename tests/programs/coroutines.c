/* SPDX-License-Identifier: MIT
 *
 * coroutines HOW COUNT ROUNDS: COUNT coroutines on stacks of 16 KiB, each ROUNDS times resumed in turn. Coroutine c allocates 2000 + c
 * bytes in leaf, below c % 7 + 1 frames of `deeper` and below `coroutine`, goes out of the innermost frame in the middle, and frees the
 * block when it comes back. HOW: `one` thread resumes all; `two` threads take turns, so that each coroutine goes from one to the other
 * at every switch. */
#include <pthread.h>
#include <ucontext.h>

#include "program.h"

enum { STACK = 16384 };

static ucontext_t resumer, *contexts;
static int count, rounds;
static pthread_barrier_t turn;

__attribute__((noinline)) static void leaf(int c)
{
	void *block = keep(malloc(2000 + (size_t)c));

	CHECK(block);
	CHECK(swapcontext(&contexts[c], &resumer) == 0);
	free(block);
}

__attribute__((noinline)) static void deeper(int c, int left)
{
	if (left)
		deeper(c, left - 1);
	else
		leaf(c);
	__asm__ volatile("" : : "r"(left) : "memory"); /* not a tail call */
}

static void coroutine(int c)
{
	for (int i = 0; i < rounds; i++)
		deeper(c, c % 7);
}

/* One resumer at a time. */
static void resume_all(void)
{
	for (int c = 0; c < count; c++)
		CHECK(swapcontext(&resumer, &contexts[c]) == 0);
}

static void *take_turns(void *argument)
{
	size_t me = (size_t)argument;

	for (int i = 0; i <= rounds; i++) {
		if ((size_t)i % 2 == me)
			resume_all();
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

__attribute__((noinline)) static void prepare(int c, char *stack)
{
	CHECK(getcontext(&contexts[c]) == 0);
	contexts[c].uc_stack.ss_sp = stack;
	contexts[c].uc_stack.ss_size = STACK;
	contexts[c].uc_link = &resumer;
	makecontext(&contexts[c], (void (*)(void))coroutine, 1, c);
}

int main(int argc, char **argv)
{
	char *stacks;

	CHECK(argc == 4);
	count = atoi(argv[2]);
	rounds = atoi(argv[3]);
	contexts = calloc((size_t)count, sizeof *contexts);
	stacks = malloc((size_t)count * STACK);
	CHECK(contexts && stacks);
	track(".", 0, 0);
	for (int c = 0; c < count; c++)
		prepare(c, stacks + (size_t)c * STACK);
	if (strcmp(argv[1], "one") == 0) {
		for (int i = 0; i <= rounds; i++)
			resume_all();
	} else {
		pthread_t threads[2];

		CHECK(pthread_barrier_init(&turn, NULL, 2) == 0);
		for (size_t t = 0; t < 2; t++)
			CHECK(pthread_create(&threads[t], NULL, take_turns, (void *)t) == 0);
		for (size_t t = 0; t < 2; t++)
			CHECK(pthread_join(threads[t], NULL) == 0);
	}
	return 0;
}
