/* SPDX-License-Identifier: MIT
 *
 * An independent count, to be preloaded behind Rheaper: every call of the allocator in a process and in those that it starts. TALLY_DIR holds a file
 * <pid>.<n> for each program image and forked child: a mapping, so that it is right however the process ends. It knows nothing of Rheaper. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct tally {
	uint64_t rows;  /* blocks that came to life: a realloc's too */
	uint64_t ends;  /* blocks that ended: by free, realloc to nothing, or realloc */
	uint64_t bytes; /* asked for, of all rows */
	uint64_t forked; /* 1: a forked child, whose ends may be of blocks that it has from its parent */
};

/* Of this process: a child of fork finds zeros (madvise(2), MADV_WIPEONFORK), one of vfork its parent's. */
static union {
	struct tally *tally;
	char page[4096];
} own __attribute__((aligned(4096)));

static struct tally *open_tally(void)
{
	static int before; /* not wiped: set in a child */
	const char *directory = getenv("TALLY_DIR");
	struct tally *tally = MAP_FAILED;
	char path[4096];
	int fd = -1;

	for (int n = 0; directory && n < 1000 && fd < 0; n++) {
		snprintf(path, sizeof path, "%s/%d.%d", directory, (int)getpid(), n);
		fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL, 0600);
	}
	if (fd >= 0 && ftruncate(fd, sizeof *tally) == 0)
		tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		syscall(SYS_close, fd);
	if (tally == MAP_FAILED) {
		static struct tally nowhere;

		tally = &nowhere;
	}
	madvise(&own, sizeof own, MADV_WIPEONFORK);
	tally->forked = before;
	before = 1;
	own.tally = tally;
	return tally;
}

static struct tally *mine(void)
{
	int saved = errno;
	struct tally *tally = own.tally ? own.tally : open_tally();

	errno = saved;
	return tally;
}

static void *born(void *block, size_t size)
{
	struct tally *tally = mine();

	if (block) {
		__atomic_fetch_add(&tally->rows, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&tally->bytes, size, __ATOMIC_RELAXED);
	}
	return block;
}

static void ended(void)
{
	__atomic_fetch_add(&mine()->ends, 1, __ATOMIC_RELAXED);
}

#define NEXT(name)                                                        \
	static __typeof__(&name) next;                                    \
	if (!next)                                                        \
		*(void **)&next = dlsym(RTLD_NEXT, #name)

void *malloc(size_t size)
{
	NEXT(malloc);
	return born(next(size), size);
}

void *calloc(size_t count, size_t size)
{
	NEXT(calloc);
	return born(next(count, size), count * size);
}

void *realloc(void *old, size_t size)
{
	void *block;

	NEXT(realloc);
	block = born(next(old, size), size);
	if (old && (block || !size))
		ended();
	return block;
}

void *reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}

void free(void *block)
{
	NEXT(free);
	mine();
	if (block)
		ended();
	next(block);
}

int posix_memalign(void **result, size_t alignment, size_t size)
{
	int error;

	NEXT(posix_memalign);
	error = next(result, alignment, size);
	born(error ? NULL : *result, size);
	return error;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	NEXT(aligned_alloc);
	return born(next(alignment, size), size);
}

void *memalign(size_t alignment, size_t size)
{
	NEXT(memalign);
	return born(next(alignment, size), size);
}

void *valloc(size_t size)
{
	NEXT(valloc);
	return born(next(size), size);
}

void *pvalloc(size_t size)
{
	NEXT(pvalloc);
	return born(next(size), size);
}

/* A process that never allocates is one too. */
static __attribute__((constructor)) void begin(void)
{
	mine();
}
