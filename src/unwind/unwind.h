/* SPDX-License-Identifier: MIT
 *
 * The call stack of the running thread.
 *
 * On the event path: no malloc, no lock held while walking, no dlsym or dladdr, under 2 KB of the caller's stack, async-signal-safe.
 */
#ifndef RH_UNWIND_H
#define RH_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A frame to start from: what a function finds in the frame pointer chain about its caller. */
struct rh_frame {
	uintptr_t pc;  /* return address into the caller */
	uintptr_t cfa; /* the caller's stack pointer after the return: the callee's canonical frame address (DWARF 5, 6.4) */
	uintptr_t fp;  /* the caller's frame pointer register */
};

/* The caller of the function that this stands in. That function must keep a frame pointer (RH_KEEPS_FRAME); clang always keeps one where
 * __builtin_frame_address is used, and has no attribute for it. */
#if defined(__clang__)
#define RH_KEEPS_FRAME
#else
#define RH_KEEPS_FRAME __attribute__((optimize("no-omit-frame-pointer")))
#endif
#if defined(__x86_64__)
#define RH_CALLER()                                                       \
	({                                                                \
		uintptr_t *fp_ = (uintptr_t *)__builtin_frame_address(0); \
		(struct rh_frame){fp_[1], (uintptr_t)(fp_ + 2), fp_[0]};  \
	})
#else
#define RH_CALLER() ((struct rh_frame){(uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)), 0, 0})
#endif

/* A frame of the last walk. */
struct rh_kept {
	uint64_t pc;       /* RH_KEPT_ADDRESS: the return address; RH_KEPT_EXACT; the other bits are the walk's */
	uintptr_t cfa;     /* the stack pointer in this frame */
	uintptr_t fp_slot; /* where its rbp value was loaded from; 0: still in the register */
	uintptr_t fp;
};
#define RH_KEPT_ADDRESS ((UINT64_C(1) << 57) - 1) /* the largest user addresses that x86-64 and aarch64 have */
#define RH_KEPT_EXACT (UINT64_C(1) << 61)

/* The pc as the log has it, with RH_PC_EXACT (log/format.h). */
static inline uint64_t rh_kept_pc(const struct rh_kept *frame)
{
	return (frame->pc & RH_KEPT_ADDRESS) | (frame->pc & RH_KEPT_EXACT) << 2;
}

/* One per tracker: memory that a walk may use. Plain data, zeroed by its owner before the first use; used by one walk at a time. */
struct rh_walker {
	void *private_stack; /* mapped at the first fallback to libunwind; kept until rh_walker_release */
	uint64_t truncated;  /* times that a stack was found to end early because a frame could not be understood */
	uint64_t fallbacks;  /* times that libunwind had to help: one for each frame that no row expresses */
	uintptr_t stack_low, stack_high; /* a range of the running stack that was found readable */

	/* Of rh_walk alone; the memory is its owner's, rh_walker_equip. */
	struct rh_kept *kept; /* the last stack, outermost frame first */
	uint32_t depth;       /* frames in it */
	uint32_t max;         /* frames that are asked for */
	uint32_t capacity;
	bool end_is_certain;  /* kept[0] is the outermost frame whatever memory holds; else it is to be looked at again */
	uint64_t epoch;       /* of the rows that it was walked with */
	struct rh_kept *fresh;
	uint64_t *pcs;        /* max entries, for anybody between two walks */
};

/* How stacks are walked. RH_UNWINDER_CFI: rows, incrementally, with libunwind for what they cannot express. The others are there to compare
 * with: libunwind alone; frame pointers alone, which code that keeps none leads astray. */
enum rh_unwinder { RH_UNWINDER_CFI = 0, RH_UNWINDER_LIBUNWIND, RH_UNWINDER_FP };

/* Bytes that a walker needs for stacks of which `max` frames are asked for, and their use. A walk begins anew after it. */
size_t rh_walker_size(uint32_t max);
void rh_walker_equip(struct rh_walker *walker, void *memory, uint32_t max);

/* The next walk takes nothing for known: the thread is another one, or the last walk was abandoned. */
static inline void rh_walker_reset(struct rh_walker *walker)
{
	walker->depth = 0;
	walker->stack_low = walker->stack_high = 0;
}

/* Walks to walker->kept, which has walker->depth frames then. Of them the `max` innermost are right, which is all of them unless there are
 * more; those further out are what they once were. Returns how many outermost pcs are the same as after the last walk. Never fails: in
 * doubt the stack ends early. */
uint32_t rh_walk(struct rh_walker *walker, const struct rh_frame *from);

/* The innermost frames of the last walk, at most walker->max, as rh_unwind writes them, to walker->pcs. Returns how many. */
uint32_t rh_walker_pcs(struct rh_walker *walker);

/* Chooses the unwinder. Before the first walk, or while none is under way. False where it is not to be had. */
bool rh_unwind_choose(enum rh_unwinder unwinder);

/* The stack ends where code has no call frame information (counted in truncated). What the rows of unwind/rows.h cannot express is left to
 * libunwind in the shared library, and ends the stack in the static one.
 *
 * The whole stack by rows (x86-64; elsewhere by libunwind), without memory of the last one. Writes return addresses to pcs, innermost
 * (from->pc) first, at most max (>= 1). A pc that was interrupted by a signal carries RH_PC_EXACT. Returns how many. Never fails. */
unsigned rh_unwind(struct rh_walker *walker, const struct rh_frame *from, uint64_t *pcs, unsigned max);

/* Code was unloaded or replaced: forget everything that was learnt about it. Call when it is gone, before other code may take its place.
 * Callable at any time, from any thread, signal handlers included. Walks that are under way are not disturbed. */
void rh_unwind_forget(void);

/* Code is going to be unloaded, and other code may take its place at any moment, until rh_unwind_trust is called. Meanwhile nothing is kept
 * of what is learnt: it is looked up each time (and counted in rh_unwind_misses). Each doubt has a trust of its own; `entirely` ends them all,
 * also those of threads that a fork has left behind. Both forget. From any thread. */
void rh_unwind_doubt(void);
void rh_unwind_trust(bool entirely);

/* How many times a return address had to be looked up in .eh_frame. Grows when code is reached that was never seen: the module list may
 * have changed then. */
uint64_t rh_unwind_misses(void);

/* Called once before the first walk, outside the event path; may use what that forbids. Idempotent. */
void rh_unwind_init(void);

/* Unmaps what the walker holds. */
void rh_walker_release(struct rh_walker *walker);

#endif
