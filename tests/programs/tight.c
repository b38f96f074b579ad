/* SPDX-License-Identifier: MIT
 *
 * tight HOW: no more address space than there is (RLIMIT_AS), so that every mmap fails from then on.
 *   after     the limit comes when tracking is on; then twelve threads, whose stacks and heap are there already, and main make 1000
 *               blocks each
 *   fork      ... and a child makes 1000 more, and exits as if nothing were
 *   before    tracking is switched on under the limit, which is refused; the same work
 * Blocks have 1000 + t bytes, main's 1000, the child's 3023; every second one is freed. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "program.h"

enum { THREADS = 12, BLOCKS = 1000, STACK = 65536, HEAP = 48 << 20 };

static char stacks[THREADS][STACK] __attribute__((aligned(4096)));

static void *work(void *argument)
{
	size_t size = (size_t)argument;

	for (int i = 0; i < BLOCKS; i++) {
		void *block;

		errno = 77;
		block = keep(malloc(size));
		CHECK(block && errno == 77);
		memset(block, 1, size);
		if (i % 2)
			free(block);
		CHECK(errno == 77);
	}
	return NULL;
}

/* Freed memory stays in the heap, all threads use this one, and it grows no more. */
static void have_heap(void)
{
	void *block;

	CHECK(mallopt(M_MMAP_THRESHOLD, HEAP) == 1 || mallopt(M_MMAP_THRESHOLD, 32 << 20) == 1);
	CHECK(mallopt(M_TRIM_THRESHOLD, 1 << 30) == 1 && mallopt(M_ARENA_MAX, 1) == 1);
	block = keep(malloc(24 << 20));
	CHECK(block);
	free(block);
}

static void limit(void)
{
	struct rlimit none;

	CHECK(getrlimit(RLIMIT_AS, &none) == 0);
	none.rlim_cur = 1 << 20;
	CHECK(setrlimit(RLIMIT_AS, &none) == 0);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
}

static void work_in_threads(void)
{
	pthread_t threads[THREADS];
	pthread_attr_t attributes;

	for (size_t t = 0; t < THREADS; t++) {
		CHECK(pthread_attr_init(&attributes) == 0);
		CHECK(pthread_attr_setstack(&attributes, stacks[t], STACK) == 0);
		CHECK(pthread_create(&threads[t], &attributes, work, (void *)(1001 + t)) == 0);
	}
	for (size_t t = 0; t < THREADS; t++)
		CHECK(pthread_join(threads[t], NULL) == 0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	have_heap();
	if (strcmp(how, "before") == 0) {
		limit();
#ifndef PLAIN
		CHECK(rheaper_enable_tracking(NULL, NULL, 0) < 0 && !rheaper_tracking_enabled());
#endif
	} else {
		track(".", 0, 0);
		limit();
	}
	work((void *)1000);
	work_in_threads();
	if (strcmp(how, "fork") == 0) {
		int status;
		pid_t child = fork();

		CHECK(child >= 0);
		if (child == 0) {
			work((void *)3023);
			exit(7);
		}
		CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	}
	puts("done");
	return 0;
}
