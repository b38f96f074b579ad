/* SPDX-License-Identifier: MIT
 *
 * Which owner has an address: nested address ranges, flattened once into disjoint ones, then found by binary search.
 */
#ifndef SYMBOLS_INTERVALS_H
#define SYMBOLS_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* [low, high) belongs to owner. */
struct symbols_interval {
	uint64_t low, high;
	uint32_t owner;
};

/* All zero is empty. */
struct symbols_intervals {
	struct symbols_interval *at;
	size_t count, room;
};

/* Empty and wrapped ranges are left out, which is no error. False when memory is out. */
bool symbols_intervals_add(struct symbols_intervals *intervals, uint64_t low, uint64_t high, uint32_t owner);

/* Makes the ranges disjoint and sorted. Where they overlap, the one that starts last wins, and of two with one start that of the
 * greater owner: owners are numbered outside in, so the innermost wins. False when memory is out; nothing can be found then. */
bool symbols_intervals_flatten(struct symbols_intervals *intervals);

/* Only after flattening. NULL when nobody owns address. */
const struct symbols_interval *symbols_intervals_find(const struct symbols_intervals *intervals, uint64_t address);

void symbols_intervals_free(struct symbols_intervals *intervals);

#endif
