/* SPDX-License-Identifier: MIT
 *
 * SQLite takes the rows out of a virtual table with one INSERT ... SELECT: half the cost of binding and stepping row by row.
 * (https://www.sqlite.org/vtab.html)
 */
#include "config.h"

#include "store/allocations.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_MS 1e6

/* What a connection to the virtual table, and its one cursor, need. */
struct source {
	struct store *store;
	struct replay_rows *rows;
};

struct table {
	sqlite3_vtab base;
	struct source *source;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct source *source;
	struct replay_row row;
	sqlite3_int64 number;
	bool done;
};

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **made, char **message)
{
	struct table *table;

	(void)argc, (void)argv, (void)message;
	if (sqlite3_declare_vtab(db, "CREATE TABLE source(alloc_after, dealloc_after, bt, size, addr, alloc_thread, dealloc_thread, "
				     "process, call, ended, weight)") != SQLITE_OK)
		return SQLITE_ERROR;
	table = calloc(1, sizeof *table);
	if (!table)
		return SQLITE_NOMEM;
	table->source = context;
	*made = &table->base;
	return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	info->estimatedCost = 1;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **made)
{
	struct cursor *cursor = calloc(1, sizeof *cursor);

	if (!cursor)
		return SQLITE_NOMEM;
	cursor->source = ((struct table *)base)->source;
	*made = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
	free(cursor);
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	int more = replay_rows_next(cursor->source->rows, &cursor->row, cursor->source->store->fault);

	cursor->done = more <= 0;
	cursor->number++;
	return more < 0 ? SQLITE_ERROR : SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int index, const char *name, int argc, sqlite3_value **argv)
{
	(void)index, (void)name, (void)argc, (void)argv;
	return next(base);
}

static int is_done(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->done;
}

static void give_thread(sqlite3_context *result, uint32_t thread)
{
	if (thread == READ_NO_THREAD)
		sqlite3_result_null(result);
	else
		sqlite3_result_int64(result, (sqlite3_int64)thread + 1);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *result, int number)
{
	const struct replay_row *row = &((struct cursor *)base)->row;

	switch (number) {
	case 0:
		sqlite3_result_double(result, (double)row->alloc / NS_PER_MS);
		break;
	case 1:
		if (row->ended != REPLAY_LIVE)
			sqlite3_result_double(result, (double)row->dealloc / NS_PER_MS);
		break;
	case 2:
		sqlite3_result_int64(result, row->bt);
		break;
	case 3:
		sqlite3_result_int64(result, row->size > INT64_MAX ? INT64_MAX : (sqlite3_int64)row->size);
		break;
	case 4:
		sqlite3_result_int64(result, (sqlite3_int64)row->address);
		break;
	case 5:
		give_thread(result, row->alloc_thread);
		break;
	case 6:
		if (row->ended != REPLAY_LIVE)
			give_thread(result, row->dealloc_thread);
		break;
	case 7:
		sqlite3_result_int64(result, (sqlite3_int64)row->process + 1);
		break;
	case 8:
		sqlite3_result_int(result, row->call);
		break;
	case 9:
		if (row->ended != REPLAY_LIVE)
			sqlite3_result_int(result, (int)row->ended);
		break;
	case 10:
		if (row->weight == 1) /* the cheapest of all values */
			sqlite3_result_int(result, 1);
		else
			sqlite3_result_double(result, row->weight);
		break;
	}
	return SQLITE_OK;
}

static int row_number(sqlite3_vtab_cursor *base, sqlite3_int64 *number)
{
	*number = ((struct cursor *)base)->number;
	return SQLITE_OK;
}

static const sqlite3_module module = {.xCreate = connect,
				      .xConnect = connect,
				      .xBestIndex = best_index,
				      .xDisconnect = disconnect,
				      .xDestroy = disconnect,
				      .xOpen = open_cursor,
				      .xClose = close_cursor,
				      .xFilter = filter,
				      .xNext = next,
				      .xEof = is_done,
				      .xColumn = column,
				      .xRowid = row_number};

int store_allocations(struct store *store, struct replay_rows *rows)
{
	struct source source = {store, rows};

	if (sqlite3_create_module(store->db, "rheaper_rows", &module, &source) != SQLITE_OK)
		return store_failed(store);
	return store_run(store, "CREATE VIRTUAL TABLE temp.source USING rheaper_rows") ||
		       store_run(store, "INSERT INTO main.allocations SELECT * FROM temp.source") ||
		       store_run(store, "DROP TABLE temp.source")
		   ? -1
		   : 0;
}
