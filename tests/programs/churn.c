/* SPDX-License-Identifier: MIT
 *
 * churn THREADS: so many threads in all, at most eight alive. Each makes three blocks of 1009 bytes, frees two, and leaves a value under
 * a key whose destructor frees the third and makes and frees one of 1013; the destructor of another key, which runs in a second round,
 * makes one of 1019 that stays. Says what the process held at its most after the first hundred threads, and how much more at the end:
 * descriptors, mappings, KiB of memory. */
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>

#include "program.h"

enum { ALIVE = 8, WARM = 100, STEP = 500 };

static pthread_key_t first, second;

static void end_second(void *unused)
{
	(void)unused;
	CHECK(keep(malloc(1019)));
}

static void end_first(void *block)
{
	void *more = keep(malloc(1013));

	free(block);
	free(more);
	CHECK(pthread_setspecific(second, &second) == 0);
}

static void *work(void *unused)
{
	void *blocks[3];

	for (int i = 0; i < 3; i++)
		CHECK(blocks[i] = keep(malloc(1009)));
	free(blocks[1]);
	free(blocks[0]);
	CHECK(pthread_setspecific(first, blocks[2]) == 0);
	return unused;
}

struct held {
	long descriptors, mappings, size, resident;
};

static long lines(const char *path)
{
	FILE *file = fopen(path, "r");
	long count = 0;
	int c;

	CHECK(file);
	while ((c = getc(file)) != EOF)
		count += c == '\n';
	fclose(file);
	return count;
}

static long status(const char *key)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long value = -1;

	CHECK(file);
	while (value < 0 && fgets(line, sizeof line, file))
		if (strncmp(line, key, strlen(key)) == 0)
			value = atol(line + strlen(key));
	fclose(file);
	CHECK(value >= 0);
	return value;
}

static struct held look(void)
{
	DIR *directory = opendir("/proc/self/fd");
	struct held held = {0};

	CHECK(directory);
	while (readdir(directory))
		held.descriptors++;
	closedir(directory);
	held.mappings = lines("/proc/self/maps");
	held.size = status("VmSize:");
	held.resident = status("VmRSS:");
	return held;
}

static long larger(long a, long b)
{
	return a > b ? a : b;
}

int main(int argc, char **argv)
{
	pthread_t alive[ALIVE];
	struct held warm = {0}, most = {0};
	int count = argc > 1 ? atoi(argv[1]) : 0;

	CHECK(mallopt(M_ARENA_MAX, 1) == 1); /* the allocator's own reservations are not what is asked about */
	CHECK(pthread_key_create(&first, end_first) == 0 && pthread_key_create(&second, end_second) == 0);
	track(".", 0, 0);
	for (int i = 0; i < count; i++) {
		if (i >= ALIVE)
			CHECK(pthread_join(alive[i % ALIVE], NULL) == 0);
		CHECK(pthread_create(&alive[i % ALIVE], NULL, work, NULL) == 0);
		if (i == WARM) {
			warm = look();
		} else if (i > WARM && i % STEP == 0) {
			struct held now = look();

			most.descriptors = larger(most.descriptors, now.descriptors);
			most.mappings = larger(most.mappings, now.mappings);
			most.size = larger(most.size, now.size);
			most.resident = larger(most.resident, now.resident);
		}
	}
	for (int i = 0; i < ALIVE; i++)
		CHECK(pthread_join(alive[i], NULL) == 0);
	printf("descriptors=%ld mappings=%ld size=%ld resident=%ld\n", most.descriptors - warm.descriptors, most.mappings - warm.mappings,
	       most.size - warm.size, most.resident - warm.resident);
	return 0;
}
