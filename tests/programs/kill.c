/* SPDX-License-Identifier: MIT
 *
 * A program that is killed.
 *   kill self                            60000 blocks, then SIGKILL to itself
 *   kill threads FILE BUFFER TRACKERS    four threads that allocate and free until somebody kills them; in FILE (shared memory) each counts
 *                                        what it has completed. Thread t's blocks have 1000 + t bytes. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "program.h"

enum { THREADS = 4, HELD = 64 };

struct count {
	uint64_t allocations, frees;
	char apart[48];
};
static volatile struct count *counts;

static void *work(void *argument)
{
	size_t t = (size_t)argument;
	void *held[HELD] = {0};

	for (size_t i = 0;; i = (i + 1) % HELD) {
		if (held[i]) {
			free(held[i]);
			counts[t].frees++;
		}
		held[i] = keep(malloc(1000 + t));
		counts[t].allocations++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int fd;

	if (argc == 2) {
		track(".", 0, 0);
		for (int i = 0; i < 60000; i++)
			keep(malloc((size_t)i % 100 + 1));
		kill(getpid(), SIGKILL);
	}
	CHECK(argc == 5);
	fd = open(argv[2], O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(counts != MAP_FAILED);
	track(".", (uint32_t)atoi(argv[4]), (uint32_t)atoi(argv[3]));
	for (size_t t = 0; t < THREADS; t++)
		CHECK(pthread_create(&threads[t], NULL, work, (void *)t) == 0);
	CHECK(write(1, "r", 1) == 1);
	pthread_join(threads[0], NULL);
	return 0;
}
