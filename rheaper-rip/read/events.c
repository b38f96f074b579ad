/* SPDX-License-Identifier: MIT
 *
 * Turns records into events, usually a chunk at a time.
 */
#include "config.h"

#include "read/events.h"

#include <stdlib.h>
#include <string.h>

/* Events decoded at once. A chunk of the library's has fewer; a larger one, which only a foreign hand makes, is read in parts. */
#define BATCH 16384

static inline bool is_pool_call(uint8_t call)
{
	return call == RH_CALL_POOL || call == RH_CALL_POOL_REALLOC;
}

static inline int64_t event_time(struct read_events *events, uint64_t ticks)
{
	int64_t time = read_clock_time(&events->profile->clock, ticks, &events->clock_hint) + events->offset;

	return time < 0 ? 0 : time;
}

/* Puts an event where its time belongs among those to come: behind all that are not later. */
static void insert(struct read_events *events, const struct read_event *event)
{
	size_t at = events->count++;

	for (; at > events->head && events->events[at - 1].time > event->time; at--)
		events->events[at] = events->events[at - 1];
	events->events[at] = *event;
}

static int take_record(struct read_events *events, const struct read_record *record, struct fault *fault)
{
	struct read_event event = {.thread = events->thread, .time = event_time(events, record->ticks)};

	if (record->kind == RH_RECORD_REALLOC) {
		/* More than the whole past would be a forgery; the clock's zero is the limit. */
		uint64_t begin = record->duration < record->ticks ? record->ticks - record->duration : 0;
		struct read_event end = {.thread = events->thread,
					 .time = event_time(events, begin),
					 .address = record->old,
					 .kind = READ_FREE,
					 .how = 1,
					 .pool = is_pool_call(record->argument)};

		insert(events, &end);
	}
	event.address = record->address;
	if (record->kind == RH_RECORD_FREE) {
		event.kind = READ_FREE;
		event.how = record->argument == RH_FREE_REALLOC || record->argument == RH_FREE_POOL_REALLOC;
		event.pool = record->argument == RH_FREE_POOL || record->argument == RH_FREE_POOL_REALLOC;
	} else {
		event.kind = READ_ALLOC;
		event.how = record->argument;
		event.pool = is_pool_call(record->argument);
		event.size = record->size;
		event.stack = events->take_stack(events->context, events->cursor, event.time);
		if (event.stack == UINT32_MAX)
			return fault_memory(fault);
		events->cursor->keep = events->cursor->depth;
	}
	insert(events, &event);
	return 0;
}

/* Makes the next chunk the present one; 0 when there is none. */
static int open_chunk(struct read_events *events, struct fault *fault)
{
	const struct read_chunks *chunks = &events->profile->chunks;
	const struct read_chunk *chunk;
	const uint8_t *records;

	if (events->next_chunk == events->stream->count) {
		free(events->buffer);
		free(events->cursor);
		events->buffer = NULL;
		events->cursor = NULL;
		events->buffer_capacity = 0;
		return 0;
	}
	if (!events->cursor && !(events->cursor = malloc(sizeof *events->cursor)))
		return fault_memory(fault);
	chunk = &chunks->chunks[events->stream->first + events->next_chunk++];
	records = read_chunk_records(chunks, chunk, &events->buffer, &events->buffer_capacity, fault);
	if (!records)
		return -1;
	read_cursor_start(events->cursor, records, chunk->length, chunk->head.ticks);
	events->reading = true;
	return 1;
}

int read_events_more(struct read_events *events, struct fault *fault)
{
	size_t left = events->count - events->head, limit = left + BATCH;
	struct read_record record;
	int more;

	if (limit + 2 > events->capacity) {
		struct read_event *grown = realloc(events->events, (limit + 2) * sizeof *grown);

		if (!grown)
			return fault_memory(fault);
		events->events = grown;
		events->capacity = limit + 2;
	}
	memmove(events->events, events->events + events->head, left * sizeof *events->events);
	events->head = 0;
	events->count = left;
	while (events->count == left) {
		if (!events->reading && (more = open_chunk(events, fault)) <= 0)
			return more;
		while (events->count < limit) {
			more = read_record_next(events->cursor, &record);
			if (more <= 0) { /* damage cannot be: the survey cut it off; a file that changed since ends here */
				events->reading = false;
				break;
			}
			if (record.kind != RH_RECORD_CONTROL) {
				if (take_record(events, &record, fault))
					return -1;
			} else if (record.argument == RH_CONTROL_THREAD) {
				const struct read_thread *thread = read_profile_thread(events->profile, record.field[0]);

				events->thread = thread ? events->first_thread + thread->index : READ_NO_THREAD;
			}
		}
	}
	progress_add(events->progress, events->count - left);
	return 1;
}

void read_events_free(struct read_events *events)
{
	free(events->events);
	free(events->cursor);
	free(events->buffer);
	events->events = NULL;
	events->cursor = NULL;
	events->buffer = NULL;
	events->head = events->count = events->capacity = 0;
}
