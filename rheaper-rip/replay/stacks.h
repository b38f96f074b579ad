/* SPDX-License-Identifier: MIT
 *
 * Every stack once: a tree whose edges are frames, outermost first, so that a stack is one number, its innermost node, and dropping the
 * innermost frame is going to the parent. Numbers are dense. A frame is a pc in one stay of one module: the same pc after a library
 * was replaced is another frame.
 */
#ifndef REPLAY_STACKS_H
#define REPLAY_STACKS_H

#include "read/record.h"
#include "replay/modules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLAY_ROOT 0 /* the node of the empty stack */

struct replay_frame {
	uint64_t pc;	 /* with RH_PC_EXACT where that holds */
	uint32_t module; /* over all processes, or REPLAY_NO_MODULE */
};

struct replay_node {
	uint32_t parent, frame;
};

/* A slot of the table that finds a node by its parent and frame: the key stands in it, so that a look-up costs one miss of the cache. */
struct replay_edge {
	uint32_t parent, frame;
	uint32_t node; /* 0, which is no one's child: the slot is free */
};

struct replay_stacks {
	struct replay_node *nodes; /* [0] is the root */
	size_t node_count, node_capacity;
	struct replay_frame *frames;
	size_t frame_count, frame_capacity;
	struct replay_edge *edges; /* open addressing */
	size_t edge_mask;
	uint32_t *frame_slots; /* open addressing: number of a frame + 1; 0: free */
	size_t frame_mask;
	uint32_t *leaps; /* a cache: the node of a whole stack, by a hash of its frames */
};

#define REPLAY_LEAP_BITS 17

bool replay_stacks_init(struct replay_stacks *stacks); /* false when memory is out; to be freed in both cases */
void replay_stacks_free(struct replay_stacks *stacks);

#define REPLAY_CUTS_BITS 10

/* The way from one stream's pcs to nodes: what it was at the last allocation. */
struct replay_way {
	struct replay_stacks *stacks;
	const struct replay_process_modules *modules;
	struct replay_frame_cache *cache; /* shared by the streams of a process */
	uint32_t epoch_hint;
	uint32_t max_depth;		  /* of what is given out: a log may hold more, at the outer end */
	uint32_t from_epoch, until_epoch; /* the nodes below, and the cursor's numbers (frames + 1), hold for these epochs */
	struct {
		uint32_t whole, cut; /* empty while whole is 0 */
	} cuts[1 << REPLAY_CUTS_BITS];
	uint32_t depth;
	uint32_t nodes[READ_STACK_MAX];
	uint32_t frames[READ_STACK_MAX];
	uint64_t sums[READ_STACK_MAX]; /* a hash of all frames up to here */
};

/* What each pc of a process last meant: open addressing. Zeroed: empty. */
struct replay_frame_cache {
	struct replay_meaning {
		uint64_t pc;
		uint32_t frame, from_epoch, until_epoch; /* an empty slot while until_epoch is 0 */
	} *meanings;
	size_t count, mask;
};
void replay_frame_cache_free(struct replay_frame_cache *cache);

/* A read_stack_taker (read/events.h): context is a struct replay_way. */
uint32_t replay_stack_take(void *context, struct read_cursor *cursor, int64_t time);

#endif
