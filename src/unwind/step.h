/* SPDX-License-Identifier: MIT
 *
 * One step outward, as the walks share it: what is checked before an address is followed, and the steps that few frames need.
 */
#ifndef RH_STEP_H
#define RH_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/rows.h"
#include "unwind/unwind.h"

/* A step outward larger than this is checked: larger frames are rare. */
#define RH_NEAR (UINT64_C(1) << 20)

/* No code lies below: a null pc marks the end of many stacks. */
#define RH_CODE_MIN UINT64_C(4096)
#define RH_CODE_END (UINT64_C(1) << RH_CODE_BITS)

static inline bool rh_is_code(uintptr_t pc)
{
	return pc - RH_CODE_MIN < RH_CODE_END - RH_CODE_MIN;
}

/* Whether an address, from which a word is to be loaded, lies a little outward of a stack pointer. */
static inline bool rh_is_near(uintptr_t address, uintptr_t cfa)
{
	return (address & 7) == 0 && address - cfa < RH_NEAR;
}

#define RH_PAGE UINT64_C(4096) /* the smallest there is */

/* Programs run on stacks of their own making, entered by code whose rows do not fit: a walk must not run over the end of such a stack. Up to which address is it
 * known to be readable, when a walk begins at this frame? A return address was just pushed in front of it. */
static inline uintptr_t rh_reach_begin(const struct rh_walker *walker, uintptr_t cfa)
{
	uintptr_t pushed = cfa - 8;

	return pushed - walker->stack_low < walker->stack_high - walker->stack_low ? walker->stack_high : (pushed | (RH_PAGE - 1)) + 1;
}

/* May a walk that began at the frame `cfa`, and has come to *limit, load from this address, which is not below *limit? Asks the kernel once a page and
 * remembers that for the next walk. */
bool rh_reach(struct rh_walker *walker, uintptr_t cfa, uintptr_t address, uintptr_t *limit);

/* Whether a walk may leave the neighbourhood and go on at this stack pointer. */
bool rh_may_jump(uintptr_t address, unsigned *jumps);

static inline __attribute__((always_inline, no_sanitize("address"))) uintptr_t rh_load(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

/* Where a frame's rbp value comes from: the address that it was loaded from, or no memory at all. Addresses are multiples of 8. */
#define RH_FP_IN_REGISTER 0

struct rh_step {
	struct rh_frame frame;
	uintptr_t fp_slot;
	uint64_t exact; /* RH_PC_EXACT if the frame was interrupted */
};

/* The steps that few frames need; apart from the walks, so that their state stays in registers. From the frame outward to the next one.
 * False: the stack ends here. */
bool rh_step_rare(struct rh_walker *walker, struct rh_row row, struct rh_step *step, unsigned *jumps);

#endif
