/* SPDX-License-Identifier: MIT
 *
 * Writes what it adds up to: callsites, timeline, sizes, lifetimes.
 */
#include "config.h"

#include "store/tables.h"

#define NS_PER_MS 1e6

static int put_callsites(struct store *store, const struct replay_rows *rows)
{
	sqlite3_stmt *statement = store_prepare(store, "INSERT INTO callsites VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
	int result = 0;

	for (size_t i = 0; i < rows->names->backtrace_count && !result; i++) {
		const struct replay_site *site = &rows->sites[i];

		result = store_put(store, statement, site->lifetimes ? "iqqqqqqqqrrr" : "iqqqqqqqqnnn", (int64_t)i + 1, site->allocations,
				   site->bytes, site->live, site->live_bytes, site->peak, site->peak_bytes, site->temporary,
				   site->temporary_bytes, (double)site->lifetime_min / NS_PER_MS,
				   site->lifetimes ? site->lifetime_sum / site->lifetimes / NS_PER_MS : 0.0,
				   (double)site->lifetime_max / NS_PER_MS);
	}
	sqlite3_finalize(statement);
	return result;
}

static int put_timeline(struct store *store, const struct replay_timeline *timeline)
{
	sqlite3_stmt *statement = store_prepare(store, "INSERT INTO timeline VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
	int result = 0;

	for (size_t i = 0; i < timeline->count && !result; i++) {
		const struct replay_step *step = &timeline->steps[i];

		result = store_put(store, statement, step->rss_known ? "rqqqqqqi" : "rqqqqqqn", (double)step->time / NS_PER_MS, step->live,
				   step->live_bytes, step->allocated, step->allocated_bytes, step->freed, step->freed_bytes,
				   (int64_t)step->rss_bytes);
	}
	sqlite3_finalize(statement);
	return result;
}

/* The classes between the first and the last that hold anything: [*first, *end). */
static void used_classes(const struct replay_class *classes, int count, int *first, int *end)
{
	for (*first = 0; *first < count && !classes[*first].allocations; ++*first)
		;
	for (*end = count; *end > *first && !classes[*end - 1].allocations; --*end)
		;
}

static int put_sizes(struct store *store, const struct replay_class *classes)
{
	sqlite3_stmt *statement = store_prepare(store, "INSERT INTO sizes VALUES(?, ?, ?, ?)");
	int result = 0, i, end;

	for (used_classes(classes, REPLAY_SIZE_CLASSES, &i, &end); i < end && !result; i++) {
		uint64_t from = i ? UINT64_C(1) << (i - 1) : 0, to = i ? from + (from - 1) : 0;

		result = store_put(store, statement, "iiqq", (int64_t)(from > INT64_MAX ? INT64_MAX : from),
				   (int64_t)(to > INT64_MAX ? INT64_MAX : to), classes[i].allocations, classes[i].bytes);
	}
	sqlite3_finalize(statement);
	return result;
}

static int put_lifetimes(struct store *store, const struct replay_class *classes)
{
	static const double limits[] = {0, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13};
	sqlite3_stmt *statement = store_prepare(store, "INSERT INTO lifetimes VALUES(?, ?, ?, ?)");
	int result = 0, i, end;

	_Static_assert(sizeof limits / sizeof *limits == REPLAY_LIFETIME_CLASSES + 1, "one more limit than classes");
	for (used_classes(classes, REPLAY_LIFETIME_CLASSES, &i, &end); i < end && !result; i++)
		result = store_put(store, statement, "rrqq", limits[i], limits[i + 1], classes[i].allocations, classes[i].bytes);
	sqlite3_finalize(statement);
	return result;
}

int store_sums(struct store *store, const struct replay_rows *rows)
{
	return put_callsites(store, rows) || put_timeline(store, &rows->pairs->timeline) || put_sizes(store, rows->sizes) ||
		       put_lifetimes(store, rows->lifetimes)
		   ? -1
		   : 0;
}
