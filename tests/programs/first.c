/* SPDX-License-Identifier: MIT
 *
 * Two threads whose first allocations are the program's first, at the same moment: recording begins there (RHEAPER_ENABLE). */
#include "program.h"

#include <pthread.h>

static pthread_barrier_t barrier;
static void *volatile kept[2];

static void *work(void *slot)
{
	void *volatile *here = slot;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 1000; i++) {
		*here = malloc(7411);
		free(*here);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&threads[i], NULL, work, (void *)&kept[i]) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	return 0;
}
