/* SPDX-License-Identifier: MIT
 *
 * Interns frames and stacks.
 */
#include "config.h"

#include "replay/stacks.h"

#include "vector.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 1024
#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t hash(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * UINT64_C(0xd6e8feb86659fd93)) * MULTIPLIER;

	return h ^ h >> 32;
}

static inline uint64_t frame_hash(const struct replay_frame *frame)
{
	return hash(frame->pc, frame->module);
}

static inline bool has_room(size_t count, size_t mask)
{
	return mask && count * 4 < mask * 3;
}

static inline size_t grown_mask(size_t mask)
{
	return mask ? mask * 2 + 1 : FIRST_SLOTS - 1;
}

static bool grow_edges(struct replay_stacks *stacks)
{
	size_t mask = grown_mask(stacks->edge_mask);
	struct replay_edge *edges = calloc(mask + 1, sizeof *edges);

	if (!edges)
		return false;
	for (uint32_t node = 1; node < stacks->node_count; node++) {
		struct replay_edge edge = {stacks->nodes[node].parent, stacks->nodes[node].frame, node};
		size_t at;

		for (at = hash(edge.frame, edge.parent) & mask; edges[at].node; at = (at + 1) & mask)
			;
		edges[at] = edge;
	}
	free(stacks->edges);
	stacks->edges = edges;
	stacks->edge_mask = mask;
	return true;
}

static bool grow_frames(struct replay_stacks *stacks)
{
	size_t mask = grown_mask(stacks->frame_mask);
	uint32_t *slots = calloc(mask + 1, sizeof *slots);

	if (!slots)
		return false;
	for (uint32_t frame = 0; frame < stacks->frame_count; frame++) {
		size_t at;

		for (at = frame_hash(&stacks->frames[frame]) & mask; slots[at]; at = (at + 1) & mask)
			;
		slots[at] = frame + 1;
	}
	free(stacks->frame_slots);
	stacks->frame_slots = slots;
	stacks->frame_mask = mask;
	return true;
}

bool replay_stacks_init(struct replay_stacks *stacks)
{
	memset(stacks, 0, sizeof *stacks);
	if (!VECTOR_ROOM(stacks->nodes, stacks->node_capacity, stacks->node_count))
		return false;
	stacks->nodes[stacks->node_count++] = (struct replay_node){REPLAY_ROOT, 0};
	return true;
}

void replay_stacks_free(struct replay_stacks *stacks)
{
	free(stacks->nodes);
	free(stacks->frames);
	free(stacks->edges);
	free(stacks->frame_slots);
	memset(stacks, 0, sizeof *stacks);
}

/* The number of a frame, or UINT32_MAX when memory is out. */
static uint32_t intern_frame(struct replay_stacks *stacks, const struct replay_frame *frame)
{
	size_t at;

	if (!has_room(stacks->frame_count, stacks->frame_mask) && (stacks->frame_count >= UINT32_MAX - 2 || !grow_frames(stacks)))
		return UINT32_MAX;
	for (at = frame_hash(frame) & stacks->frame_mask; stacks->frame_slots[at]; at = (at + 1) & stacks->frame_mask) {
		const struct replay_frame *other = &stacks->frames[stacks->frame_slots[at] - 1];

		if (other->pc == frame->pc && other->module == frame->module)
			return stacks->frame_slots[at] - 1;
	}
	if (!VECTOR_ROOM(stacks->frames, stacks->frame_capacity, stacks->frame_count))
		return UINT32_MAX;
	stacks->frames[stacks->frame_count++] = *frame;
	stacks->frame_slots[at] = (uint32_t)stacks->frame_count;
	return (uint32_t)stacks->frame_count - 1;
}

/* The number of a node, or UINT32_MAX when memory is out. */
static inline uint32_t intern_node(struct replay_stacks *stacks, uint32_t parent, uint32_t frame)
{
	size_t at;

	if (!has_room(stacks->node_count, stacks->edge_mask) && (stacks->node_count >= UINT32_MAX - 2 || !grow_edges(stacks)))
		return UINT32_MAX;
	for (at = hash(frame, parent) & stacks->edge_mask; stacks->edges[at].node; at = (at + 1) & stacks->edge_mask)
		if (stacks->edges[at].parent == parent && stacks->edges[at].frame == frame)
			return stacks->edges[at].node;
	if (!VECTOR_ROOM(stacks->nodes, stacks->node_capacity, stacks->node_count))
		return UINT32_MAX;
	stacks->nodes[stacks->node_count] = (struct replay_node){parent, frame};
	stacks->edges[at] = (struct replay_edge){parent, frame, (uint32_t)stacks->node_count};
	return (uint32_t)stacks->node_count++;
}

/* The frame of a pc in an epoch; narrows the epochs for which the way holds to those for which the answer does. */
static uint32_t frame_at(struct replay_way *way, uint64_t pc, uint32_t epoch)
{
	size_t index = (pc * MULTIPLIER) >> (64 - REPLAY_CACHE_BITS);
	struct replay_frame frame = {.pc = pc};
	uint32_t until;

	if (way->cache->entries[index].pc != pc || epoch >= way->cache->entries[index].until_epoch ||
	    epoch < way->cache->entries[index].from_epoch) {
		/* A return address may lie behind the last instruction of its function, even of its module. */
		uint64_t address = pc & RH_PC_EXACT ? pc & ~RH_PC_EXACT : pc - 1;
		uint32_t number;

		frame.module = replay_modules_at(way->modules, address, epoch, &until);
		number = intern_frame(way->stacks, &frame);
		if (number == UINT32_MAX)
			return number;
		way->cache->entries[index].pc = pc;
		way->cache->entries[index].frame = number;
		way->cache->entries[index].from_epoch = epoch;
		way->cache->entries[index].until_epoch = until;
	}
	if (way->cache->entries[index].from_epoch > way->from_epoch)
		way->from_epoch = way->cache->entries[index].from_epoch;
	if (way->cache->entries[index].until_epoch < way->until_epoch)
		way->until_epoch = way->cache->entries[index].until_epoch;
	return way->cache->entries[index].frame;
}

/* The node of the innermost max_depth frames of the way's stack, whose node is `whole`. */
static uint32_t cut(struct replay_way *way, uint32_t whole)
{
	size_t index = (whole * MULTIPLIER) >> (64 - REPLAY_CUTS_BITS);
	uint32_t node = REPLAY_ROOT;

	if (way->cuts[index].whole == whole)
		return way->cuts[index].cut;
	for (uint32_t i = way->depth - way->max_depth; i < way->depth && node != UINT32_MAX; i++)
		node = intern_node(way->stacks, node, way->stacks->nodes[way->nodes[i]].frame);
	if (node != UINT32_MAX) {
		way->cuts[index].whole = whole;
		way->cuts[index].cut = node;
	}
	return node;
}

uint32_t replay_stack_take(void *context, const struct read_cursor *cursor, int64_t time)
{
	struct replay_way *way = context;
	uint32_t epoch = replay_modules_epoch(way->modules, time, &way->epoch_hint);
	uint32_t kept = cursor->keep < way->depth ? cursor->keep : way->depth, node;

	/* After a change of the modules under it, the same pc may mean another function. */
	if (epoch < way->from_epoch || epoch >= way->until_epoch)
		kept = 0;
	if (!kept) {
		way->from_epoch = 0;
		way->until_epoch = UINT32_MAX;
	}
	node = kept ? way->nodes[kept - 1] : REPLAY_ROOT;
	for (uint32_t i = kept; i < cursor->depth; i++) {
		uint32_t frame = frame_at(way, cursor->pcs[i], epoch);

		node = frame == UINT32_MAX ? UINT32_MAX : intern_node(way->stacks, node, frame);
		if (node == UINT32_MAX)
			return node;
		way->nodes[i] = node;
	}
	way->depth = cursor->depth;
	return way->depth > way->max_depth ? cut(way, node) : node;
}
