/* SPDX-License-Identifier: MIT
 *
 * The allocator of a program that Rheaper was preloaded into: for each function the next definition after ours in the order in which the loader searches,
 * so the program's own allocator, whichever that is.
 */
#ifndef RH_BACKEND_NEXT_H
#define RH_BACKEND_NEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Contracts are those of the functions of the same names. Set once, malloc last. */
struct rh_next {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *block, size_t size);
	void (*free)(void *block);
	void *(*memalign)(size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	int (*posix_memalign)(void **result, size_t alignment, size_t size);
	size_t (*malloc_usable_size)(void *block);
};
extern struct rh_next rh_next __attribute__((visibility("hidden")));

/* Fills in rh_next. False while that cannot be: the loader has not relocated this library yet (the resolver of an IFUNC elsewhere allocates), or
 * the look-up itself allocates. Then the caller has nothing but backend/early.h, and may not touch a thread-local variable or call any other library. */
bool rh_next_resolve(void) __attribute__((cold));

/* Between these two what this thread allocates comes from the early arena: Rheaper's own needs leave the program's heap as it would be. Once. */
void rh_next_set_apart(void);
void rh_next_put_back(void);

/* To be asked first in each function that we define. */
static inline bool rh_next_ready(void)
{
	return __builtin_expect(__atomic_load_n(&rh_next.malloc, __ATOMIC_ACQUIRE) != NULL, 1) || rh_next_resolve();
}

#endif
