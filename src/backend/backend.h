/* SPDX-License-Identifier: MIT
 *
 * Who really allocates: the allocator that the program was linked with, or its own rheaper_backend (rheaper.h).
 *
 * Which of the two is the linker's choice, not ours: everything here calls through the one object rheaper_backend. linked.c defines it
 * with the allocator that the program was linked with; a program's definition is taken in its place, by the linker over the one in the
 * archive, by the loader over the one in the shared library. The pointers are relocated and then read-only, so no call has to ask,
 * however early it comes.
 *
 * The preload library is called malloc itself, so it has the next definition of each (RH_BACKEND_NEXT, backend/next.h); the library of
 * malloc hooks stands behind the C library's malloc and calls that by its inner names (RH_BACKEND_LIBC, backend/libc.h). Both are said on
 * the command line.
 *
 * Contracts, errno and thread safety are those of malloc(3), posix_memalign(3) and malloc_usable_size(3).
 */
#ifndef RH_BACKEND_H
#define RH_BACKEND_H

#include <malloc.h>
#include <stdlib.h>

#include "backend/posix.h"

#if defined(RH_BACKEND_NEXT)
#include "backend/next.h"
#define RH_BACKEND_CALL(name, ...) rh_next.name(__VA_ARGS__)
#elif defined(RH_BACKEND_LIBC)
#include "backend/libc.h"
#define RH_BACKEND_CALL(name, ...) rh_libc_##name(__VA_ARGS__)
#else
#include "backend/linked.h"
#define RH_BACKEND_CALL(name, ...) rheaper_backend.name(__VA_ARGS__)
#endif

static inline void *rh_backend_malloc(size_t size)
{
	return RH_BACKEND_CALL(malloc, size);
}

static inline void *rh_backend_calloc(size_t count, size_t size)
{
	return RH_BACKEND_CALL(calloc, count, size);
}

static inline void *rh_backend_realloc(void *block, size_t size)
{
	return RH_BACKEND_CALL(realloc, block, size);
}

static inline void rh_backend_free(void *block)
{
	RH_BACKEND_CALL(free, block);
}

static inline void *rh_backend_memalign(size_t alignment, size_t size)
{
	return RH_BACKEND_CALL(memalign, alignment, size);
}

/* Apart from memalign, because what counts as a valid alignment differs between allocators and their versions. */
static inline void *rh_backend_aligned_alloc(size_t alignment, size_t size)
{
#if defined(RH_BACKEND_NEXT) || defined(RH_BACKEND_LIBC)
	return RH_BACKEND_CALL(aligned_alloc, alignment, size);
#else
	return rh_backend_is_own() ? rh_own_aligned_alloc(alignment, size) : RH_LINKED(aligned_alloc)(alignment, size);
#endif
}

static inline int rh_backend_posix_memalign(void **result, size_t alignment, size_t size)
{
#if defined(RH_BACKEND_NEXT)
	return rh_next.posix_memalign(result, alignment, size);
#elif defined(RH_BACKEND_LIBC)
	return rh_posix_by(rh_libc_memalign, result, alignment, size);
#else
	if (rh_backend_is_own())
		return rh_posix_by(rheaper_backend.memalign, result, alignment, size);
	return RH_LINKED(posix_memalign)(result, alignment, size);
#endif
}

static inline size_t rh_backend_usable_size(void *block)
{
#if defined(RH_BACKEND_NEXT) || defined(RH_BACKEND_LIBC)
	return RH_BACKEND_CALL(malloc_usable_size, block);
#else
	return rheaper_backend.usable_size(block);
#endif
}

#endif
