/* SPDX-License-Identifier: MIT
 *
 * A k-way merge. The oldest stream is kept while it is the oldest: threads allocate in bursts, so most events cost one comparison.
 */
#include "config.h"

#include "replay/merge.h"

#include <stdlib.h>
#include <string.h>

static inline struct read_event *head_of(const struct replay_stream *stream)
{
	return &stream->events.events[stream->events.head];
}

static inline uint64_t key_of(const struct replay_stream *stream)
{
	const struct read_event *event = head_of(stream);

	return (uint64_t)event->time * 2 + (event->kind == READ_ALLOC);
}

/* Makes sure that the stream has an event at its head. 1, 0 at its end, -1 on failure. */
static int fill(struct replay_stream *stream, struct fault *fault)
{
	int more;

	if (stream->events.head < stream->events.count)
		return 1;
	more = read_events_more(&stream->events, fault);
	if (!more)
		read_events_free(&stream->events);
	return more;
}

static void sift_down(struct replay_merge *merge, size_t at)
{
	struct replay_stream *moving = merge->heap[at];
	uint64_t key = key_of(moving);

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= merge->count)
			break;
		if (child + 1 < merge->count && key_of(merge->heap[child + 1]) < key_of(merge->heap[child]))
			child++;
		if (key_of(merge->heap[child]) >= key)
			break;
		merge->heap[at] = merge->heap[child];
		at = child;
	}
	merge->heap[at] = moving;
}

static void settle_first(struct replay_merge *merge)
{
	merge->limit = UINT64_MAX;
	if (!merge->count)
		return;
	sift_down(merge, 0);
	for (size_t child = 1; child < merge->count && child < 3; child++)
		if (key_of(merge->heap[child]) < merge->limit)
			merge->limit = key_of(merge->heap[child]);
}

/* Frames that a backtrace may have. A manifest that does not say limits nothing. */
static uint32_t max_depth(const struct read_manifest *manifest)
{
	uint64_t depth = read_manifest_number(manifest, "max_stack_depth", 0);

	return depth && depth < READ_STACK_MAX ? (uint32_t)depth : READ_STACK_MAX;
}

static int add_stream(struct replay_merge *merge, struct replay_world *world, uint32_t number, const struct read_chunk_stream *chunks,
		      struct fault *fault)
{
	struct replay_process *process = &world->processes[number];
	struct replay_stream *stream = calloc(1, sizeof *stream);
	int more;

	if (!stream)
		return fault_memory(fault);
	merge->streams[merge->stream_count++] = stream;
	stream->process = number;
	stream->way.stacks = &world->stacks;
	stream->way.modules = &process->modules;
	stream->way.cache = &process->cache;
	stream->way.max_depth = max_depth(&process->profile.manifest);
	stream->events.profile = &process->profile;
	stream->events.stream = chunks;
	stream->events.offset = process->offset;
	stream->events.first_thread = process->first_thread;
	stream->events.take_stack = replay_stack_take;
	stream->events.context = &stream->way;
	stream->events.progress = world->progress;
	more = fill(stream, fault);
	if (more > 0)
		merge->heap[merge->count++] = stream;
	return more < 0 ? -1 : 0;
}

int replay_merge_start(struct replay_merge *merge, struct replay_world *world, struct fault *fault)
{
	size_t total = 0;

	memset(merge, 0, sizeof *merge);
	for (size_t i = 0; i < world->count; i++)
		total += world->processes[i].profile.chunks.stream_count;
	merge->streams = calloc(total + 1, sizeof *merge->streams);
	merge->heap = calloc(total + 1, sizeof *merge->heap);
	if (!merge->streams || !merge->heap)
		return fault_memory(fault);
	for (size_t i = 0; i < world->count; i++) {
		const struct read_chunks *chunks = &world->processes[i].profile.chunks;

		for (size_t k = 0; k < chunks->stream_count; k++)
			if (add_stream(merge, world, (uint32_t)i, &chunks->streams[k], fault))
				return -1;
	}
	for (size_t i = merge->count / 2; i-- > 0;)
		sift_down(merge, i);
	settle_first(merge);
	return 0;
}

void replay_merge_free(struct replay_merge *merge)
{
	for (size_t i = 0; i < merge->stream_count; i++) {
		read_events_free(&merge->streams[i]->events);
		free(merge->streams[i]);
	}
	free(merge->streams);
	free(merge->heap);
	memset(merge, 0, sizeof *merge);
}

int replay_merge_next(struct replay_merge *merge, struct read_event **event, uint32_t *process, struct fault *fault)
{
	while (merge->count) {
		struct replay_stream *first = merge->heap[0];

		if (merge->given) {
			int more;

			merge->given = false;
			first->events.head++;
			more = fill(first, fault);
			if (more < 0)
				return -1;
			if (!more) {
				merge->heap[0] = merge->heap[--merge->count];
				settle_first(merge);
				continue;
			}
			if (key_of(first) > merge->limit) {
				settle_first(merge);
				first = merge->heap[0];
			}
		}
		merge->given = true;
		*event = head_of(first);
		if ((*event)->time < merge->now)
			(*event)->time = merge->now;
		merge->now = (*event)->time;
		if ((*event)->kind == READ_TAKEN) /* after it told the time: both ways through must see the same times */
			continue;
		*process = first->process;
		return 1;
	}
	return 0;
}

/* No honest log has as many events of one thread within the microseconds that are looked at: bounds what a forged one costs. */
#define AHEAD_MAX 4096

/* The first event in a stream, not later than `until`, that concerns the address; *at is its index. Reads on as far as needed. */
static int first_about(struct replay_stream *stream, const struct read_event *about, int64_t until, size_t *at, struct fault *fault)
{
	struct read_events *events = &stream->events;

	for (size_t ahead = 0; ahead < AHEAD_MAX; ahead++) {
		const struct read_event *event;

		if (events->head + ahead == events->count) {
			int more = read_events_more(events, fault);

			if (more <= 0)
				return more;
		}
		event = &events->events[events->head + ahead];
		if (event->time > until)
			return 0;
		if (event->kind != READ_TAKEN && event->address == about->address && event->pool == about->pool) {
			*at = ahead;
			return 1;
		}
	}
	return 0;
}

int replay_merge_take_free(struct replay_merge *merge, int64_t within, uint32_t *thread, uint8_t *how, struct fault *fault)
{
	struct read_event about = *head_of(merge->heap[0]), *best = NULL;

	for (size_t i = 1; i < merge->count; i++) {
		struct replay_stream *stream = merge->heap[i];
		struct read_event *event;
		size_t ahead;
		int found;

		if (stream->process != merge->heap[0]->process)
			continue;
		found = first_about(stream, &about, about.time + within, &ahead, fault);
		if (found < 0)
			return -1;
		event = found ? &stream->events.events[stream->events.head + ahead] : NULL;
		if (event && event->kind == READ_FREE && (!best || event->time < best->time))
			best = event;
	}
	if (!best)
		return 0;
	*thread = best->thread;
	*how = best->how;
	best->kind = READ_TAKEN;
	return 1;
}
