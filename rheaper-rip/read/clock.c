/* SPDX-License-Identifier: MIT
 *
 * Converts ticks.
 */
#include "config.h"

#include "read/clock.h"

#include "vector.h"

#include <stdlib.h>
#include <string.h>

/* Two readings of a pair are some 50 ns apart, or more when a signal or the scheduler came between: neighbours nearer than this would
 * show that error as a wrong rate. */
#define PAIR_DISTANCE_NS 1000000

bool read_clock_add(struct read_clock *clock, uint64_t ticks, uint64_t monotonic)
{
	if (!clock->tsc)
		return true;
	if (!VECTOR_ROOM(clock->pairs, clock->capacity, clock->count))
		return false;
	clock->pairs[clock->count++] = (struct read_clock_pair){ticks, monotonic};
	return true;
}

static int by_ticks(const void *left, const void *right)
{
	const struct read_clock_pair *a = left, *b = right;

	return a->ticks < b->ticks ? -1 : a->ticks > b->ticks;
}

bool read_clock_settle(struct read_clock *clock)
{
	size_t kept = 0;

	if (!clock->tsc)
		return true;
	if (!clock->count)
		return false;
	qsort(clock->pairs, clock->count, sizeof *clock->pairs, by_ticks);
	for (size_t i = 0; i < clock->count; i++) {
		const struct read_clock_pair *pair = &clock->pairs[i];
		bool last = i + 1 == clock->count;

		/* Of neighbours that are too near the earlier stays, but the whole must reach as far as it can. */
		if (kept && pair->ticks > clock->pairs[kept - 1].ticks && pair->monotonic > clock->pairs[kept - 1].monotonic) {
			if (pair->monotonic - clock->pairs[kept - 1].monotonic >= PAIR_DISTANCE_NS || (last && kept == 1))
				clock->pairs[kept++] = *pair;
		} else if (!kept) {
			clock->pairs[kept++] = *pair;
		}
	}
	clock->count = kept;
	if (kept < 2)
		return false;
	clock->slope = (double)(clock->pairs[kept - 1].monotonic - clock->pairs[0].monotonic) /
		       (double)(clock->pairs[kept - 1].ticks - clock->pairs[0].ticks);
	return true;
}

static int64_t clamp(double ns)
{
	if (!(ns < (double)READ_TIME_MAX))
		return READ_TIME_MAX;
	return ns > -(double)READ_TIME_MAX ? (int64_t)ns : -READ_TIME_MAX;
}

static int64_t clamp_difference(uint64_t later, uint64_t earlier)
{
	uint64_t distance = later >= earlier ? later - earlier : earlier - later;

	if (distance > (uint64_t)READ_TIME_MAX)
		distance = (uint64_t)READ_TIME_MAX;
	return later >= earlier ? (int64_t)distance : -(int64_t)distance;
}

int64_t read_clock_time(const struct read_clock *clock, uint64_t ticks, size_t *hint)
{
	const struct read_clock_pair *pair;
	double slope, from_pair;
	size_t low = 0, high, at = *hint;
	int64_t base, sum;

	if (!clock->tsc)
		return clamp_difference(ticks, clock->start_ticks);
	if (clock->count < 2)
		return 0;
	if (at >= clock->count || ticks < clock->pairs[at].ticks || (at + 1 < clock->count && ticks >= clock->pairs[at + 1].ticks)) {
		for (high = clock->count; low + 1 < high;) {
			size_t middle = low + (high - low) / 2;

			if (clock->pairs[middle].ticks <= ticks)
				low = middle;
			else
				high = middle;
		}
		*hint = at = low;
	}
	pair = &clock->pairs[at];
	slope = clock->slope;
	if (at + 1 < clock->count && ticks >= pair->ticks)
		slope = (double)(pair[1].monotonic - pair->monotonic) / (double)(pair[1].ticks - pair->ticks);
	from_pair = ticks >= pair->ticks ? (double)(ticks - pair->ticks) * slope : -(double)(pair->ticks - ticks) * slope;
	base = clamp_difference(pair->monotonic, clock->start_monotonic);
	sum = base + clamp(from_pair); /* both within 2^58 */
	return sum > READ_TIME_MAX ? READ_TIME_MAX : sum < -READ_TIME_MAX ? -READ_TIME_MAX : sum;
}

void read_clock_free(struct read_clock *clock)
{
	free(clock->pairs);
	memset(clock, 0, sizeof *clock);
}
