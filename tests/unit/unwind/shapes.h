/* SPDX-License-Identifier: MIT
 *
 * Functions whose frames look different, each calling the next thing. Every shape comes unoptimized (frame pointer) and optimized (none).
 */
#ifndef TESTS_UNWIND_SHAPES_H
#define TESTS_UNWIND_SHAPES_H

typedef void (*callback)(void);

struct shape {
	const char *name;
	void (*call)(callback next);
};

extern const struct shape shapes[];
extern const unsigned shape_count;

/* A frame that aligned its stack and keeps the old stack pointer in memory: only gcc makes those. */
void shape_realigned(callback next);

/* `depth` calls deep through all shapes in turn, then next. */
void shape_mix(unsigned depth, callback next);

#endif
