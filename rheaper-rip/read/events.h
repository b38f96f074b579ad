/* SPDX-License-Identifier: MIT
 *
 * The events of one stream in the order of their times, read ahead in batches. A realloc comes as two events: the end of its old block
 * and the beginning of its new one.
 */
#ifndef READ_EVENTS_H
#define READ_EVENTS_H

#include "fault.h"
#include "read/profile.h"
#include "read/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum read_kind { READ_FREE, READ_ALLOC, READ_TAKEN /* dealt with already, to be passed over */ };

struct read_event {
	int64_t time; /* ns since the start of the earliest profile; not negative */
	uint64_t address;
	uint64_t size;	 /* bytes; of an allocation */
	uint32_t stack;	 /* what the stack_taker gave; of an allocation */
	uint32_t thread; /* read_thread.index + first_thread */
	uint8_t kind;	 /* enum read_kind */
	uint8_t how;	 /* enum rh_call of an allocation; of a free 0, or 1 when a realloc ended the block */
	bool pool;	 /* in the domain of rheaper_report_* */
};

/* Told about the stack of each allocation: its frames are cursor->pcs, of which the cursor->keep outermost are the same as last time, and may use
 * cursor->numbers.
 * Returns the number to put into the event, or UINT32_MAX when memory is out. */
typedef uint32_t read_stack_taker(void *context, struct read_cursor *cursor, int64_t time);

struct read_events {
	const struct read_profile *profile;
	const struct read_chunk_stream *stream;
	int64_t offset;	       /* ns from the start of the earliest profile to that of this one */
	uint32_t first_thread; /* number of this profile's thread 0 */
	read_stack_taker *take_stack;
	void *context;
	struct progress *progress; /* may be NULL; events are counted when they are read ahead */

	struct read_event *events; /* head <= i < count are to come */
	size_t head, count, capacity;

	size_t next_chunk; /* index in the stream */
	bool reading;	   /* in the middle of a chunk */
	struct read_cursor *cursor;
	uint8_t *buffer;
	size_t buffer_capacity;
	uint32_t thread;
	size_t clock_hint;
};

/* Every field that is not private (before `events`) is the caller's to fill; the rest is zero. */

/* Reads on: appends at least one event behind those that are still to come (which move). 1, 0 at the end of the stream, -1 with fault
 * filled. */
int read_events_more(struct read_events *events, struct fault *fault);
void read_events_free(struct read_events *events);

#endif
