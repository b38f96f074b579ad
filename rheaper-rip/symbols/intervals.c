/* SPDX-License-Identifier: MIT
 *
 * Flattening is one sweep over the ranges sorted by start; a stack holds those that are open, the innermost on top.
 */
#include "config.h"

#include "symbols/intervals.h"

#include <stdlib.h>

bool symbols_intervals_add(struct symbols_intervals *intervals, uint64_t low, uint64_t high, uint32_t owner)
{
	if (low >= high)
		return true;
	if (intervals->count == intervals->room) {
		size_t room = intervals->room ? intervals->room * 2 : 64;
		struct symbols_interval *at = reallocarray(intervals->at, room, sizeof *at);

		if (!at)
			return false;
		intervals->at = at;
		intervals->room = room;
	}
	intervals->at[intervals->count++] = (struct symbols_interval){low, high, owner};
	return true;
}

static int by_start(const void *left, const void *right)
{
	const struct symbols_interval *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return (a->owner > b->owner) - (a->owner < b->owner);
}

/* Appends [low, high), joined to the last piece when it continues it. There is always room: see symbols_intervals_flatten. */
static void append(struct symbols_intervals *flat, uint64_t low, uint64_t high, uint32_t owner)
{
	if (low >= high)
		return;
	if (flat->count) {
		struct symbols_interval *last = &flat->at[flat->count - 1];

		if (last->high == low && last->owner == owner) {
			last->high = high;
			return;
		}
	}
	flat->at[flat->count++] = (struct symbols_interval){low, high, owner};
}

bool symbols_intervals_flatten(struct symbols_intervals *intervals)
{
	size_t count = intervals->count, depth = 0;

	if (!count)
		return true;
	/* Each start and each end begins at most one piece: twice the number of ranges is enough. */
	struct symbols_intervals flat = {.at = calloc(count * 2, sizeof *flat.at), .room = count * 2};
	struct symbols_interval *open = calloc(count, sizeof *open);

	if (!flat.at || !open) {
		free(flat.at);
		free(open);
		symbols_intervals_free(intervals);
		return false;
	}
	qsort(intervals->at, count, sizeof *intervals->at, by_start);
	uint64_t reached = 0;

	for (size_t i = 0; i <= count; i++) {
		uint64_t low = i < count ? intervals->at[i].low : UINT64_MAX;

		while (depth && open[depth - 1].high <= low) {
			append(&flat, reached, open[depth - 1].high, open[depth - 1].owner);
			if (open[depth - 1].high > reached)
				reached = open[depth - 1].high;
			depth--;
		}
		if (depth)
			append(&flat, reached, low, open[depth - 1].owner);
		reached = low;
		if (i < count)
			open[depth++] = intervals->at[i];
	}
	free(open);
	free(intervals->at);
	struct symbols_interval *fitted = reallocarray(flat.at, flat.count ? flat.count : 1, sizeof *fitted);

	if (fitted) {
		flat.at = fitted;
		flat.room = flat.count ? flat.count : 1;
	}
	*intervals = flat;
	return true;
}

const struct symbols_interval *symbols_intervals_find(const struct symbols_intervals *intervals, uint64_t address)
{
	size_t from = 0, to = intervals->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (intervals->at[middle].low <= address)
			from = middle + 1;
		else
			to = middle;
	}
	return from && address < intervals->at[from - 1].high ? &intervals->at[from - 1] : NULL;
}

void symbols_intervals_free(struct symbols_intervals *intervals)
{
	free(intervals->at);
	*intervals = (struct symbols_intervals){0};
}
