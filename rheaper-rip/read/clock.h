/* SPDX-License-Identifier: MIT
 *
 * From ticks to nanoseconds since the profile's start. Ticks of the time stamp counter are converted along the pairs (ticks,
 * CLOCK_MONOTONIC) that the profile holds: straight lines between neighbours, the mean slope beyond the ends.
 */
#ifndef READ_CLOCK_H
#define READ_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define READ_TIME_MAX (INT64_C(1) << 58) /* ns, 9 years: later (or earlier than minus that) is nonsense and clamped */

struct read_clock_pair {
	uint64_t ticks, monotonic;
};

struct read_clock {
	bool tsc;
	uint64_t start_ticks, start_monotonic;
	struct read_clock_pair *pairs;
	size_t count, capacity;
	double slope; /* ns a tick over all */
};

/* Adds a pair; false when memory is out. Only a tsc clock needs pairs. */
bool read_clock_add(struct read_clock *clock, uint64_t ticks, uint64_t monotonic);

/* To be called after the last pair and before the first conversion. false: a tsc clock with too few pairs to tell the rate. */
bool read_clock_settle(struct read_clock *clock);

/* *hint is 0 at first and speeds up conversions of times that lie near each other. */
int64_t read_clock_time(const struct read_clock *clock, uint64_t ticks, size_t *hint);

void read_clock_free(struct read_clock *clock);

#endif
