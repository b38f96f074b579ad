/* SPDX-License-Identifier: MIT
 *
 * Writes who was profiled and how: metadata, calls, processes, threads, marks, losses.
 */
#include "config.h"

#include "store/tables.h"

#include "log/format.h"
#include "replay/lives.h"
#include "store/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_MS 1e6

/* Keys of the manifest that have their own column in processes, or are told otherwise. */
static const char *const told[] = {"parent_profile",
				   "process_start",
				   "pid",
				   "parent",
				   "host",
				   "boot_id",
				   "exe",
				   "cmdline",
				   "frontend",
				   "backend",
				   "sample_rate",
				   "sample_interval",
				   "start_ticks",
				   "start_monotonic",
				   "start_realtime",
				   "ended",
				   "end_ticks",
				   "end_monotonic"};

static bool is_told(const char *key)
{
	for (size_t i = 0; i < sizeof told / sizeof *told; i++)
		if (!strcmp(told[i], key))
			return true;
	return false;
}

/* The other lines of the manifests. The first process's stand under their own names, as far as those are free; else ".<process>" follows.
 */
static int put_manifest(struct store *store, const struct replay_world *world)
{
	sqlite3_stmt *plain = store_prepare(store, "INSERT OR IGNORE INTO metadata VALUES(?1, ?2)");
	sqlite3_stmt *numbered = store_prepare(store, "INSERT OR IGNORE INTO metadata VALUES(?1 || '.' || ?3, ?2)");
	int result = plain && numbered ? 0 : -1;

	for (size_t i = 0; i < world->count; i++) {
		const struct read_manifest *manifest = &world->processes[i].profile.manifest;

		for (size_t k = 0; k < manifest->count && !result; k++) {
			const struct read_manifest_line *line = &manifest->lines[k];

			if (is_told(line->key))
				continue;
			if (i == 0)
				result = store_put(store, plain, "tt", line->key, line->value);
			if (!result && (i || !sqlite3_changes(store->db)))
				result = store_put(store, numbered, "tti", line->key, line->value, (int64_t)i + 1);
		}
	}
	sqlite3_finalize(plain);
	sqlite3_finalize(numbered);
	return result;
}

static int put_metadata(struct store *store, const struct replay_world *world, const struct replay_pairs *pairs)
{
	sqlite3_stmt *statement = store_prepare(store, "INSERT INTO metadata VALUES(?, ?)");
	int result;

	result = store_put(store, statement, "ti", "schema_version", (int64_t)STORE_SCHEMA_VERSION) ||
		 store_put(store, statement, "tt", "rheaper_rip_version", STORE_RIP_VERSION) ||
		 store_put(store, statement, "ti", "events", (int64_t)world->events) ||
		 store_put(store, statement, "ti", "allocations", (int64_t)pairs->allocations) ||
		 store_put(store, statement, "ti", "unmatched_frees", (int64_t)pairs->unmatched_frees) ||
		 store_put(store, statement, "ti", "reuse_closures", (int64_t)pairs->reused) ||
		 store_put(store, statement, "ti", "sampled", (int64_t)world->sampled);
	if (!result && pairs->peak_time >= 0)
		result = store_put(store, statement, "tr", "peak_after", (double)pairs->peak_time / NS_PER_MS) ||
			 store_put(store, statement, "tq", "peak_allocations", pairs->peak) ||
			 store_put(store, statement, "tq", "peak_bytes", pairs->peak_bytes);
	sqlite3_finalize(statement);
	return result ? -1 : put_manifest(store, world);
}

static int put_calls(struct store *store)
{
	static const char *const names[] = RH_CALL_NAMES;
	sqlite3_stmt *statement = store_prepare(store, "INSERT INTO calls VALUES(?, ?)");
	int result = 0;

	for (int i = 0; i < RH_CALLS && !result; i++)
		result = store_put(store, statement, "it", (int64_t)i, names[i]);
	sqlite3_finalize(statement);
	return result;
}

static int put_processes(struct store *store, const struct replay_world *world, const struct replay_pairs *pairs)
{
	sqlite3_stmt *statement = store_prepare(store, "INSERT INTO processes VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
	int result = 0;

	for (size_t i = 0; i < world->count && !result; i++) {
		const struct replay_process *process = &world->processes[i];
		const struct read_profile *profile = &process->profile;
		const struct read_manifest *manifest = &profile->manifest;
		char *cmdline = read_manifest_words(manifest, "cmdline");

		result = store_put(
		    store, statement, process->parent ? "iiittttrrtttriiii" : "iiittttrrtttriizi", (int64_t)i + 1,
		    (int64_t)read_manifest_number(manifest, "pid", 0), (int64_t)read_manifest_number(manifest, "parent", 0),
		    read_manifest_text(manifest, "host"), read_manifest_text(manifest, "boot_id"), read_manifest_text(manifest, "exe"),
		    cmdline, (double)read_manifest_number(manifest, "start_realtime", 0) / NS_PER_MS, (double)profile->end / NS_PER_MS,
		    replay_life_word(process->ended), read_manifest_text(manifest, "frontend"), read_manifest_text(manifest, "backend"),
		    read_manifest_real(manifest, "sample_rate", 1), (int64_t)read_manifest_number(manifest, "sample_interval", 0),
		    (int64_t)read_profile_truncated(profile), process->parent ? process->parent - world->processes + 1 : (int64_t)0,
		    (int64_t)pairs->tallies[i].unmatched_frees);
		free(cmdline);
	}
	sqlite3_finalize(statement);
	return result;
}

static int put_threads(struct store *store, const struct replay_world *world)
{
	sqlite3_stmt *statement = store_prepare(store, "INSERT INTO threads VALUES(?, ?, ?, ?, ?, ?)");
	int result = 0;

	for (uint32_t i = 0; i < world->thread_count && !result; i++) {
		uint32_t process = 0;
		const struct read_thread *thread = replay_world_thread(world, i, &process);
		int64_t offset = world->processes[process].offset;
		bool seen = thread->first <= thread->last;

		result = store_put(store, statement, seen ? "iiitrr" : "iiitnn", (int64_t)i + 1, (int64_t)process + 1, (int64_t)thread->tid,
				   thread->name, (double)(thread->first + offset) / NS_PER_MS, (double)(thread->last + offset) / NS_PER_MS);
	}
	sqlite3_finalize(statement);
	return result;
}

static int mark_order(const void *left, const void *right)
{
	const struct read_mark *a = *(const struct read_mark *const *)left, *b = *(const struct read_mark *const *)right;

	return a->time < b->time ? -1 : a->time > b->time ? 1 : a < b ? -1 : a > b;
}

static int put_marks(struct store *store, const struct replay_process *process, int64_t id)
{
	const struct read_profile *profile = &process->profile;
	const struct read_mark **sorted = malloc((profile->mark_count + 1) * sizeof *sorted);
	sqlite3_stmt *statement = store_prepare(store, "INSERT INTO marks VALUES(?, ?, ?, ?)");
	int result = 0;

	if (!sorted)
		result = fault_memory(store->fault);
	for (size_t i = 0; i < profile->mark_count && !result; i++)
		sorted[i] = &profile->marks[i];
	if (!result && profile->mark_count)
		qsort(sorted, profile->mark_count, sizeof *sorted, mark_order);
	for (size_t i = 0; i < profile->mark_count && !result; i++)
		result = store_put(store, statement, "riit", (double)(sorted[i]->time + process->offset) / NS_PER_MS, id,
				   (int64_t)process->first_thread + sorted[i]->thread + 1, sorted[i]->name);
	sqlite3_finalize(statement);
	free(sorted);
	return result;
}

/* A thread's own losses by name; those of slots, of the slab and of gaps belong to no thread. */
static int put_losses(struct store *store, const struct replay_process *process, int64_t id)
{
	static const char *const names[RH_LOSSES] = RH_LOSS_NAMES;
	const struct read_profile *profile = &process->profile;
	sqlite3_stmt *statement = store_prepare(store, "INSERT INTO losses VALUES(?, ?, ?, ?)");
	int result = statement ? 0 : -1;

	for (int kind = 0; kind < RH_LOSSES && !result; kind++) {
		const char *name = names[kind] ? names[kind] : "unknown";
		uint64_t unowned = profile->chunks.lost[kind] + (kind == RH_LOSS_WRITE ? profile->gaps : 0);

		for (size_t i = 0; i < profile->thread_count && !result; i++) {
			const struct read_thread *thread = profile->threads[i];

			if (thread->lost[kind])
				result = store_put(store, statement, "iiti", id, (int64_t)process->first_thread + thread->index + 1, name,
						   (int64_t)thread->lost[kind]);
		}
		for (size_t i = 0; i < profile->chunks.stream_count; i++)
			unowned += profile->chunks.streams[i].lost[kind];
		if (unowned && !result)
			result = store_put(store, statement, "inti", id, name, (int64_t)unowned);
	}
	sqlite3_finalize(statement);
	return result;
}

int store_world(struct store *store, const struct replay_world *world, const struct replay_pairs *pairs)
{
	int result =
	    put_metadata(store, world, pairs) || put_calls(store) || put_processes(store, world, pairs) || put_threads(store, world) ? -1
																     : 0;

	for (size_t i = 0; i < world->count && !result; i++)
		result = put_marks(store, &world->processes[i], (int64_t)i + 1) || put_losses(store, &world->processes[i], (int64_t)i + 1)
			     ? -1
			     : 0;
	return result;
}
