/* SPDX-License-Identifier: MIT
 *
 * The totals over time, in about a thousand steps of equal length.
 */
#ifndef REPLAY_TIMELINE_H
#define REPLAY_TIMELINE_H

#include "replay/world.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLAY_STEPS 1000

struct replay_step {
	int64_t time;					       /* the step's end; it begins where the one before it ends */
	double live, live_bytes;			       /* at the end of the step */
	double allocated, allocated_bytes, freed, freed_bytes; /* within the step */
	bool rss_known;
	uint64_t rss_bytes; /* last known, summed over the processes that had begun and not ended */
};

struct replay_timeline {
	struct replay_step *steps;
	size_t count;
	int64_t length; /* ns a step */
};

/* Makes the steps of a world's time. false when memory is out; to be freed in both cases. */
bool replay_timeline_start(struct replay_timeline *timeline, const struct replay_world *world);
void replay_timeline_free(struct replay_timeline *timeline);

/* Books an allocation or a free. */
static inline struct replay_step *replay_timeline_step(struct replay_timeline *timeline, int64_t time)
{
	size_t index = (size_t)(time / timeline->length);

	return &timeline->steps[index < timeline->count ? index : timeline->count - 1];
}

static inline void replay_timeline_alloc(struct replay_timeline *timeline, int64_t time, double weight, double bytes)
{
	struct replay_step *step = replay_timeline_step(timeline, time);

	step->allocated += weight;
	step->allocated_bytes += bytes;
}

static inline void replay_timeline_free_block(struct replay_timeline *timeline, int64_t time, double weight, double bytes)
{
	struct replay_step *step = replay_timeline_step(timeline, time);

	step->freed += weight;
	step->freed_bytes += bytes;
}

/* After the last event: sums up what is live, and fills in the resident sets. */
void replay_timeline_finish(struct replay_timeline *timeline, const struct replay_world *world);

#endif
