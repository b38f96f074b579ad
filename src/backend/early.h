/* SPDX-License-Identifier: MIT
 *
 * Blocks for whoever allocates before there is an allocator to ask (backend/next.h): a small static arena that is never reused. What comes from it is
 * recognised by its address, for ever.
 *
 * Runs in a library that is not relocated: calls nothing, uses no thread-local variable, so it leaves errno alone. Any thread, any time.
 */
#ifndef RH_BACKEND_EARLY_H
#define RH_BACKEND_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log/format.h"

/* A zeroed block; caller is the return address of whoever asked. NULL when the arena is full or the alignment is no power of two. */
void *rh_early_alloc(size_t alignment, size_t size, enum rh_call call, uintptr_t caller);
void *rh_early_calloc(size_t count, size_t size, uintptr_t caller);

/* Its own new block with the old one's content; old may be NULL. */
void *rh_early_realloc(void *old, size_t size, enum rh_call call, uintptr_t caller);

bool rh_early_owns(const void *block);
size_t rh_early_size(const void *block);

/* Notes that the block has ended. */
void rh_early_free(void *block);

/* Whether any block was given out. */
bool rh_early_used(void);

/* Records all of them, now that it can be done: each with its caller for a stack, and its end if that was noted. Only while tracking. */
void rh_early_record(void);

#endif
