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
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/early.h"
#include "backend/posix.h"
#include "tracker/tracker.h"

struct rh_next rh_next;

/* ---- the early arena's blocks must be told apart ---- */

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
	moved = rh_next.malloc(size);
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

static void set_blocks_apart(struct rh_next *next)
{
	next->free = free_apart;
	next->realloc = realloc_apart;
	next->malloc_usable_size = usable_size_apart;
}

/* ---- what the library itself makes others allocate ---- */

static pid_t apart; /* the thread whose allocations come from the arena */

static bool is_apart(void)
{
	return syscall(SYS_gettid) == __atomic_load_n(&apart, __ATOMIC_RELAXED);
}

static void *malloc_apart(size_t size)
{
	void *block = is_apart() ? rh_early_alloc(1, size, RH_CALL_OTHER, 0) : NULL;

	return block ? block : real.malloc(size);
}

static void *calloc_apart(size_t count, size_t size)
{
	void *block = is_apart() ? rh_early_calloc(count, size, 0) : NULL;

	return block ? block : real.calloc(count, size);
}

static void *memalign_apart(size_t alignment, size_t size)
{
	void *block = is_apart() ? rh_early_alloc(alignment, size, RH_CALL_OTHER, 0) : NULL;

	return block ? block : real.memalign(alignment, size);
}

void rh_next_set_apart(void)
{
	apart = (pid_t)syscall(SYS_gettid);
	set_blocks_apart(&rh_next);
	rh_next.calloc = calloc_apart;
	rh_next.memalign = memalign_apart;
	__atomic_store_n(&rh_next.malloc, malloc_apart, __ATOMIC_RELEASE);
}

void rh_next_put_back(void)
{
	__atomic_store_n(&rh_next.malloc, real.malloc, __ATOMIC_RELEASE);
	rh_next.calloc = real.calloc;
	rh_next.memalign = real.memalign;
	apart = 0;
}

/* ---- an allocator that does not define all there is ---- */

static void *memalign_by_posix(size_t alignment, size_t size)
{
	void *block = NULL;
	int error = rh_next.posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, size);

	if (!error)
		return block;
	errno = error;
	return NULL;
}

static int posix_by_memalign(void **result, size_t alignment, size_t size)
{
	return rh_posix_by(rh_next.memalign, result, alignment, size);
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
	FIND(posix_memalign);
	/* Where the allocator lacks some of them, the next one would be the C library's: a block for another's free. */
	home = object_of((void *)found.malloc);
	if (object_of((void *)found.posix_memalign) != home) {
		found.posix_memalign = posix_by_memalign;
	} else {
		if (object_of((void *)found.memalign) != home)
			found.memalign = memalign_by_posix;
		if (object_of((void *)found.aligned_alloc) != home)
			found.aligned_alloc = memalign_by_posix;
	}
	if (!found.malloc_usable_size)
		found.malloc_usable_size = no_usable_size;
	real = found;
	if (rh_early_used())
		set_blocks_apart(&found);
	rh_next.calloc = found.calloc;
	rh_next.realloc = found.realloc;
	rh_next.free = found.free;
	rh_next.memalign = found.memalign;
	rh_next.aligned_alloc = found.aligned_alloc;
	rh_next.posix_memalign = found.posix_memalign;
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
