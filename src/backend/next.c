/* SPDX-License-Identifier: MIT
 *
 * Finds the next allocator.
 */
#include "config.h"

#include "backend/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/early.h"
#include "tracker/tracker.h"

struct rh_next rh_next;

/* ---- in a program that used the early arena: its blocks must be told apart ---- */

static struct rh_next real;

static void free_apart(void *block)
{
	if (rh_early_owns(block))
		rh_early_free(block);
	else
		real.free(block);
}

static void *realloc_apart(void *block, size_t size)
{
	size_t old;
	void *moved;

	if (!rh_early_owns(block))
		return real.realloc(block, size);
	old = rh_early_size(block);
	moved = real.malloc(size);
	if (moved) {
		memcpy(moved, block, old < size ? old : size);
		rh_early_free(block);
	}
	return moved;
}

static size_t usable_size_apart(void *block)
{
	return rh_early_owns(block) ? rh_early_size(block) : real.malloc_usable_size(block);
}

/* ---- an allocator that does not define all there is ---- */

static int (*next_posix_memalign)(void **result, size_t alignment, size_t size);

static void *memalign_by_posix(size_t alignment, size_t size)
{
	void *block = NULL;
	int error = next_posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, size);

	if (!error)
		return block;
	errno = error;
	return NULL;
}

static size_t no_usable_size(void *block)
{
	(void)block;
	return 0;
}

static const void *object_of(const void *function)
{
	Dl_info info;

	return function && dladdr(function, &info) ? info.dli_fbase : NULL;
}

/* The function pointers that dlsym gives (POSIX.1-2017, dlsym: void * holds them). */
#define FIND(name) (*(void **)&found.name = dlsym(RTLD_NEXT, #name))

static void find(void)
{
	struct rh_next found;
	const void *home;

	FIND(malloc);
	FIND(calloc);
	FIND(realloc);
	FIND(free);
	FIND(memalign);
	FIND(aligned_alloc);
	FIND(malloc_usable_size);
	*(void **)&next_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	/* Where the allocator has no memalign, the next one would be the C library's: a block for another's free. */
	home = object_of((void *)found.malloc);
	if (next_posix_memalign && object_of((void *)next_posix_memalign) == home) {
		if (object_of((void *)found.memalign) != home)
			found.memalign = memalign_by_posix;
		if (object_of((void *)found.aligned_alloc) != home)
			found.aligned_alloc = memalign_by_posix;
	}
	if (!found.malloc_usable_size)
		found.malloc_usable_size = no_usable_size;
	if (rh_early_used()) {
		real = found;
		found.free = free_apart;
		found.realloc = realloc_apart;
		found.malloc_usable_size = usable_size_apart;
	}
	rh_next.calloc = found.calloc;
	rh_next.realloc = found.realloc;
	rh_next.free = found.free;
	rh_next.memalign = found.memalign;
	rh_next.aligned_alloc = found.aligned_alloc;
	rh_next.malloc_usable_size = found.malloc_usable_size;
	__atomic_store_n(&rh_next.malloc, found.malloc, __ATOMIC_RELEASE);
}

/* The loader makes this point to itself when it relocates the library; before, it is an offset in the file, or 0. */
static void *volatile relocated = (void *)&relocated;

bool rh_next_resolve(void)
{
	static bool begun;

	if (relocated != (void *)&relocated)
		return false;
	if (__atomic_exchange_n(&begun, true, __ATOMIC_RELAXED))
		return __atomic_load_n(&rh_next.malloc, __ATOMIC_ACQUIRE) != NULL;
	find();
	if (rh_early_used() && rh_tracking())
		rh_early_record();
	return true;
}
