/* SPDX-License-Identifier: MIT
 *
 * Pairs allocations with their ends.
 */
#include "config.h"

#include "replay/pair.h"

#include "replay/live.h"
#include "replay/merge.h"
#include "vector.h"

#include <stdlib.h>
#include <string.h>

struct pairing {
	struct replay_pairs *pairs;
	struct replay_world *world;
	struct fault *fault;
	struct replay_merge merge;
	struct replay_live live;
	double live_count, live_bytes; /* weighted */
	uint64_t *last;		       /* by thread: number of its last allocation + 1 */
	size_t stack_capacity, tie_capacity;
};

static inline uint32_t heap_of(uint32_t process, const struct read_event *event)
{
	return process * 2 + event->pool;
}

/* The block ends, now. */
static int end_block(struct pairing *pairing, struct replay_block *block, uint32_t process, uint32_t thread, enum replay_ended how)
{
	struct replay_pairs *pairs = pairing->pairs;
	double weight = replay_weight(&pairing->world->processes[process], block->size), bytes = weight * (double)block->size;
	int64_t now = pairing->merge.now;
	uint64_t serial = block->serial;
	bool temporary = how != REPLAY_REUSED && thread != READ_NO_THREAD && pairing->last[thread] == serial + 1;

	if (now == pairs->peak_time && serial <= pairs->peak_last) {
		if (!VECTOR_ROOM(pairs->peak_ties, pairing->tie_capacity, pairs->peak_tie_count))
			return fault_memory(pairing->fault);
		pairs->peak_ties[pairs->peak_tie_count++] = serial;
	}
	pairs->ends.ends[serial].packed = (uint64_t)now << 3 | (uint64_t)temporary << 2 | how;
	pairs->ends.ends[serial].thread = thread;
	pairing->live_count -= weight;
	pairing->live_bytes -= bytes;
	replay_timeline_free_block(&pairs->timeline, now, weight, bytes);
	replay_live_remove(&pairing->live, block);
	return 0;
}

/* An address is given out that is live here: its free is missing. It is late, if two threads' clocks disagree by a little, or lost. */
static int end_forgotten(struct pairing *pairing, struct replay_block *block, uint32_t process, uint32_t thread)
{
	uint8_t how = 0;
	int found = replay_merge_take_free(&pairing->merge, REPLAY_LATE_FREE_NS, &thread, &how, pairing->fault);

	if (found < 0)
		return -1;
	pairing->pairs->reused += !found;
	return end_block(pairing, block, process, thread, found ? (enum replay_ended)how : REPLAY_REUSED);
}

/* Marks for all nodes that there are by now. */
static bool grow_stacks(struct pairing *pairing)
{
	struct replay_pairs *pairs = pairing->pairs;
	size_t old = pairing->stack_capacity;
	void *grown = pairs->stacks;

	if (!vector_reserve(&grown, &pairing->stack_capacity, pairing->world->stacks.node_count, 1))
		return false;
	pairs->stacks = grown;
	memset(pairs->stacks + old, 0, pairing->stack_capacity - old);
	return true;
}

static inline bool note_stack(struct pairing *pairing, uint32_t stack)
{
	if (stack >= pairing->stack_capacity && !grow_stacks(pairing))
		return false;
	pairing->pairs->stacks[stack] = 1;
	return true;
}

static int begin_block(struct pairing *pairing, const struct read_event *event, uint32_t process)
{
	struct replay_pairs *pairs = pairing->pairs;
	uint32_t heap = heap_of(process, event);
	double weight = replay_weight(&pairing->world->processes[process], event->size), bytes = weight * (double)event->size;
	struct replay_block *old = replay_live_find(&pairing->live, heap, event->address);
	struct replay_entry entry = {.time = event->time,
				     .address = event->address,
				     .size = event->size,
				     .stack = event->stack,
				     .thread = event->thread,
				     .process = process,
				     .how = event->how};

	if (old && end_forgotten(pairing, old, process, event->thread))
		return -1;
	if (replay_ends_reserve(&pairs->ends, pairs->allocations + 1, pairing->fault) ||
	    replay_spool_add(&pairs->spool, &entry, pairing->fault))
		return -1;
	if (pairs->allocations >> REPLAY_SERIAL_BITS || !note_stack(pairing, event->stack) ||
	    !replay_live_add(&pairing->live, heap, event->address, pairs->allocations, event->size))
		return fault_memory(pairing->fault);
	pairs->ends.ends[pairs->allocations].packed = UINT64_MAX;
	pairs->ends.ends[pairs->allocations].thread = READ_NO_THREAD;
	pairing->live_count += weight;
	pairing->live_bytes += bytes;
	replay_timeline_alloc(&pairs->timeline, event->time, weight, bytes);
	if (pairing->live_bytes > pairs->peak_bytes || pairs->peak_time < 0) {
		pairs->peak_time = event->time;
		pairs->peak = pairing->live_count;
		pairs->peak_bytes = pairing->live_bytes;
		pairs->peak_last = pairs->allocations;
		pairs->peak_tie_count = 0;
	}
	pairs->allocations++;
	pairs->tallies[process].allocations++;
	if (event->thread != READ_NO_THREAD)
		pairing->last[event->thread] = pairs->allocations;
	return 0;
}

static inline void note_unmatched(struct replay_pairs *pairs, uint32_t process)
{
	pairs->unmatched_frees++;
	pairs->tallies[process].unmatched_frees++;
}

static int pair_events(struct pairing *pairing)
{
	struct read_event *event;
	uint32_t process;
	int more;

	while ((more = replay_merge_next(&pairing->merge, &event, &process, pairing->fault)) > 0) {
		int result = 0;

		if (event->kind == READ_ALLOC) {
			result = begin_block(pairing, event, process);
		} else {
			struct replay_block *block = replay_live_find(&pairing->live, heap_of(process, event), event->address);

			if (block)
				result = end_block(pairing, block, process, event->thread, (enum replay_ended)event->how);
			else
				note_unmatched(pairing->pairs, process);
		}
		if (result)
			return result;
	}
	return more;
}

static int ascending(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

int replay_pair(struct replay_pairs *pairs, struct replay_world *world, const char *neighbour, struct fault *fault)
{
	struct pairing pairing = {.pairs = pairs, .world = world, .fault = fault};
	int result;

	memset(pairs, 0, sizeof *pairs);
	pairs->peak_time = -1;
	pairs->ends.neighbour = neighbour;
	pairing.last = calloc((size_t)world->thread_count + 1, sizeof *pairing.last);
	pairs->tallies = calloc(world->count, sizeof *pairs->tallies);
	if (!pairing.last || !pairs->tallies || !replay_timeline_start(&pairs->timeline, world))
		result = fault_memory(fault);
	else
		result = replay_spool_start(&pairs->spool, neighbour, fault) || replay_merge_start(&pairing.merge, world, fault) ? -1 : 0;
	progress_begin(world->progress, "pairing", "events", world->events);
	if (!result)
		result = pair_events(&pairing);
	if (!result)
		result = replay_spool_turn(&pairs->spool, fault);
	if (!result && !grow_stacks(&pairing))
		result = fault_memory(fault);
	if (!result && pairs->peak_tie_count)
		qsort(pairs->peak_ties, pairs->peak_tie_count, sizeof *pairs->peak_ties, ascending);
	if (!result)
		replay_timeline_finish(&pairs->timeline, world);
	replay_merge_free(&pairing.merge);
	replay_live_free(&pairing.live);
	free(pairing.last);
	return result;
}

void replay_pairs_free(struct replay_pairs *pairs)
{
	replay_ends_free(&pairs->ends);
	replay_spool_free(&pairs->spool);
	free(pairs->stacks);
	free(pairs->peak_ties);
	free(pairs->tallies);
	replay_timeline_free(&pairs->timeline);
	memset(pairs, 0, sizeof *pairs);
}
