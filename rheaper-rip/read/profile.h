/* SPDX-License-Identifier: MIT
 *
 * One profile directory: its manifest, its chunks, and all that its control records say. Events are read later, stream by stream
 * (read/events.h).
 */
#ifndef READ_PROFILE_H
#define READ_PROFILE_H

#include "fault.h"
#include "progress.h"
#include "read/chunks.h"
#include "read/clock.h"
#include "read/manifest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define READ_NO_THREAD UINT32_MAX

/* Times below are nanoseconds since the start of this profile. */

struct read_thread {
	uint64_t serial;
	uint64_t tid;
	char *name;	     /* the last one it had; NULL if it never had one */
	int64_t first, last; /* of its events and marks; first > last if it has none */
	uint64_t lost[RH_LOSSES];
	uint32_t index; /* in order of appearance, stream by stream */
};

struct read_mark {
	int64_t time;
	uint32_t thread; /* index */
	char *name;
};

struct read_rss {
	int64_t time;
	uint64_t bytes;
};

/* A MODULE or UNLOAD record. */
struct read_module {
	int64_t time;
	bool unload; /* then only start is filled */
	uint64_t base, start, end;
	char *path;
	uint8_t *build_id;
	size_t build_id_size;
};

struct read_profile {
	char *directory;
	struct read_manifest manifest;
	struct read_chunks chunks;
	struct read_clock clock;

	uint64_t events;   /* records other than control records; a realloc is one */
	uint64_t kinds[8]; /* all records, by enum rh_record */
	uint64_t gaps;	 /* events that are missing between chunks and that no one counted as lost */
	int64_t end;	 /* time of the end of tracking or of the process if the log tells, else of the last record */
	bool rate_known; /* false: a tsc clock without a second pair; all times are 0 */

	struct read_thread **threads; /* by index */
	size_t thread_count, thread_capacity;
	void *thread_tree; /* the same by serial, tsearch(3) */
	struct read_mark *marks;
	size_t mark_count, mark_capacity;
	struct read_rss *rss; /* by time */
	size_t rss_count, rss_capacity;
	struct read_module *modules; /* by time, an unloading before a loading */
	size_t module_count, module_capacity;
};

/* Opens `directory` and reads everything but the events, which are counted to progress (may be NULL). 0, or -1 with fault filled; to be
 * closed in both cases. */
int read_profile_read(struct read_profile *profile, const char *directory, struct progress *progress, struct fault *fault);
static inline int read_profile_open(struct read_profile *profile, const char *directory, struct fault *fault)
{
	return read_profile_read(profile, directory, NULL, fault);
}
void read_profile_close(struct read_profile *profile);

/* The thread with that serial, or NULL. */
struct read_thread *read_profile_thread(const struct read_profile *profile, uint64_t serial);

/* Something is missing from its log: a chunk was damaged or cut, or the rings are gone. */
bool read_profile_truncated(const struct read_profile *profile);

#endif
