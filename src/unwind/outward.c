/* SPDX-License-Identifier: MIT
 *
 * A few steps outward to a frame that is known by its return address.
 */
#include "unwind/outward.h"

#include "unwind/rows.h"

/* Larger frames than that are not looked through. */
#define NEAR (1u << 20)

/* Frames of a library that stands between the program and a hook. */
#define STEPS_MAX 4

#if defined(__x86_64__)

static uintptr_t load(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

bool rh_unwind_outward(struct rh_frame *frame, uintptr_t pc)
{
	const uint64_t epoch = rh_rows_epoch();
	struct rh_frame at = *frame;
	uintptr_t inner;

	for (int step = 0; at.pc != pc; step++) {
		struct rh_row row = rh_row_of(at.pc - 1, epoch);

		if (step == STEPS_MAX || (row.kind != RH_ROW_SP && row.kind != RH_ROW_FP))
			return false;
		inner = at.cfa;
		at.cfa = (row.kind == RH_ROW_SP ? at.cfa : at.fp) + (uintptr_t)(intptr_t)row.cfa_offset;
		if (at.cfa - 8 - inner >= NEAR || (at.cfa & 7) != 0)
			return false;
		at.pc = load(at.cfa - 8);
		if (row.fp_offset != RH_FP_KEPT)
			at.fp = load(at.cfa + (uintptr_t)(intptr_t)row.fp_offset);
	}
	*frame = at;
	return true;
}

#else

/* libunwind looks for this pc, wherever it is on the stack. */
bool rh_unwind_outward(struct rh_frame *frame, uintptr_t pc)
{
	*frame = (struct rh_frame){pc, 0, 0};
	return true;
}

#endif
