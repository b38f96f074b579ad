/* SPDX-License-Identifier: MIT
 *
 * swap ROUNDS ARENAS: eight threads put new blocks into slots that they share and free what they find there, whoever made it. Stops
 * after ROUNDS a thread. ARENAS: how many arenas malloc may use, 0: as many as it likes. Says how many blocks and bytes there were, and
 * how many blocks lie in the slots at the end. */
#include <malloc.h>
#include <pthread.h>

#include "program.h"

enum { THREADS = 8, SLOTS = 64 };
static void *slots[SLOTS];
static size_t rounds;

struct total {
	uint64_t blocks, bytes, freed;
};

static void *work(void *argument)
{
	struct total *total = argument;
	uint64_t random = (uintptr_t)argument | 1;

	for (size_t i = 0; i < rounds; i++) {
		size_t size;
		void *block;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		size = (random >> 33) % 200 + 1;
		block = keep(malloc(size));
		CHECK(block);
		total->blocks++;
		total->bytes += size;
		block = __atomic_exchange_n(&slots[random >> 58], block, __ATOMIC_ACQ_REL);
		if (block) {
			free(block);
			total->freed++;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct total totals[THREADS];
	pthread_t threads[THREADS];
	struct total all = {0, 0, 0};
	int left = 0;

	CHECK(argc == 3);
	rounds = strtoul(argv[1], NULL, 10);
	if (atoi(argv[2]))
		CHECK(mallopt(M_ARENA_MAX, atoi(argv[2])) == 1);
	track(".", 0, 0);
	for (int t = 0; t < THREADS; t++)
		CHECK(pthread_create(&threads[t], NULL, work, &totals[t]) == 0);
	for (int t = 0; t < THREADS; t++) {
		CHECK(pthread_join(threads[t], NULL) == 0);
		all.blocks += totals[t].blocks;
		all.bytes += totals[t].bytes;
		all.freed += totals[t].freed;
	}
	untrack();
	for (int i = 0; i < SLOTS; i++)
		left += slots[i] != NULL;
	printf("blocks=%lu bytes=%lu freed=%lu left=%d\n", all.blocks, all.bytes, all.freed, left);
	return 0;
}
