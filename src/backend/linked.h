/* SPDX-License-Identifier: MIT
 *
 * The allocator that the program was linked with, and whether the program brings its own instead.
 *
 * The shared library is linked without --wrap, so the plain names are that allocator. The objects of the archive take part in the
 * program's link, where --wrap turns the plain names into ours and gives __real_NAME for the allocator's. A program that links the archive
 * without the wrap flags gets __real_NAME from unwrapped.c.
 */
#ifndef RH_BACKEND_LINKED_H
#define RH_BACKEND_LINKED_H

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>

#include "rheaper.h"

#if defined(PIC)
#define RH_LINKED(name) name
#define RH_MARKER_VISIBILITY __attribute__((visibility("hidden")))
#else
#define RH_LINKED(name) __real_##name
#define RH_MARKER_VISIBILITY /* not hidden: gold takes a hidden one that is absent for present in a PIE */
extern __typeof__(malloc) __real_malloc;
extern __typeof__(calloc) __real_calloc;
extern __typeof__(realloc) __real_realloc;
extern __typeof__(free) __real_free;
extern __typeof__(memalign) __real_memalign;
extern __typeof__(aligned_alloc) __real_aligned_alloc;
extern __typeof__(posix_memalign) __real_posix_memalign;
extern __typeof__(malloc_usable_size) __real_malloc_usable_size;
#endif

/* linked.c's rheaper_backend once more, under a name that nobody replaces. In the archive it is absent where a program's own is in use. */
extern const struct rheaper_backend rh_backend_linked __attribute__((weak)) RH_MARKER_VISIBILITY;

static inline bool rh_backend_is_own(void)
{
	return &rheaper_backend != &rh_backend_linked;
}

/* C17, 7.22.3.1: the alignment must be one that the implementation supports. */
static inline void *rh_own_aligned_alloc(size_t alignment, size_t size)
{
	if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
		errno = EINVAL;
		return NULL;
	}
	return rheaper_backend.memalign(alignment, size);
}

#endif
