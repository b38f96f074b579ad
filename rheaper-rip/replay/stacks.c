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
	stacks->leaps = calloc((size_t)1 << REPLAY_LEAP_BITS, sizeof *stacks->leaps);
	if (!stacks->leaps || !VECTOR_ROOM(stacks->nodes, stacks->node_capacity, stacks->node_count))
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
	free(stacks->leaps);
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

/* The slot of a pc; an empty one is to be filled. */
static inline struct replay_meaning *slot_of(const struct replay_frame_cache *cache, uint64_t pc)
{
	size_t at = (pc * MULTIPLIER >> 32) & cache->mask;

	while (cache->meanings[at].until_epoch && cache->meanings[at].pc != pc)
		at = (at + 1) & cache->mask;
	return &cache->meanings[at];
}

static bool grow_cache(struct replay_frame_cache *cache)
{
	struct replay_frame_cache grown = {.count = cache->count, .mask = grown_mask(cache->mask)};

	grown.meanings = calloc(grown.mask + 1, sizeof *grown.meanings);
	if (!grown.meanings)
		return false;
	for (size_t i = 0; cache->meanings && i <= cache->mask; i++)
		if (cache->meanings[i].until_epoch)
			*slot_of(&grown, cache->meanings[i].pc) = cache->meanings[i];
	free(cache->meanings);
	*cache = grown;
	return true;
}

void replay_frame_cache_free(struct replay_frame_cache *cache)
{
	free(cache->meanings);
	memset(cache, 0, sizeof *cache);
}

/* The frame of a pc in an epoch, UINT32_MAX when memory is out; narrows the epochs for which the way holds to those for which the answer
 * does. */
static uint32_t frame_at(struct replay_way *way, uint64_t pc, uint32_t epoch)
{
	struct replay_frame_cache *cache = way->cache;
	struct replay_meaning *meaning;

	if (cache->count * 2 >= cache->mask && !grow_cache(cache))
		return UINT32_MAX;
	meaning = slot_of(cache, pc);
	if (epoch >= meaning->until_epoch || epoch < meaning->from_epoch) {
		/* A return address may lie behind the last instruction of its function, even of its module. */
		uint64_t address = pc & RH_PC_EXACT ? pc & ~RH_PC_EXACT : pc - 1;
		struct replay_frame frame = {.pc = pc};
		uint32_t until, number;

		frame.module = replay_modules_at(way->modules, address, epoch, &until);
		number = intern_frame(way->stacks, &frame);
		if (number == UINT32_MAX)
			return number;
		cache->count += !meaning->until_epoch;
		*meaning = (struct replay_meaning){pc, number, epoch, until};
	}
	if (meaning->from_epoch > way->from_epoch)
		way->from_epoch = meaning->from_epoch;
	if (meaning->until_epoch < way->until_epoch)
		way->until_epoch = meaning->until_epoch;
	return meaning->frame;
}

/* The number of the cursor's frame at `at`, UINT32_MAX when memory is out. */
static inline uint32_t number_of(struct replay_way *way, struct read_cursor *cursor, uint32_t at, uint32_t epoch)
{
	uint32_t *number = &cursor->numbers[cursor->slots[at]], frame;

	if (cursor->dictionary[cursor->slots[at]] != cursor->pcs[at]) /* that entry is another's by now */
		return frame_at(way, cursor->pcs[at], epoch);
	if (*number)
		return *number - 1;
	frame = frame_at(way, cursor->pcs[at], epoch);
	*number = frame + 1;
	return frame;
}

/* Numbers and sums of the frames from `from` on. false when memory is out. */
static inline bool number_frames(struct replay_way *way, struct read_cursor *cursor, uint32_t from, uint32_t epoch)
{
	uint64_t sum = from ? way->sums[from - 1] : 0;

	for (uint32_t i = from; i < cursor->depth; i++) {
		way->frames[i] = number_of(way, cursor, i, epoch);
		if (way->frames[i] == UINT32_MAX)
			return false;
		way->sums[i] = sum = hash(sum, way->frames[i]);
	}
	return true;
}

/* Whether `node` is where the frames [from, depth) on the node `base` lead; then the way's nodes are filled in. The nodes of a stack were
 * mostly made at once and lie side by side, so that this costs one miss of the cache where finding each by its edge costs many. */
static inline bool leads_to(struct replay_way *way, uint32_t base, uint32_t from, uint32_t depth, uint32_t node)
{
	const struct replay_node *nodes = way->stacks->nodes;

	for (uint32_t i = depth; i-- > from; node = nodes[node].parent) {
		if (node == REPLAY_ROOT || nodes[node].frame != way->frames[i])
			return false;
		way->nodes[i] = node;
	}
	return node == base;
}

/* The node of the innermost max_depth frames of the way's stack, whose node is `whole`. */
static uint32_t cut(struct replay_way *way, uint32_t whole)
{
	size_t index = (whole * MULTIPLIER) >> (64 - REPLAY_CUTS_BITS);
	uint32_t node = REPLAY_ROOT;

	if (way->cuts[index].whole == whole)
		return way->cuts[index].cut;
	for (uint32_t i = way->depth - way->max_depth; i < way->depth && node != UINT32_MAX; i++)
		node = intern_node(way->stacks, node, way->frames[i]);
	if (node != UINT32_MAX) {
		way->cuts[index].whole = whole;
		way->cuts[index].cut = node;
	}
	return node;
}

/* The node of the whole stack of the cursor, which becomes the way's. */
static uint32_t take_whole(struct replay_way *way, struct read_cursor *cursor, int64_t time)
{
	uint32_t epoch = replay_modules_epoch(way->modules, time, &way->epoch_hint);
	uint32_t kept = cursor->keep < way->depth ? cursor->keep : way->depth, node, *leap;

	/* After a change of the modules under it, the same pc may mean another function. */
	if (epoch < way->from_epoch || epoch >= way->until_epoch) {
		kept = 0;
		way->from_epoch = 0;
		way->until_epoch = UINT32_MAX;
		memset(cursor->numbers, 0, sizeof cursor->numbers);
	}
	node = kept ? way->nodes[kept - 1] : REPLAY_ROOT;
	way->depth = kept;
	if (!number_frames(way, cursor, kept, epoch))
		return UINT32_MAX;
	if (kept == cursor->depth)
		return node;
	leap = &way->stacks->leaps[way->sums[cursor->depth - 1] >> (64 - REPLAY_LEAP_BITS)];
	way->depth = cursor->depth;
	if (leads_to(way, node, kept, cursor->depth, *leap))
		return *leap;
	for (uint32_t i = kept; i < cursor->depth; i++) {
		node = intern_node(way->stacks, node, way->frames[i]);
		if (node == UINT32_MAX)
			return node;
		way->nodes[i] = node;
	}
	*leap = node;
	return node;
}

uint32_t replay_stack_take(void *context, struct read_cursor *cursor, int64_t time)
{
	struct replay_way *way = context;
	uint32_t node = take_whole(way, cursor, time);

	return node != UINT32_MAX && way->depth > way->max_depth ? cut(way, node) : node;
}
