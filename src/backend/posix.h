/* SPDX-License-Identifier: MIT
 *
 * posix_memalign for an allocator that has memalign only.
 */
#ifndef RH_BACKEND_POSIX_H
#define RH_BACKEND_POSIX_H

#include <errno.h>
#include <stddef.h>

/* The alignment: a power of two and a multiple of sizeof(void *) (POSIX.1-2017). *result stays as it was on failure. */
static inline int rh_posix_by(void *(*memalign)(size_t, size_t), void **result, size_t alignment, size_t size)
{
	void *block;

	if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0)
		return EINVAL;
	block = memalign(alignment, size);
	if (!block)
		return ENOMEM;
	*result = block;
	return 0;
}

#endif
