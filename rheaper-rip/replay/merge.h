/* SPDX-License-Identifier: MIT
 *
 * All events of all streams in the order of time. At the same instant frees come first: a block's address is free before it is given out
 * again.
 */
#ifndef REPLAY_MERGE_H
#define REPLAY_MERGE_H

#include "fault.h"
#include "read/events.h"
#include "replay/world.h"

#include <stddef.h>
#include <stdint.h>

struct replay_stream {
	struct read_events events;
	uint32_t process;
	struct replay_way way;
};

struct replay_merge {
	struct replay_stream **streams; /* all */
	size_t stream_count;
	struct replay_stream **heap; /* those that have events; the oldest first, in a binary heap */
	size_t count;
	uint64_t limit; /* the heap's first stream stays first up to this key */
	int64_t now;	/* time of the last event */
	bool given;	/* the first stream's first event was given out */
};

/* Starts at the beginning of the world's events. 0, or -1 with fault filled; to be freed in both cases. */
int replay_merge_start(struct replay_merge *merge, struct replay_world *world, struct fault *fault);
void replay_merge_free(struct replay_merge *merge);

/* The next event, valid until the next call. Times never go back: what a damaged log has too late is given the time of its neighbour.
 * 1, 0 at the end, -1 with fault filled. */
int replay_merge_next(struct replay_merge *merge, struct read_event **event, uint32_t *process, struct fault *fault);

/* Looks in the other streams of the last event's process, up to `within` ns ahead, for the free of its address that should have come before
 * it, and takes it out. 1 with *thread set to who freed it and *how to how; 0: none; -1 with fault filled. */
int replay_merge_take_free(struct replay_merge *merge, int64_t within, uint32_t *thread, uint8_t *how, struct fault *fault);

#endif
