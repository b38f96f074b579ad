/* SPDX-License-Identifier: MIT
 *
 * The timeline.
 */
#include "config.h"

#include "replay/timeline.h"

#include <stdlib.h>
#include <string.h>

bool replay_timeline_start(struct replay_timeline *timeline, const struct replay_world *world)
{
	memset(timeline, 0, sizeof *timeline);
	timeline->length = world->end / REPLAY_STEPS + 1;
	timeline->count = (size_t)(world->end / timeline->length) + 1;
	timeline->steps = calloc(timeline->count, sizeof *timeline->steps);
	if (!timeline->steps)
		return false;
	for (size_t i = 0; i < timeline->count; i++)
		timeline->steps[i].time = i + 1 < timeline->count ? (int64_t)(i + 1) * timeline->length : world->end;
	return true;
}

void replay_timeline_free(struct replay_timeline *timeline)
{
	free(timeline->steps);
	memset(timeline, 0, sizeof *timeline);
}

static void add_rss(struct replay_timeline *timeline, const struct replay_process *process)
{
	const struct read_profile *profile = &process->profile;
	size_t next = 0;
	bool known = false;
	uint64_t bytes = 0;

	for (size_t i = 0; i < timeline->count; i++) {
		struct replay_step *step = &timeline->steps[i];

		for (; next < profile->rss_count && profile->rss[next].time + process->offset <= step->time; next++) {
			bytes = profile->rss[next].bytes;
			known = true;
		}
		if (!known || (i && timeline->steps[i - 1].time >= process->offset + profile->end))
			continue; /* not begun, or over before this step began */
		step->rss_known = true;
		step->rss_bytes += bytes;
	}
}

void replay_timeline_finish(struct replay_timeline *timeline, const struct replay_world *world)
{
	double live = 0, live_bytes = 0;

	for (size_t i = 0; i < timeline->count; i++) {
		struct replay_step *step = &timeline->steps[i];

		step->live = live += step->allocated - step->freed;
		step->live_bytes = live_bytes += step->allocated_bytes - step->freed_bytes;
	}
	for (size_t i = 0; i < world->count; i++)
		add_rss(timeline, &world->processes[i]);
}
