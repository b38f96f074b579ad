/* SPDX-License-Identifier: MIT
 *
 * An allocator that signal handlers may use, which glibc's is not made for: it hands out cells of a ring, whatever the size, and takes
 * nothing back. A cell comes round again after 65536 further blocks. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

enum { CELLS = 65536, CELL = 256 };

static char cells[CELLS][CELL] __attribute__((aligned(64)));
static uint32_t next;

void *malloc(size_t size)
{
	if (size > CELL) {
		static char large[1 << 20] __attribute__((aligned(64))); /* stdio's buffer and the like: never given back */
		static size_t used;
		size_t at = __atomic_fetch_add(&used, (size + 63) & ~(size_t)63, __ATOMIC_RELAXED);

		if (at + size > sizeof large) {
			errno = ENOMEM;
			return NULL;
		}
		return large + at;
	}
	return cells[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % CELLS];
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t size)
{
	void *block = malloc(count * size);

	return block ? memset(block, 0, count * size) : NULL;
}

void *realloc(void *old, size_t size)
{
	void *block = malloc(size);

	return block && old ? memcpy(block, old, size < CELL ? size : CELL) : block;
}
