/* SPDX-License-Identifier: MIT
 *
 * The incremental walk: outward by rows until a frame is met that the last walk knew, then only a check of each frame beyond.
 *
 * Why this is exact. Let a frame's state be its pc, its CFA, and where its rbp value comes from (fp_slot). What a row makes of a frame, the
 * next frame's state, depends on that state, on the row (a function of the pc as long as the epoch lasts), on the return address at the
 * next CFA - 8, and on the rbp value if the row's CFA comes from rbp; on nothing else. The kept frames are a chain: each next one has the
 * CFA and fp_slot that the row of the one before gives. So if a frame of this walk has the state of a kept one, and the return address
 * (and where it counts, the rbp value) is what it was, the next frame has the state of the next kept one; and so on outward. Frames that
 * depend on more memory than that (realigned, signal, those left to libunwind, and those that lie far away) are stepped again by their
 * row. Nothing is ever taken to be the same because it looks alike.
 *
 * Frames outward of the `max` innermost ones are not checked: nobody asks for them. They may be out of date, but they are still a chain, so
 * when the stack shrinks and they come within reach they are checked like all others.
 *
 * The search for a known frame goes outward only, past frames that lie further in. It may miss one, which costs time and nothing else.
 */
#include "unwind/incremental.h"

#include <string.h>

#include "log/format.h"
#include "unwind/step.h"

#if defined(__x86_64__)

/* How a frame was reached from the one inward of it, in the unused bits of its pc. Plain: by its row, from rsp, no bit set. */
#define REACHED_SPECIALLY (UINT64_C(1) << 63) /* set in both of the following */
#define BY_FP REACHED_SPECIALLY               /* by its row, from rbp, whose value is in `fp` */
#define BY_STEP (REACHED_SPECIALLY | UINT64_C(1) << 62)
#define HOW BY_STEP

enum outcome { STEPPED, AT_END /* for certain: the pc alone says so */, STOPPED };

/* A frame of the walk under way. */
struct state {
	uint64_t pc; /* with RH_KEPT_EXACT */
	uintptr_t cfa, fp_slot;
	uint64_t how;
	uintptr_t by_fp; /* with BY_FP */
};

/* Where this walk began, and up to which address the stack is known to be there. */
struct reach {
	uintptr_t begin, limit;
};

static inline bool may_load(struct rh_walker *walker, struct reach *reach, uintptr_t address)
{
	return __builtin_expect(address < reach->limit, 1) || rh_reach(walker, reach->begin, address, &reach->limit);
}

static inline uintptr_t fp_of(uintptr_t fp_slot, uintptr_t in_register)
{
	return fp_slot == RH_FP_IN_REGISTER ? in_register : rh_load(fp_slot);
}

static __attribute__((noinline, no_sanitize("address"))) enum outcome step_specially(struct rh_walker *walker, struct rh_row row,
										      struct state *state, uintptr_t *in_register,
										      unsigned *jumps)
{
	struct rh_step step = {.fp_slot = state->fp_slot};

	if (row.kind == RH_ROW_END || row.kind == RH_ROW_LOST) {
		if (row.kind == RH_ROW_LOST) {
			step.frame = (struct rh_frame){(uintptr_t)state->pc & RH_KEPT_ADDRESS, state->cfa, 0};
			rh_step_rare(walker, row, &step, jumps);
		}
		return AT_END;
	}
	step.frame = (struct rh_frame){(uintptr_t)(state->pc & RH_KEPT_ADDRESS), state->cfa, fp_of(state->fp_slot, *in_register)};
	if (!rh_step_rare(walker, row, &step, jumps))
		return STOPPED;
	if (!rh_is_code(step.frame.pc)) {
		walker->truncated += step.frame.pc >= RH_CODE_END;
		return STOPPED;
	}
	if (step.fp_slot == RH_FP_IN_REGISTER)
		*in_register = step.frame.fp;
	*state = (struct state){step.frame.pc | (step.exact ? RH_KEPT_EXACT : 0), step.frame.cfa, step.fp_slot, BY_STEP, 0};
	return STEPPED;
}

/* From a frame to the next one outward. The state is undefined unless STEPPED. */
static inline __attribute__((always_inline, no_sanitize("address"))) enum outcome step(struct rh_walker *walker, uint64_t epoch,
											struct state *state, uintptr_t *in_register,
											unsigned *jumps, struct reach *reach)
{
	/* A call may be the last instruction of its function: the caller is where the call is, before the return address. */
	uintptr_t code = (uintptr_t)(state->pc & RH_KEPT_ADDRESS) - !(state->pc & RH_KEPT_EXACT);
	struct rh_row row = rh_row_of(code, epoch);

	if (__builtin_expect(row.kind == RH_ROW_SP, 1)) {
		state->cfa += (uintptr_t)(intptr_t)row.cfa_offset;
		state->how = 0;
		if (!may_load(walker, reach, state->cfa - 8)) {
			walker->truncated++;
			return STOPPED;
		}
	} else if (__builtin_expect(row.kind == RH_ROW_FP, 1)) {
		uintptr_t inner = state->cfa;

		state->by_fp = fp_of(state->fp_slot, *in_register);
		state->cfa = state->by_fp + (uintptr_t)(intptr_t)row.cfa_offset;
		state->how = BY_FP;
		if (__builtin_expect(!rh_is_near(state->cfa - 8, inner), 0)) {
			state->how = BY_STEP; /* to be checked each time */
			if (!rh_may_jump(state->cfa - 8, jumps)) {
				walker->truncated++;
				return STOPPED;
			}
			reach->limit = ((state->cfa - 8) | (RH_PAGE - 1)) + 1;
		} else if (!may_load(walker, reach, state->cfa - 8)) {
			walker->truncated++;
			return STOPPED;
		}
	} else {
		enum outcome outcome = step_specially(walker, row, state, in_register, jumps);

		if (outcome == STEPPED)
			reach->limit = ((state->cfa - 8) | (RH_PAGE - 1)) + 1;
		return outcome;
	}
	state->pc = rh_load(state->cfa - 8);
	if (row.fp_offset != RH_FP_KEPT)
		state->fp_slot = state->cfa + (uintptr_t)(intptr_t)row.fp_offset;
	if (__builtin_expect(!rh_is_code((uintptr_t)state->pc), 0)) {
		walker->truncated += state->pc >= RH_CODE_END;
		return STOPPED;
	}
	return STEPPED;
}

static inline bool is_known(const struct rh_kept *kept, const struct state *state)
{
	return kept->cfa == state->cfa && kept->fp_slot == state->fp_slot && (kept->pc & ~HOW) == state->pc;
}

static inline void note(struct rh_kept *kept, const struct state *state)
{
	*kept = (struct rh_kept){state->pc | state->how, state->cfa, state->fp_slot, state->by_fp};
}

/* Where a step may have gone to another stack, the frame may be anywhere among those that are kept. Returns 1 + its index, or at. */
static __attribute__((cold, noinline)) uint32_t search(const struct rh_walker *walker, const struct state *state, uint32_t at)
{
	for (uint32_t i = walker->depth; i > 0; i--)
		if (is_known(&walker->kept[i - 1], state))
			return i;
	return at;
}

/* The `stay` outermost kept frames and then `count` fresh ones, which lie innermost first, become the kept stack. Returns how many outermost
 * pcs are the same as before. */
static inline uint32_t merge(struct rh_walker *walker, uint32_t stay, uint32_t count)
{
	struct rh_kept *kept = walker->kept;
	uint32_t same = stay, left = walker->depth - stay;

	if (__builtin_expect(stay + count > walker->capacity, 0)) {
		/* Deeper than what is kept: the outer frames are dropped, so many that it does not happen again soon. */
		uint32_t drop = stay + count - walker->capacity / 2;

		stay -= drop;
		memmove(kept, kept + drop, stay * sizeof *kept);
		walker->end_is_certain = false;
		same = left = 0;
	}
	walker->depth = stay + count;
	kept += stay;
	while (count && left && !((kept->pc ^ walker->fresh[count - 1].pc) & ~HOW)) { /* moved, but to the log the same */
		*kept++ = walker->fresh[--count];
		left--;
		same++;
	}
	while (count)
		*kept++ = walker->fresh[--count];
	return same;
}

/* Goes outward from a frame that is right as long as the next one was reached plainly and its return address is what it was. Where it stops. */
static inline __attribute__((always_inline, no_sanitize("address"))) const struct rh_kept *check(const struct rh_kept *frame,
												  const struct rh_kept *last)
{
#pragma GCC unroll 4
	for (; frame != last; frame--) {
		uint64_t pc = frame[-1].pc;

		if (__builtin_expect((int64_t)pc < 0, 0) || __builtin_expect(rh_load(frame[-1].cfa - 8) != pc, 0))
			break;
	}
	return frame;
}

__attribute__((no_sanitize("address"))) uint32_t rh_walk_rows(struct rh_walker *walker, const struct rh_frame *from)
{
	const uint64_t epoch = rh_rows_epoch();
	const uint32_t max = walker->max;
	struct rh_kept *const kept = walker->kept, *const fresh = walker->fresh;
	struct state state = {from->pc, from->cfa, RH_FP_IN_REGISTER, 0, 0};
	uintptr_t in_register = from->fp;
	uint32_t count = 0, at; /* kept[at - 1] is the next that may be met */
	struct reach reach = {from->cfa, rh_reach_begin(walker, from->cfa)};
	unsigned jumps = 0;
	enum outcome outcome;

	if (__builtin_expect(walker->epoch != epoch, 0)) {
		walker->epoch = epoch;
		walker->depth = 0;
	}
	at = walker->depth;
	for (;;) {
		uint32_t last, m;

		if (__builtin_expect(state.how == BY_STEP, 0))
			at = search(walker, &state, at);
		while (at > 0 && kept[at - 1].cfa < state.cfa)
			at--;
		if (at == 0 || !is_known(&kept[at - 1], &state)) {
			note(&fresh[count++], &state);
			if (__builtin_expect(count == 2 * max, 0)) {
				walker->end_is_certain = false;
				return merge(walker, 0, count);
			}
			outcome = step(walker, epoch, &state, &in_register, &jumps, &reach);
			if (outcome == STEPPED)
				continue;
			walker->end_is_certain = outcome == AT_END;
			return merge(walker, 0, count);
		}

		/* Known. Check from here to the outermost, or as far as anybody asks. */
		note(&kept[at - 1], &state);
		if (__builtin_expect(count >= max, 0))
			return merge(walker, at, count);
		last = at > max - count ? at - (max - count) : 0;
		for (m = at - 1;;) {
			const struct rh_kept *next;

			m = (uint32_t)(check(kept + m, kept + last) - kept);
			if (m == last && (walker->end_is_certain || at >= max - count))
				return merge(walker, at, count);
			next = m > 0 ? &kept[m - 1] : NULL;
			if (next && (next->pc & HOW) == BY_FP && fp_of(kept[m].fp_slot, in_register) == next->fp &&
			    rh_load(next->cfa - 8) == (next->pc & ~HOW)) {
				m--;
				continue;
			}
			state = (struct state){kept[m].pc & ~HOW, kept[m].cfa, kept[m].fp_slot, 0, 0};
			outcome = step(walker, epoch, &state, &in_register, &jumps, &reach);
			if (next && outcome == STEPPED && is_known(next, &state)) {
				note(&kept[--m], &state);
				continue;
			}
			if (!next && outcome != STEPPED) {
				walker->end_is_certain = outcome == AT_END;
				return merge(walker, at, count);
			}
			break;
		}

		/* The stack goes on in another way outward of kept[m]. */
		while (at > m)
			fresh[count++] = kept[--at];
		if (outcome != STEPPED) {
			walker->end_is_certain = outcome == AT_END;
			return merge(walker, 0, count);
		}
	}
}

#endif
