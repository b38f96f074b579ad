/* SPDX-License-Identifier: MIT
 *
 * crowd TRACKERS THREADS ROUNDS STACK: many threads, all alive at the same time, each with a name and a size of block of its own (1000 +
 * number): ROUNDS blocks, of which every second is freed at once. STACK is their stacks' size in bytes, 0: usual. */
#include <pthread.h>

#include "program.h"

static pthread_barrier_t together;
static int rounds;

static void *work(void *argument)
{
	size_t number = (size_t)argument;
	char name[16];

	snprintf(name, sizeof name, "crowd-%zu", number);
	CHECK(pthread_setname_np(pthread_self(), name) == 0);
	pthread_barrier_wait(&together);
	for (int i = 0; i < rounds; i++) {
		void *block = keep(malloc(1000 + number));

		CHECK(block);
		if (i % 2)
			free(block);
	}
	pthread_barrier_wait(&together);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_attr_t attributes;
	pthread_t *threads;
	size_t count, stack;

	CHECK(argc == 5);
	count = strtoul(argv[2], NULL, 10);
	rounds = atoi(argv[3]);
	stack = strtoul(argv[4], NULL, 10);
	threads = calloc(count, sizeof *threads);
	pthread_attr_init(&attributes);
	if (stack)
		CHECK(pthread_attr_setstacksize(&attributes, stack) == 0);
	CHECK(pthread_barrier_init(&together, NULL, (unsigned)count) == 0);
	track(".", (uint32_t)atoi(argv[1]), 0);
	for (size_t t = 0; t < count; t++)
		CHECK(pthread_create(&threads[t], &attributes, work, (void *)t) == 0);
	for (size_t t = 0; t < count; t++)
		CHECK(pthread_join(threads[t], NULL) == 0);
	untrack();
	free(threads);
	return 0;
}
