/* SPDX-License-Identifier: MIT
 *
 * Who really allocates: the allocator that the program was linked with.
 *
 * The shared library is linked without --wrap, so the plain names are the program's own allocator. The objects of the archive take part in
 * the program's link, where --wrap turns the plain names into ours and gives __real_NAME for the allocator's. A program that links the
 * archive without the wrap flags has no __real_NAME: then the plain names are the allocator's again. That plain name is also what pulls
 * wrap.o, and so the allocator itself, into a static program.
 *
 * The preload library is called malloc itself, so it has the next definition of each (RH_BACKEND_NEXT, backend/next.h); the library of
 * malloc hooks stands behind the C library's malloc and calls that by its inner names (RH_BACKEND_LIBC, backend/libc.h). Both are said on
 * the command line.
 *
 * RH_BACKEND_WRAPPED, defined before this header is included: this object belongs to a program with the wrap flags, so that __real_NAME
 * exists. As a strong reference it fetches the allocator from libc.a, which a weak one does not.
 *
 * Contracts, errno and thread safety are those of malloc(3), posix_memalign(3) and malloc_usable_size(3).
 */
#ifndef RH_BACKEND_H
#define RH_BACKEND_H

#include <malloc.h>
#include <stdlib.h>

#if defined(RH_BACKEND_NEXT)
#include "backend/next.h"
#define RH_BACKEND_CALL(name, ...) rh_next.name(__VA_ARGS__)
#elif defined(RH_BACKEND_LIBC)
#include "backend/libc.h"
#define RH_BACKEND_CALL(name, ...) rh_libc_##name(__VA_ARGS__)
#elif defined(PIC)
#define RH_BACKEND_CALL(name, ...) name(__VA_ARGS__)
#elif defined(RH_BACKEND_WRAPPED)
#define RH_BACKEND_CALL(name, ...) __real_##name(__VA_ARGS__)
#define RH_BACKEND_REFERENCE
#else
#define RH_BACKEND_CALL(name, ...) (__real_##name ? __real_##name(__VA_ARGS__) : name(__VA_ARGS__))
#define RH_BACKEND_REFERENCE __attribute__((weak))
#endif

#if defined(RH_BACKEND_REFERENCE)
extern __typeof__(malloc) __real_malloc RH_BACKEND_REFERENCE;
extern __typeof__(calloc) __real_calloc RH_BACKEND_REFERENCE;
extern __typeof__(realloc) __real_realloc RH_BACKEND_REFERENCE;
extern __typeof__(free) __real_free RH_BACKEND_REFERENCE;
extern __typeof__(memalign) __real_memalign RH_BACKEND_REFERENCE;
extern __typeof__(aligned_alloc) __real_aligned_alloc RH_BACKEND_REFERENCE;
extern __typeof__(malloc_usable_size) __real_malloc_usable_size RH_BACKEND_REFERENCE;
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
	return RH_BACKEND_CALL(aligned_alloc, alignment, size);
}

static inline size_t rh_backend_usable_size(void *block)
{
	return RH_BACKEND_CALL(malloc_usable_size, block);
}

#endif
