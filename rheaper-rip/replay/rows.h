/* SPDX-License-Identifier: MIT
 *
 * The second way: one row an allocation, in the order of time, with its end known; and the sums over rows: per call site, per size and
 * per lifetime.
 */
#ifndef REPLAY_ROWS_H
#define REPLAY_ROWS_H

#include "fault.h"
#include "replay/names.h"
#include "replay/pair.h"
#include "replay/world.h"

#include <stdbool.h>
#include <stdint.h>

struct replay_row {
	int64_t alloc, dealloc; /* ns; dealloc only if ended != REPLAY_LIVE */
	enum replay_ended ended;
	uint32_t bt;
	uint64_t size, address;
	uint32_t alloc_thread, dealloc_thread; /* READ_NO_THREAD: unknown */
	uint32_t process;
	uint8_t call; /* enum rh_call */
	double weight;
};

/* Everything weighted, but the lifetimes' ends. */
struct replay_site {
	double allocations, bytes, live, live_bytes, peak, peak_bytes, temporary, temporary_bytes;
	int64_t lifetime_min, lifetime_max; /* ns, of blocks that were freed or reallocated */
	double lifetime_sum, lifetimes;
};

struct replay_class {
	double allocations, bytes;
};

#define REPLAY_SIZE_CLASSES 65	   /* 0: size 0; n: from 2^(n-1) to 2^n - 1 bytes */
#define REPLAY_LIFETIME_CLASSES 17 /* 0: under a microsecond; n: from 10^(n-1) to under 10^n microseconds */

struct replay_rows {
	const struct replay_world *world;
	struct replay_pairs *pairs;
	const struct replay_names *names;
	uint64_t next;		   /* number of the next allocation */
	size_t next_tie;	   /* in pairs->peak_ties */
	struct replay_site *sites; /* by bt - 1 */
	struct replay_class sizes[REPLAY_SIZE_CLASSES], lifetimes[REPLAY_LIFETIME_CLASSES];
};

/* Takes the rows out of pairs->spool. 0, or -1 with fault filled; to be freed in both cases. */
int replay_rows_start(struct replay_rows *rows, const struct replay_world *world, struct replay_pairs *pairs,
		      const struct replay_names *names, struct fault *fault);
void replay_rows_free(struct replay_rows *rows);

/* 1, 0 after the last, -1 with fault filled. The sums are complete after the last. */
int replay_rows_next(struct replay_rows *rows, struct replay_row *row, struct fault *fault);

#endif
