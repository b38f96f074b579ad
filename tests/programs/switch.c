/* SPDX-License-Identifier: MIT
 *
 * switch ROUNDS: four threads allocate, hand on and free without a pause while tracking goes on and off ROUNDS times. Each profile has a
 * path of its own, and neither descriptors nor mappings add up. */
#include <dirent.h>
#include <pthread.h>

#include "program.h"

enum { THREADS = 4, SLOTS = 32 };
static void *slots[SLOTS];
static int stop;

static void *work(void *argument)
{
	uint64_t random = (uintptr_t)argument * 2 + 1;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		free(__atomic_exchange_n(&slots[random >> 59], keep(malloc((random >> 33) % 100 + 1)), __ATOMIC_ACQ_REL));
	}
	return NULL;
}

static int descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	CHECK(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int count = 0, c;

	CHECK(maps);
	while ((c = getc(maps)) != EOF)
		count += c == '\n';
	fclose(maps);
	return count;
}

int main(int argc, char **argv)
{
	rheaper_config config = RHEAPER_CONFIG_INIT;
	char path[4096], last[4096] = "";
	int rounds, first_descriptors = 0, first_mappings = 0;
	pthread_t threads[THREADS];

	CHECK(argc == 2);
	rounds = atoi(argv[1]);
	config.max_trackers = 8;
	for (size_t t = 0; t < THREADS; t++)
		CHECK(pthread_create(&threads[t], NULL, work, (void *)t) == 0);
	for (int i = 0; i < rounds; i++) {
		CHECK(rheaper_enable_tracking(&config, path, sizeof path) == 0);
		CHECK(rheaper_tracking_enabled() == 1);
		CHECK(strcmp(path, last) != 0);
		strcpy(last, path);
		if (i % 10 == 0)
			usleep(2000);
		CHECK(rheaper_disable_tracking() == 0);
		CHECK(rheaper_tracking_enabled() == 0);
		if (i == 20) { /* whatever is kept for good is there now */
			first_descriptors = descriptors();
			first_mappings = mappings();
		}
	}
	CHECK(descriptors() == first_descriptors);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (size_t t = 0; t < THREADS; t++)
		CHECK(pthread_join(threads[t], NULL) == 0);
	/* malloc's own arenas may have come and gone: a few. One left behind a round would be hundreds. */
	CHECK(mappings() <= first_mappings + 10);
	return 0;
}
