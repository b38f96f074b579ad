/* SPDX-License-Identifier: MIT
 *
 * Every function that allocates with an alignment, and reallocarray. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <errno.h>

static void *via_aligned(void)
{
	return aligned_alloc(64, 7232);
}

static void *via_posix(void)
{
	void *p = 0;
	return posix_memalign(&p, 256, 7333) ? 0 : p;
}

static void *via_memalign(void)
{
	return memalign(128, 7349);
}

static void *via_valloc(void)
{
	return valloc(7351);
}

static void *via_pvalloc(void)
{
	return pvalloc(7369);
}

static void *via_reallocarray(void)
{
	return reallocarray(NULL, 3, 2451);
}

int main(void)
{
	void *(*f[])(void) = {via_aligned, via_posix, via_memalign, via_valloc, via_pvalloc, via_reallocarray};
	uintptr_t al[] = {64, 256, 128, 4096, 4096, 16};
	for (int k = 0; k < 6; k++)
		for (int i = 0; i < 10; i++) {
			void *p = f[k]();
			if (!p || (uintptr_t)p % al[k])
				return 1;
			if (i < 4)
				free(p);
		}
	void *keep = (void *)42;
	errno = 0;
	if (posix_memalign(&keep, 3, 7393) != EINVAL || keep != (void *)42)
		return 2; /* bad alignment: no row, pointer untouched */
	if (reallocarray(NULL, (size_t)1 << 40, (size_t)1 << 40) != NULL || errno != ENOMEM)
		return 3;
	puts("ok");
	return 0;
}
