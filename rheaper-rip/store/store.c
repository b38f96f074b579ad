/* SPDX-License-Identifier: MIT
 *
 * Opens, fills and closes the database.
 */
#include "config.h"

#include "store/store.h"

#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* schema.sql, as string literals; made at build time. */
static const char schema[] =
#include "store/schema.inc"
    ;

#define EXACT_MAX 9007199254740992.0 /* 2^53: a double holds all integers up to here */

int store_failed(struct store *store)
{
	int code = store->db ? sqlite3_errcode(store->db) : SQLITE_NOMEM, error = 0;

	if (code == SQLITE_FULL)
		error = ENOSPC;
	else if (code == SQLITE_CANTOPEN)
		error = sqlite3_system_errno(store->db);
	else if (code == SQLITE_IOERR) /* the file's own memory of it: what followed has overwritten errno */
		sqlite3_file_control(store->db, "main", SQLITE_FCNTL_LAST_ERRNO, &error);
	if (!store->db)
		return fault_memory(store->fault);
	return fault_set(store->fault, store->name, FAULT_NOWHERE, "%s", error ? strerror(error) : sqlite3_errmsg(store->db));
}

int store_run(struct store *store, const char *sql)
{
	return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : store_failed(store);
}

int store_open(struct store *store, const char *path, const char *name, struct fault *fault)
{
	static bool configured;
	char *plain;
	int result;

	memset(store, 0, sizeof *store);
	store->name = name;
	store->fault = fault;
	if (!configured) { /* one thread, and no one asks how much memory SQLite has: a few percent each */
		sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
		sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
		configured = true;
	}
	/* "./" keeps SQLite from taking a name for a URI or for a database in memory. */
	if (asprintf(&plain, "%s%s", path[0] == '/' ? "" : "./", path) < 0)
		return fault_memory(fault);
	result = sqlite3_open_v2(plain, &store->db, SQLITE_OPEN_READWRITE, NULL);
	free(plain);
	if (result != SQLITE_OK)
		return store_failed(store);
	if (store_run(store, "PRAGMA page_size = 32768") || store_run(store, "PRAGMA locking_mode = exclusive") ||
	    store_run(store, "PRAGMA journal_mode = off") || store_run(store, "PRAGMA synchronous = off") ||
	    store_run(store, "PRAGMA secure_delete = off") || store_run(store, schema) ||
	    store_run(store, "ATTACH ':memory:' AS " STORE_IMAGE_SCHEMA))
		return -1;
	return store_run(store, "BEGIN");
}

int store_commit(struct store *store)
{
	return store_run(store, "COMMIT");
}

void store_close(struct store *store)
{
	sqlite3_close(store->db);
	store->db = NULL;
}

sqlite3_stmt *store_prepare(struct store *store, const char *sql)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK)
		store_failed(store);
	return statement;
}

static int bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	size_t size;
	char *fit;

	if (!text)
		return sqlite3_bind_null(statement, at);
	size = strlen(text);
	if (text_is_fit(text, size))
		return sqlite3_bind_text64(statement, at, text, size, SQLITE_STATIC, SQLITE_UTF8);
	fit = text_fit(text, size);
	return fit ? sqlite3_bind_text64(statement, at, fit, strlen(fit), free, SQLITE_UTF8) : SQLITE_NOMEM;
}

static int bind(sqlite3_stmt *statement, int at, char how, va_list *list)
{
	double real;

	switch (how) {
	case 'i':
		return sqlite3_bind_int64(statement, at, va_arg(*list, int64_t));
	case 'r':
		return sqlite3_bind_double(statement, at, va_arg(*list, double));
	case 'q':
		real = va_arg(*list, double);
		if (fabs(real) <= EXACT_MAX && real == trunc(real))
			return sqlite3_bind_int64(statement, at, (int64_t)real);
		return sqlite3_bind_double(statement, at, real);
	case 't':
		return bind_text(statement, at, va_arg(*list, const char *));
	case 'x':
		(void)va_arg(*list, double);
		return sqlite3_bind_null(statement, at);
	case 'z':
		(void)va_arg(*list, int64_t);
		return sqlite3_bind_null(statement, at);
	default:
		return sqlite3_bind_null(statement, at);
	}
}

int store_put(struct store *store, sqlite3_stmt *statement, const char *format, ...)
{
	int result = SQLITE_OK, at = 1;
	va_list list;

	if (!statement)
		return -1;
	va_start(list, format);
	for (; *format && result == SQLITE_OK; format++)
		result = bind(statement, at++, *format, &list);
	va_end(list);
	if (result == SQLITE_NOMEM)
		fault_memory(store->fault);
	if (result == SQLITE_OK)
		result = sqlite3_step(statement) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
	if (result != SQLITE_OK)
		store_failed(store);
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	return result == SQLITE_OK ? 0 : -1;
}
