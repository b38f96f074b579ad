/* SPDX-License-Identifier: MIT
 *
 * __real_NAME for programs that link the archive without the wrap flags (they only use the interface, or only C++'s operators): there the
 * plain names are the allocator's. With the flags the linker itself knows what __real_NAME is, and does not look for this archive member.
 */
#include "config.h"

#include "backend/linked.h"

#if !defined(PIC)
void *__real_malloc(size_t size)
{
	return malloc(size);
}

void *__real_calloc(size_t count, size_t size)
{
	return calloc(count, size);
}

void *__real_realloc(void *block, size_t size)
{
	return realloc(block, size);
}

void __real_free(void *block)
{
	free(block);
}

void *__real_memalign(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

void *__real_aligned_alloc(size_t alignment, size_t size)
{
	return aligned_alloc(alignment, size);
}

int __real_posix_memalign(void **result, size_t alignment, size_t size)
{
	return posix_memalign(result, alignment, size);
}

size_t __real_malloc_usable_size(void *block)
{
	return malloc_usable_size(block);
}
#endif
