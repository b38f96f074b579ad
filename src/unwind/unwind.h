/* SPDX-License-Identifier: MIT
 *
 * The call stack of the running thread.
 *
 * On the event path: no malloc, no lock held while walking, no dlsym or dladdr, under 2 KB of the caller's stack, async-signal-safe.
 */
#ifndef RH_UNWIND_H
#define RH_UNWIND_H

#include <stdint.h>
#include <stdbool.h>

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

/* One per tracker: memory that a walk may use. Plain data, zeroed by its owner before the first use; used by one walk at a time. */
struct rh_walker {
	void *private_stack; /* mapped at the first fallback to libunwind; kept until rh_walker_release */
	uint64_t truncated;  /* walks that ended early because a frame could not be understood */
	uint64_t fallbacks;  /* times that libunwind had to help: one for each frame that no row expresses */
};

/* The stack ends where code has no call frame information (counted in truncated). What the rows of unwind/rows.h cannot express is left to
 * libunwind in the shared library, and ends the stack in the static one.
 *
 * Writes return addresses to pcs, innermost (from->pc) first, at most max (>= 1). A pc that was interrupted by a signal carries
 * RH_PC_EXACT (log/format.h). Returns how many. Never fails: in doubt the stack ends early. */
unsigned rh_unwind(struct rh_walker *walker, const struct rh_frame *from, uint64_t *pcs, unsigned max);

/* Code was unloaded or replaced: forget everything that was learnt about it. Call when it is gone, before other code may take its place.
 * Callable at any time, from any thread, signal handlers included. Walks that are under way are not disturbed. */
void rh_unwind_forget(void);

/* How many times a return address had to be looked up in .eh_frame. Grows when code is reached that was never seen: the module list may
 * have changed then. */
uint64_t rh_unwind_misses(void);

/* Called once before the first walk, outside the event path; may use what that forbids. Idempotent. */
void rh_unwind_init(void);

/* Unmaps what the walker holds. */
void rh_walker_release(struct rh_walker *walker);

#endif
