/* SPDX-License-Identifier: MIT
 *
 * The arena of the time before any allocator.
 */
#include "config.h"

#include "backend/early.h"

#include "tracker/tracker.h"

#define ARENA_SIZE (256u * 1024)
#define ALIGNMENT 16u

/* Before each block. */
struct header {
	size_t size;
	uintptr_t caller;
	struct header *earlier; /* of the block before */
	uint32_t call;
	bool freed;
};

static char arena[ARENA_SIZE] __attribute__((aligned(4096)));
static uint32_t used;
static struct header *latest;

static struct header *header_of(const void *block)
{
	return (struct header *)block - 1;
}

void *rh_early_alloc(size_t alignment, size_t size, enum rh_call call, uintptr_t caller)
{
	uint32_t start = __atomic_load_n(&used, __ATOMIC_RELAXED), end;
	struct header *header;
	uintptr_t block;

	if (alignment < ALIGNMENT)
		alignment = ALIGNMENT;
	if ((alignment & (alignment - 1)) != 0 || alignment >= ARENA_SIZE || size >= ARENA_SIZE)
		return NULL;
	do {
		block = ((uintptr_t)arena + start + sizeof(struct header) + alignment - 1) & ~(uintptr_t)(alignment - 1);
		end = (uint32_t)((block - (uintptr_t)arena + size + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
		if (end > ARENA_SIZE)
			return NULL;
	} while (!__atomic_compare_exchange_n(&used, &start, end, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	header = header_of((void *)block);
	*header = (struct header){size, caller, __atomic_load_n(&latest, __ATOMIC_RELAXED), call, false};
	while (!__atomic_compare_exchange_n(&latest, &header->earlier, header, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return (void *)block;
}

void *rh_early_calloc(size_t count, size_t size, uintptr_t caller)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : rh_early_alloc(ALIGNMENT, bytes, RH_CALL_CALLOC, caller);
}

void *rh_early_realloc(void *old, size_t size, enum rh_call call, uintptr_t caller)
{
	void *block = rh_early_alloc(ALIGNMENT, size, call, caller);

	if (!block || !old)
		return block;
	for (size_t i = 0; i < size && i < rh_early_size(old); i++)
		((volatile char *)block)[i] = ((const char *)old)[i]; /* volatile: not to become a call of memcpy */
	rh_early_free(old);
	return block;
}

bool rh_early_owns(const void *block)
{
	return (uintptr_t)block - (uintptr_t)arena < ARENA_SIZE;
}

size_t rh_early_size(const void *block)
{
	return header_of(block)->size;
}

void rh_early_free(void *block)
{
	if (rh_early_owns(block))
		header_of(block)->freed = true;
}

bool rh_early_used(void)
{
	return __atomic_load_n(&latest, __ATOMIC_RELAXED) != NULL;
}

void rh_early_record(void)
{
	/* The callers' frames are gone. In their place stands the untouched end of the arena, whose zeros end a walk at its first step. */
	const uintptr_t nothing = (uintptr_t)arena + ARENA_SIZE / 2;

	for (struct header *header = latest; header; header = header->earlier) {
		struct rh_frame caller = {header->caller, nothing, nothing};

		if (used > ARENA_SIZE / 2)
			return; /* no such end: rather no record than a wrong one */
		rh_event_alloc(header + 1, header->size, header->call, &caller);
		if (header->freed)
			rh_event_free(header + 1, RH_FREE_FREE);
	}
}
