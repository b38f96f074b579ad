/* SPDX-License-Identifier: MIT
 *
 * The first way through the events: finds the end of each allocation and the moment of the highest live total, and keeps the running
 * totals for the timeline. Allocations are numbered in the order of time, and wait in a spool for the second way (replay/rows.h).
 */
#ifndef REPLAY_PAIR_H
#define REPLAY_PAIR_H

#include "fault.h"
#include "replay/ends.h"
#include "replay/spool.h"
#include "replay/timeline.h"
#include "replay/world.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How long after an allocation of a live address the free of its old block may still come. Two threads' clocks differ by less than
 * 200 ns; a thread may be put to sleep between reading the clock and publishing, but then the free's own time is right. */
#define REPLAY_LATE_FREE_NS 10000

/* Of one process. */
struct replay_tally {
	uint64_t allocations;
	uint64_t unmatched_frees; /* of blocks from before its tracking, or inherited by fork */
};

struct replay_pairs {
	struct replay_ends ends; /* by number of the allocation */
	struct replay_spool spool;
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

/* Large things go to files beside `neighbour` (scratch.h), which must stay. 0, or -1 with fault filled; to be freed in both cases. */
int replay_pair(struct replay_pairs *pairs, struct replay_world *world, const char *neighbour, struct fault *fault);
void replay_pairs_free(struct replay_pairs *pairs);

#endif
