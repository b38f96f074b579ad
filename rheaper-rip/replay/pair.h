/* SPDX-License-Identifier: MIT
 *
 * The first way through the events: finds the end of each allocation and the moment of the highest live total, and keeps the running
 * totals for the timeline. Allocations are numbered in the order of time; the second way (replay/rows.h) meets them in the same order.
 */
#ifndef REPLAY_PAIR_H
#define REPLAY_PAIR_H

#include "fault.h"
#include "replay/timeline.h"
#include "replay/world.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum replay_ended { REPLAY_FREED = 0, REPLAY_REALLOCATED = 1, REPLAY_REUSED = 2, REPLAY_LIVE = 3 };

/* How long after an allocation of a live address the free of its old block may still come. Two threads' clocks differ by less than
 * 200 ns; a thread may be put to sleep between reading the clock and publishing, but then the free's own time is right. */
#define REPLAY_LATE_FREE_NS 10000

/* How an allocation ended, in 12 bytes: there is one for each. */
struct replay_end {
	uint64_t packed; /* time << 3 | temporary << 2 | enum replay_ended; all ones: it is live */
	uint32_t thread; /* who ended it */
} __attribute__((packed));

/* Of one process. */
struct replay_tally {
	uint64_t allocations;
	uint64_t unmatched_frees; /* of blocks from before its tracking, or inherited by fork */
};

struct replay_pairs {
	struct replay_end *ends; /* by number of the allocation */
	uint64_t allocations;
	uint8_t *stacks;		  /* by node: 1 where something was allocated */
	struct replay_tally *tallies;	  /* by process */
	uint64_t unmatched_frees, reused; /* events; not weighted */

	int64_t peak_time;	 /* when the peak was reached; -1 without allocations */
	double peak, peak_bytes; /* weighted */
	uint64_t peak_last;	 /* the allocation that reached it */
	uint64_t *peak_ties;	 /* ascending numbers of those that were live at the peak, though they ended at that same instant */
	size_t peak_tie_count;

	struct replay_timeline timeline;
};

/* 0, or -1 with fault filled; to be freed in both cases. */
int replay_pair(struct replay_pairs *pairs, struct replay_world *world, struct fault *fault);
void replay_pairs_free(struct replay_pairs *pairs);

static inline enum replay_ended replay_end_how(const struct replay_end *end)
{
	return (enum replay_ended)(end->packed & 3);
}

static inline bool replay_end_temporary(const struct replay_end *end)
{
	return replay_end_how(end) != REPLAY_LIVE && (end->packed >> 2 & 1);
}

static inline int64_t replay_end_time(const struct replay_end *end)
{
	return (int64_t)(end->packed >> 3);
}

#endif
