/* SPDX-License-Identifier: MIT
 *
 * Walks that see the whole stack each time: by libunwind, the only one on machines without rows, and by frame pointers. What they find is
 * compared with the last stack. And the choice among all walks.
 */
#include "config.h"

#include "unwind/unwind.h"

#include "log/format.h"
#include "unwind/fallback.h"
#include "unwind/incremental.h"
#include "unwind/step.h"

/* Kept frames for one that is asked for: a recursion can go so much deeper before everything is walked anew. */
#define KEPT_FACTOR 4

#if defined(PIC)
static enum rh_unwinder unwinder = RH_UNWINDER_DEFAULT; /* set while nobody walks */
#else
static enum rh_unwinder unwinder = RH_UNWINDER_DEFAULT == RH_UNWINDER_LIBUNWIND ? RH_UNWINDER_CFI : RH_UNWINDER_DEFAULT;
#endif

bool rh_unwind_choose(enum rh_unwinder wanted)
{
#if !defined(PIC)
	if (wanted == RH_UNWINDER_LIBUNWIND)
		return false;
#endif
#if !defined(__x86_64__)
	if (wanted == RH_UNWINDER_CFI)
		return false;
#endif
	unwinder = wanted;
	return true;
}

size_t rh_walker_size(uint32_t max)
{
	return (size_t)max * ((KEPT_FACTOR + 2) * sizeof(struct rh_kept) + sizeof(uint64_t));
}

void rh_walker_equip(struct rh_walker *walker, void *memory, uint32_t max)
{
	walker->kept = memory;
	walker->max = max;
	walker->capacity = KEPT_FACTOR * max;
	walker->fresh = walker->kept + walker->capacity;
	walker->pcs = (uint64_t *)(walker->fresh + 2 * (size_t)max);
	rh_walker_reset(walker);
}

uint32_t rh_walker_pcs(struct rh_walker *walker)
{
	uint32_t count = walker->depth < walker->max ? walker->depth : walker->max;

	for (uint32_t i = 0; i < count; i++)
		walker->pcs[i] = rh_kept_pc(&walker->kept[walker->depth - 1 - i]);
	return count;
}

/* Takes over the `count` pcs in walker->pcs. */
static uint32_t compare(struct rh_walker *walker, uint32_t count)
{
	uint32_t same = 0;

	while (same < count && same < walker->depth && rh_kept_pc(&walker->kept[same]) == walker->pcs[count - 1 - same])
		same++;
	for (uint32_t i = same; i < count; i++) {
		uint64_t pc = walker->pcs[count - 1 - i];

		walker->kept[i].pc = (pc & RH_KEPT_ADDRESS) | (pc & RH_PC_EXACT) >> 2;
	}
	walker->depth = count;
	return same;
}

static __attribute__((noinline)) uint32_t walk_by_libunwind(struct rh_walker *walker, const struct rh_frame *from)
{
	struct rh_frame last;

	walker->pcs[0] = from->pc;
	return compare(walker, walker->max == 1 ? 1 : 1 + rh_fallback(walker, from, walker->pcs + 1, walker->max - 1, &last));
}

#if defined(__x86_64__)

/* A frame pointer points at the saved one of the next frame; the return address lies above it. */
static __attribute__((noinline, no_sanitize("address"))) uint32_t walk_by_fp(struct rh_walker *walker, const struct rh_frame *from)
{
	uintptr_t fp = from->fp, inner = from->cfa;
	unsigned jumps = 0;
	uint32_t count = 0;

	walker->pcs[count++] = from->pc;
	while (count < walker->max && (rh_is_near(fp + 8, inner) || rh_may_jump(fp, &jumps))) {
		uintptr_t pc = rh_load(fp + 8);

		if (!rh_is_code(pc))
			break;
		walker->pcs[count++] = pc;
		inner = fp + 16;
		fp = rh_load(fp);
	}
	return compare(walker, count);
}

uint32_t rh_walk(struct rh_walker *walker, const struct rh_frame *from)
{
	if (__builtin_expect(unwinder == RH_UNWINDER_CFI, 1))
		return rh_walk_rows(walker, from);
	return unwinder == RH_UNWINDER_FP ? walk_by_fp(walker, from) : walk_by_libunwind(walker, from);
}

#else

uint32_t rh_walk(struct rh_walker *walker, const struct rh_frame *from)
{
	return walk_by_libunwind(walker, from);
}

#endif
