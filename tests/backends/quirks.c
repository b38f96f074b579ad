/* SPDX-License-Identifier: MIT
 *
 * quirks WHEN WHAT: asks the allocator for what the standards leave to it, and says what it got: a block or none, its alignment, its
 * usable size, errno. WHEN is `on` (tracking) or `off`, WHAT `odd` (alignments that are no powers of two) or `usual`. Compiled with PLAIN it knows nothing of Rheaper; then every line must be the same. */
#include <errno.h>
#include <malloc.h>

#include "program.h"

/* What it looks like from outside: no addresses. */
static void *say(const char *what, void *block, size_t alignment)
{
	int error = errno;

	printf("%s: %s", what, block ? "block" : "none");
	if (block) {
		printf(", %s", (uintptr_t)block % (alignment ? alignment : 1) ? "not aligned" : "aligned");
		printf(", usable %zu", malloc_usable_size(block));
		memset(block, 1, malloc_usable_size(block));
	}
	printf(", errno %d\n", error);
	return block;
}

#define SAY(alignment, call) (errno = 0, say(#call, keep(call), alignment))

static volatile size_t none = 0, one = 1, odd = 3, small = 4, eight = 8, page = 4096, wide = 48, most = PTRDIFF_MAX, all = SIZE_MAX;

static void nothing(void)
{
	void *block;

	free(SAY(16, malloc(none)));
	free(SAY(16, calloc(none, one)));
	free(SAY(16, calloc(one, none)));
	free(SAY(16, realloc(NULL, none)));
	free(SAY(16, realloc(NULL, one)));
	block = keep(malloc(100));
	free(SAY(16, realloc(block, none))); /* some free it and give none, some give a new one */
	block = keep(malloc(100));
	free(SAY(16, reallocarray(block, none, 10)));
	free(NULL);
	errno = 0;
	printf("malloc_usable_size(NULL): %zu, errno %d\n", malloc_usable_size(NULL), errno);
	free(SAY(16, memalign(16, none)));
	free(SAY(4096, valloc(none)));
	free(SAY(16, aligned_alloc(16, none)));
}

static void too_much(void)
{
	void *block = keep(malloc(10)), *same = keep(block);

	free(SAY(16, malloc(most)));
	free(SAY(16, malloc(all)));
	free(SAY(16, calloc(all, 2)));
	free(SAY(16, calloc(2, most)));
	if (SAY(16, realloc(block, all)))
		exit(1);
	if (SAY(16, reallocarray(block, all, 2)))
		exit(1);
	memset(same, 1, 10); /* a failed realloc leaves it */
	free(same);
	free(SAY(16, memalign(16, all)));
	free(SAY(16, memalign(page, most)));
	free(SAY(16, aligned_alloc(16, all - 15)));
	free(SAY(16, valloc(all)));
}

static void posix(size_t alignment, size_t size)
{
	char untouched, *block = &untouched;
	int error;

	errno = 0;
	error = posix_memalign((void **)&block, alignment, size);
	printf("posix_memalign(%zu, %zu): %d, errno %d, %s", alignment, size, error, errno,
	       block == &untouched ? "untouched" : block ? "block" : "NULL");
	if (!error && block) {
		printf(", %s, usable %zu", (uintptr_t)block % alignment ? "not aligned" : "aligned", malloc_usable_size(block));
		free(block);
	}
	printf("\n");
}

static void alignments(void)
{
	const size_t list[] = {none, one, 2, odd, small, eight, 12, 16, 24, wide, 64, page, page + 1, most, most + 1, all};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
		size_t alignment = list[i];

		printf("alignment %zu\n", alignment);
		posix(alignment, 100);
		posix(alignment, 0);
		posix(alignment, all);
		/* Only powers of two: for others memalign's behaviour is undefined in some allocators, assertions included. */
		if ((alignment & (alignment - 1)) != 0 || alignment == 0)
			continue;
		free(SAY(alignment, aligned_alloc(alignment, 100)));
		free(SAY(alignment, aligned_alloc(alignment, alignment)));
		free(SAY(alignment, memalign(alignment, 100)));
		free(SAY(alignment, memalign(alignment, 1)));
	}
}

static void odd_alignments(void)
{
	free(SAY(4, memalign(odd, 100)));
	free(SAY(16, memalign(wide, 100)));
	free(SAY(1, aligned_alloc(odd, 100)));
	free(SAY(1, aligned_alloc(none, 100)));
	free(SAY(1, aligned_alloc(wide, 96)));
}

static void pages(void)
{
	free(SAY(4096, valloc(1)));
	free(SAY(4096, valloc(5000)));
#if defined(HAVE_PVALLOC)
	free(SAY(4096, pvalloc(none)));
	free(SAY(4096, pvalloc(1)));
	free(SAY(4096, pvalloc(4096)));
	free(SAY(4096, pvalloc(5000)));
#endif
}

static void sizes(void)
{
	for (size_t size = 1; size < 300000; size += size / 3 + 1) {
		void *block = keep(malloc(size));

		printf("malloc(%zu): usable %zu\n", size, malloc_usable_size(block));
		block = keep(realloc(block, size * 2));
		printf("realloc to %zu: usable %zu\n", size * 2, malloc_usable_size(block));
		free(block);
		block = keep(strdup("sixteen and more"));
		printf("strdup: usable %zu\n", malloc_usable_size(block));
		free(block);
	}
}

int main(int argc, char **argv)
{
	static char buffer[1 << 16];

	CHECK(argc == 3);
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	if (!strcmp(argv[1], "on"))
		track(".", 0, 0);
	if (!strcmp(argv[2], "odd"))
		odd_alignments();
	else {
		nothing();
		too_much();
		alignments();
		pages();
		sizes();
	}
	return 0;
}
