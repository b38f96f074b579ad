/* SPDX-License-Identifier: MIT
 *
 * Writes profile directories by hand, in the real format: what the tests of the analyser read. An encoder of its own, written from
 * log/format.h alone, so that a mistake of the library's is not repeated here. Any failure aborts the test program.
 */
#ifndef TESTS_LOG_MAKER_H
#define TESTS_LOG_MAKER_H

#include "log/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct maker;	     /* a profile that is being made */
struct maker_stream; /* one slot of it */

/* A directory in which to make it, new and empty; its path stays valid until the process ends. */
char *maker_directory(void);
/* Removes a directory and all in it. */
void maker_remove(const char *directory);

/* A profile in `directory`/`name`, clock=monotonic, started at 0 ns, with a manifest that is complete and says nothing of an end. */
struct maker *maker_new(const char *directory, const char *name);
const char *maker_path(const struct maker *maker);
/* A line of the manifest, escaped already; value NULL takes the line out. */
void maker_set(struct maker *maker, const char *key, const char *value);
/* Stream number `slot`, and the thread that it begins with. */
struct maker_stream *maker_stream(struct maker *maker, uint32_t slot, uint64_t serial, uint64_t tid);
/* Losses that the slot counts, and the slab. */
void maker_slot_lost(struct maker_stream *stream, enum rh_loss kind, uint64_t count);
void maker_slab_lost(struct maker *maker, enum rh_loss kind, uint64_t count);
/* What the slab says of the end. */
void maker_ended(struct maker *maker, uint32_t ended, uint64_t ticks);
/* Writes rings and manifest, frees everything. Open chunks stay in the rings. */
void maker_finish(struct maker *maker);

/* Records. Times are ticks and must not decrease within a stream; stacks are innermost first. */
#define MAKER_STACK(...) (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)
void maker_thread(struct maker_stream *stream, uint64_t serial, uint64_t tid);
void maker_alloc(struct maker_stream *stream, uint64_t time, enum rh_call call, uint64_t address, uint64_t size, const uint64_t *stack,
		 size_t depth);
void maker_free(struct maker_stream *stream, uint64_t time, enum rh_free how, uint64_t address);
void maker_realloc(struct maker_stream *stream, uint64_t time, uint64_t duration, enum rh_call call, uint64_t old, uint64_t address,
		   uint64_t size, const uint64_t *stack, size_t depth);
void maker_name(struct maker_stream *stream, const char *name);
void maker_mark(struct maker_stream *stream, uint64_t time, const char *name);
void maker_loss(struct maker_stream *stream, enum rh_loss kind, uint64_t count);
void maker_rss(struct maker_stream *stream, uint64_t time, uint64_t bytes);
void maker_module(struct maker_stream *stream, uint64_t time, uint64_t base, uint64_t start, uint64_t end, const char *path,
		  const char *build_id);
void maker_unload(struct maker_stream *stream, uint64_t time, uint64_t start);
void maker_sync(struct maker_stream *stream, uint64_t time, uint64_t monotonic);

/* Closes the chunk, appends it to the stream's log and opens the next, which begins at the last time. */
void maker_flush(struct maker_stream *stream);
/* The same, to log-spill. */
void maker_spill(struct maker_stream *stream);
/* A kill between write and reset: the chunk is in the log, and still in the rings. The stream is done with. */
void maker_flush_killed(struct maker_stream *stream);
/* The chunk could not be written: its events are lost, and counted in first_event. */
void maker_lose(struct maker_stream *stream);
/* Bytes of records in the open chunk. */
size_t maker_length(const struct maker_stream *stream);
/* CLOCK_MONOTONIC at the start of the next chunk, where it is not the ticks. */
void maker_monotonic(struct maker_stream *stream, uint64_t monotonic);

#endif
