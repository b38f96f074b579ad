/* SPDX-License-Identifier: MIT
 *
 * One stack, walked by rh_unwind, by libunwind and by libgcc's unwinder, and incrementally, from what the last comparison of this thread
 * left: once with room for all frames, once so that few are asked for.
 */
#ifndef TESTS_UNWIND_COMPARE_H
#define TESTS_UNWIND_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STACK_MAX 512

struct stack {
	unsigned count;
	uint64_t pcs[STACK_MAX]; /* as rh_unwind writes them */
};

struct comparison {
	struct stack ours, libunwind, libgcc, incremental, limited;
	unsigned kinds;     /* bit 1 << kind for each kind of row that was met (unwind/rows.h) */
	uint64_t truncated; /* of this walk */
	uint64_t fallbacks;
};

#define LIMITED_MAX 12 /* frames that are asked for in `limited` */

/* What the last compare_here of this thread found. */
extern __thread struct comparison compared;

/* Call once, before all else. */
void compare_init(void);

/* Walks the stack of the caller. Async-signal-safe enough for handlers of signals that are raised at chosen places. */
void compare_here(void);

/* The same for a frame that is given, which must be on the stack. */
void compare_from(const struct rh_frame *from);

/* rh_unwind_forget, and libunwind is told too. */
void compare_forget(void);

bool compare_agreed(void);

/* The incremental walks agree with rh_unwind, whatever the others say. */
bool compare_incremental_agreed(void);

/* The two others did not agree with each other, and we agreed with one of them. */
bool compare_undecided(void);

/* The last comparison agreed, as a cmocka assertion that shows the difference. */
void assert_agreed(void);

/* That a function with this name is on our stack of the last comparison, and how many times. */
unsigned times_on_stack(void (*function)(void), unsigned size);

#ifdef __cplusplus
}
#endif

#endif
