/* SPDX-License-Identifier: MIT
 *
 * The C library's malloc by its inner names, for whoever stands behind its malloc hooks (malloc_hook(3)).
 *
 * Since glibc 2.34 the hooks are called by libc_malloc_debug.so.0, and these functions know nothing of them. Before, they call the hooks themselves: there
 * the hooks must be taken out meanwhile, or a hook would call itself for ever.
 */
#ifndef RH_BACKEND_LIBC_H
#define RH_BACKEND_LIBC_H

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);
extern void *__libc_memalign(size_t alignment, size_t size);

/* Whether the inner functions call hooks. Said by the front-end before the first event. */
extern bool rh_hooks_native __attribute__((visibility("hidden")));

/* Takes the hooks out and puts them back. One thread at a time; others that allocate meanwhile are not seen. A signal handler that interrupts
 * its own thread in between finds no hooks, so it never comes here. */
void rh_hooks_take_out(void);
void rh_hooks_put_back(void);

#define RH_LIBC_CALL(call)                              \
	do {                                            \
		if (__builtin_expect(rh_hooks_native, 0)) \
			rh_hooks_take_out();            \
		call;                                   \
		if (__builtin_expect(rh_hooks_native, 0)) \
			rh_hooks_put_back();            \
	} while (0)

static inline void *rh_libc_malloc(size_t size)
{
	void *block;

	RH_LIBC_CALL(block = __libc_malloc(size));
	return block;
}

static inline void *rh_libc_calloc(size_t count, size_t size)
{
	void *block;

	RH_LIBC_CALL(block = __libc_calloc(count, size));
	return block;
}

static inline void *rh_libc_realloc(void *block, size_t size)
{
	RH_LIBC_CALL(block = __libc_realloc(block, size));
	return block;
}

static inline void rh_libc_free(void *block)
{
	RH_LIBC_CALL(__libc_free(block));
}

static inline void *rh_libc_memalign(size_t alignment, size_t size)
{
	void *block;

	RH_LIBC_CALL(block = __libc_memalign(alignment, size));
	return block;
}

/* No hook asks for these two. */
static inline void *rh_libc_aligned_alloc(size_t alignment, size_t size)
{
	return rh_libc_memalign(alignment, size);
}

static inline size_t rh_libc_malloc_usable_size(void *block)
{
	return malloc_usable_size(block);
}

#endif
