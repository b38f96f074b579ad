/* SPDX-License-Identifier: MIT
 *
 * The parts of the hooks front-end.
 */
#ifndef RH_CAPTURE_HOOKS_H
#define RH_CAPTURE_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

/* What the hooks do (malloc_hook(3)): caller is the return address of the allocator's function that was called. */
void *rh_malloc_hook(size_t size, const void *caller);
void *rh_realloc_hook(void *block, size_t size, const void *caller);
void *rh_memalign_hook(size_t alignment, size_t size, const void *caller);
void rh_free_hook(void *block, const void *caller);

/* Whether this version of the C library ("2.31") calls hooks itself, from the functions that the backend uses. */
bool rh_hooks_are_native(const char *version);

/* Allocates once, unrecorded: whether the hooks are called. */
bool rh_hooks_probe(void);

/* The C library's variables, which the front-end defines. glibc's header has declared them as deprecated, and later not at all. */
extern void *(*volatile __malloc_hook)(size_t size, const void *caller);
extern void *(*volatile __realloc_hook)(void *block, size_t size, const void *caller);
extern void *(*volatile __memalign_hook)(size_t alignment, size_t size, const void *caller);
extern void (*volatile __free_hook)(void *block, const void *caller);

#endif
