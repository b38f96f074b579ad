/* SPDX-License-Identifier: MIT
 *
 * The virtual table. Its one cursor goes forward once.
 */
#include "config.h"

#include "store/source.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct table {
	sqlite3_vtab base;
	const struct store_source *source;
};

struct cursor {
	sqlite3_vtab_cursor base;
	const struct store_source *source;
	sqlite3_int64 number;
	bool done;
};

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **made, char **message)
{
	const struct store_source *source = context;
	struct table *table;
	char *sql;
	int result;

	(void)argc, (void)argv, (void)message;
	sql = sqlite3_mprintf("CREATE TABLE source(%s)", source->columns);
	result = sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
	sqlite3_free(sql);
	if (result != SQLITE_OK)
		return result;
	table = calloc(1, sizeof *table);
	if (!table)
		return SQLITE_NOMEM;
	table->source = source;
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
	int more = cursor->source->next(cursor->source->context);

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

static int column(sqlite3_vtab_cursor *base, sqlite3_context *result, int number)
{
	const struct store_source *source = ((struct cursor *)base)->source;

	source->column(source->context, result, number);
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

int store_fill(struct store *store, const char *table, const struct store_source *source)
{
	char *insert;
	int result;

	if (asprintf(&insert, "INSERT INTO main.%s SELECT %s FROM temp.source", table, source->select ? source->select : "*") < 0)
		return fault_memory(store->fault);
	if (sqlite3_create_module(store->db, "rheaper_source", &module, (void *)source) != SQLITE_OK)
		result = store_failed(store);
	else
		result = store_run(store, "CREATE VIRTUAL TABLE temp.source USING rheaper_source") || store_run(store, insert) ||
				 store_run(store, "DROP TABLE temp.source")
			     ? -1
			     : 0;
	free(insert);
	return result;
}
