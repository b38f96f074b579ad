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

static inline uint64_t node_hash(const struct replay_node *node)
{
	return hash(node->frame, node->parent);
}

static inline uint64_t frame_hash(const struct replay_frame *frame)
{
	return hash(frame->pc, frame->module);
}

static uint64_t hash_of(const struct replay_stacks *stacks, const struct replay_set *set, uint32_t number)
{
	return set == &stacks->node_set ? node_hash(&stacks->nodes[number]) : frame_hash(&stacks->frames[number]);
}

static bool grow(const struct replay_stacks *stacks, struct replay_set *set)
{
	size_t mask = set->mask ? set->mask * 2 + 1 : FIRST_SLOTS - 1;
	uint32_t *slots = calloc(mask + 1, sizeof *slots);

	if (!slots)
		return false;
	for (size_t i = 0; set->slots && i <= set->mask; i++) {
		size_t at;

		if (!set->slots[i])
			continue;
		for (at = hash_of(stacks, set, set->slots[i] - 1) & mask; slots[at]; at = (at + 1) & mask)
			;
		slots[at] = set->slots[i];
	}
	free(set->slots);
	set->slots = slots;
	set->mask = mask;
	return true;
}

static bool has_room(const struct replay_stacks *stacks, struct replay_set *set)
{
	return set->count < UINT32_MAX - 2 && ((set->slots && set->count * 4 < set->mask * 3) || grow(stacks, set));
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
	free(stacks->node_set.slots);
	free(stacks->frame_set.slots);
	memset(stacks, 0, sizeof *stacks);
}

static uint32_t intern_frame(struct replay_stacks *stacks, const struct replay_frame *frame)
{
	struct replay_set *set = &stacks->frame_set;
	size_t at;

	if (!has_room(stacks, set))
		return UINT32_MAX;
	for (at = frame_hash(frame) & set->mask; set->slots[at]; at = (at + 1) & set->mask) {
		const struct replay_frame *other = &stacks->frames[set->slots[at] - 1];

		if (other->pc == frame->pc && other->module == frame->module)
			return set->slots[at] - 1;
	}
	if (!VECTOR_ROOM(stacks->frames, stacks->frame_capacity, stacks->frame_count))
		return UINT32_MAX;
	stacks->frames[stacks->frame_count++] = *frame;
	set->slots[at] = (uint32_t)stacks->frame_count;
	return (uint32_t)set->count++;
}

static uint32_t intern_node(struct replay_stacks *stacks, uint32_t parent, uint32_t frame)
{
	struct replay_node node = {parent, frame};
	struct replay_set *set = &stacks->node_set;
	size_t at;

	if (!has_room(stacks, set))
		return UINT32_MAX;
	for (at = node_hash(&node) & set->mask; set->slots[at]; at = (at + 1) & set->mask) {
		const struct replay_node *other = &stacks->nodes[set->slots[at] - 1];

		if (other->parent == parent && other->frame == frame)
			return set->slots[at] - 1;
	}
	if (!VECTOR_ROOM(stacks->nodes, stacks->node_capacity, stacks->node_count))
		return UINT32_MAX;
	stacks->nodes[stacks->node_count++] = node;
	set->slots[at] = (uint32_t)stacks->node_count;
	set->count++;
	return (uint32_t)stacks->node_count - 1;
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
	return node;
}
