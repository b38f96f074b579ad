/* SPDX-License-Identifier: MIT
 *
 * A program that does to descriptors what it likes while it is recorded.
 *   descriptors closed       closes 3 to the end, then opens files of its own under many of these numbers and writes to them
 *   descriptors exhausted    opens descriptors until there are no more
 *   descriptors both         one after the other
 * Each allocates 100000 blocks of 1 to 8 bytes meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "program.h"

enum { BLOCKS = 100000, FILES = 40 };

/* Numbers that libraries like for themselves, and the first ones. */
static const int numbers[FILES] = {3,  4,   5,	 6,   7,   8,	9,   10,  11,  12,  13,	 14,  15,  16,	17,   18,   19,	  20,	62,   63,
				   64, 100, 124, 125, 126, 127, 128, 250, 255, 256, 500, 511, 512, 900, 1000, 1001, 1002, 1003, 1004, 1023};

static void raise_limit(void)
{
	struct rlimit limit;

	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	if (limit.rlim_cur < 2048 && limit.rlim_max >= 2048) {
		limit.rlim_cur = 2048;
		CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	}
}

static void open_own_files(void)
{
	for (int i = 0; i < FILES; i++) {
		char name[32];
		int fd;

		snprintf(name, sizeof name, "own-%02d", i);
		fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
		CHECK(fd >= 0);
		if (fd != numbers[i]) {
			CHECK(dup2(fd, numbers[i]) == numbers[i]);
			close(fd);
		}
	}
}

static void allocate(int own_files)
{
	char line[64];

	for (int i = 0; i < BLOCKS; i++) {
		CHECK(keep(malloc((size_t)i % 8 + 1)));
		if (own_files && i % 50 == 0) {
			int n = snprintf(line, sizeof line, "block %d\n", i);

			CHECK(write(numbers[i / 50 % FILES], line, (size_t)n) == n);
		}
	}
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	raise_limit();
	track(".", 0, 0);
	if (*argv[1] != 'e')
		CHECK(syscall(SYS_close_range, 3u, ~0u, 0u) == 0);
	if (*argv[1] == 'c')
		open_own_files();
	if (*argv[1] != 'c') {
		struct rlimit limit = {256, 2048};

		CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
		while (open("/dev/null", O_RDONLY) >= 0)
			;
		CHECK(errno == EMFILE);
	}
	allocate(*argv[1] == 'c');
	for (int i = 0; *argv[1] == 'c' && i < FILES; i++)
		CHECK(close(numbers[i]) == 0);
	puts("done");
	return 3;
}
