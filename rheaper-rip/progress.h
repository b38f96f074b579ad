/* SPDX-License-Identifier: MIT
 *
 * How far the work has come, for someone who waits. Whoever works counts; whoever shows decides how it looks.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct progress {
	void (*show)(const struct progress *progress); /* called a few times a second */
	const char *phase, *unit;		       /* what is done, and what is counted meanwhile */
	uint64_t done, total;			       /* total 0: unknown */
	int64_t began, now, next;		       /* CLOCK_MONOTONIC, ns: of this phase; of the next call of show */
};

#define PROGRESS_INTERVAL_NS 200000000

static inline int64_t progress_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A phase begins. progress may be NULL: no one looks. */
static inline void progress_begin(struct progress *progress, const char *phase, const char *unit, uint64_t total)
{
	if (!progress)
		return;
	progress->phase = phase;
	progress->unit = unit;
	progress->done = 0;
	progress->total = total;
	progress->began = progress_now();
	progress->next = progress->began + PROGRESS_INTERVAL_NS;
}

/* `count` more are done. Reads the clock: not for every single event. */
static inline void progress_add(struct progress *progress, uint64_t count)
{
	if (!progress)
		return;
	progress->done += count;
	progress->now = progress_now();
	if (progress->now < progress->next)
		return;
	progress->next = progress->now + PROGRESS_INTERVAL_NS;
	progress->show(progress);
}

#endif
