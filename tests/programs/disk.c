/* SPDX-License-Identifier: MIT
 *
 * disk DIRECTORY BEFORE AFTER THREADS: records into DIRECTORY, whose disk is filled up to BEFORE bytes before tracking begins and to AFTER
 * bytes once it runs (-1: not at all). Then the main thread and THREADS - 1 further ones, one after the other, allocate 60000 blocks each,
 * and the program writes a file of its own elsewhere all the while. With BEFORE 0 tracking must not start, and nothing may be left. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "program.h"

static const char *directory;
static int own;

__attribute__((unused)) static void fill_up(const char *name, long leave)
{
	static char page[4096];
	char path[4096];
	off_t size = 0;
	int fd;

	if (leave < 0)
		return;
	snprintf(path, sizeof path, "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	CHECK(fd >= 0);
	while (write(fd, page, sizeof page) == sizeof page)
		size += sizeof page;
	CHECK(errno == ENOSPC);
	CHECK(ftruncate(fd, size > leave ? size - leave : 0) == 0);
	close(fd);
}

static void *work(void *argument)
{
	char line[64];

	for (int i = 0; i < 60000; i++) {
		CHECK(keep(malloc((size_t)i % 8 + 1)));
		if (i % 100 == 0) {
			int n = snprintf(line, sizeof line, "thread %zu, block %d\n", (size_t)argument, i);

			CHECK(write(own, line, (size_t)n) == n);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int threads;

	CHECK(argc == 5);
	directory = argv[1];
	threads = atoi(argv[4]);
	own = open("own", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(own >= 0);
#ifndef PLAIN
	fill_up("filler", atol(argv[2]));
	if (atol(argv[2]) == 0) {
		rheaper_config config = RHEAPER_CONFIG_INIT;
		char path[4096] = "unchanged";

		config.profile_dir = directory;
		errno = 77;
		CHECK(rheaper_enable_tracking(&config, path, sizeof path) == RHEAPER_ERROR_NO_SPACE);
		CHECK(errno == 77);
		CHECK(rheaper_tracking_enabled() == 0);
		CHECK(strcmp(path, "unchanged") == 0);
		CHECK(rheaper_disable_tracking() == RHEAPER_ERROR_NOT_ENABLED);
	} else {
		track(directory, 0, 0);
	}
	fill_up("second-filler", atol(argv[3]));
#endif
	work(NULL);
	for (int t = 1; t < threads; t++) {
		CHECK(pthread_create(&thread, NULL, work, (void *)(size_t)t) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
	puts("done");
	return 3;
}
