/* SPDX-License-Identifier: MIT
 *
 * Rows and their sums.
 */
#include "config.h"

#include "replay/rows.h"

#include <stdlib.h>
#include <string.h>

#define PROGRESS_ROWS 4096 /* are counted at once */

int replay_rows_start(struct replay_rows *rows, const struct replay_world *world, struct replay_pairs *pairs,
		      const struct replay_names *names, struct fault *fault)
{
	memset(rows, 0, sizeof *rows);
	rows->world = world;
	rows->pairs = pairs;
	rows->names = names;
	rows->sites = calloc(names->backtrace_count + 1, sizeof *rows->sites);
	if (!rows->sites)
		return fault_memory(fault);
	progress_begin(world->progress, "writing", "rows", pairs->allocations);
	return 0;
}

void replay_rows_free(struct replay_rows *rows)
{
	free(rows->sites);
	memset(rows, 0, sizeof *rows);
}

static unsigned size_class(uint64_t size)
{
	return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

static unsigned lifetime_class(int64_t ns)
{
	unsigned class = 0;

	for (ns /= 1000; ns && class < REPLAY_LIFETIME_CLASSES - 1; ns /= 10)
		class ++;
	return class;
}

static bool live_at_peak(struct replay_rows *rows, uint64_t number, const struct replay_end *end)
{
	const struct replay_pairs *pairs = rows->pairs;

	if (number > pairs->peak_last)
		return false;
	if (replay_end_how(end) == REPLAY_LIVE || replay_end_time(end) > pairs->peak_time)
		return true;
	if (rows->next_tie < pairs->peak_tie_count && pairs->peak_ties[rows->next_tie] == number) {
		rows->next_tie++;
		return true;
	}
	return false;
}

static void add_class(struct replay_class *class, double weight, double bytes)
{
	class->allocations += weight;
	class->bytes += bytes;
}

static void add_to_sums(struct replay_rows *rows, const struct replay_row *row, const struct replay_end *end)
{
	struct replay_site *site = &rows->sites[row->bt - 1];
	double weight = row->weight, bytes = weight * (double)row->size;

	site->allocations += weight;
	site->bytes += bytes;
	add_class(&rows->sizes[size_class(row->size)], weight, bytes);
	if (live_at_peak(rows, rows->next, end)) {
		site->peak += weight;
		site->peak_bytes += bytes;
	}
	if (row->ended == REPLAY_LIVE) {
		site->live += weight;
		site->live_bytes += bytes;
	} else if (row->ended != REPLAY_REUSED) {
		int64_t lifetime = row->dealloc - row->alloc;

		if (!site->lifetimes || lifetime < site->lifetime_min)
			site->lifetime_min = lifetime;
		if (!site->lifetimes || lifetime > site->lifetime_max)
			site->lifetime_max = lifetime;
		site->lifetime_sum += weight * (double)lifetime;
		site->lifetimes += weight;
		add_class(&rows->lifetimes[lifetime_class(lifetime)], weight, bytes);
	}
	if (replay_end_temporary(end)) {
		site->temporary += weight;
		site->temporary_bytes += bytes;
	}
}

int replay_rows_next(struct replay_rows *rows, struct replay_row *row, struct fault *fault)
{
	const struct replay_entry *entry = &rows->pairs->spool.last;
	int more = replay_spool_next(&rows->pairs->spool, fault);
	const struct replay_end *end;

	if (more <= 0)
		return more;
	end = &rows->pairs->ends.ends[rows->next];
	row->alloc = entry->time;
	row->ended = replay_end_how(end);
	row->dealloc = row->ended == REPLAY_LIVE ? 0 : replay_end_time(end);
	row->bt = rows->names->bt[entry->stack];
	row->size = entry->size;
	row->address = entry->address;
	row->alloc_thread = entry->thread;
	row->dealloc_thread = end->thread;
	row->process = entry->process;
	row->call = rows->names->call[entry->stack] == REPLAY_SAME_CALL ? entry->how : rows->names->call[entry->stack];
	row->weight = replay_weight(&rows->world->processes[entry->process], row->size);
	add_to_sums(rows, row, end);
	if (++rows->next % PROGRESS_ROWS == 0)
		progress_add(rows->world->progress, PROGRESS_ROWS);
	return 1;
}
