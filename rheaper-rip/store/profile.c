/* SPDX-License-Identifier: MIT
 *
 * Opens what rheaper-rip has made, and nothing else.
 */
#include "config.h"

#include "store/profile.h"

#include "store/version.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int store_profile_failed(sqlite3 *db, const char *name, struct fault *fault)
{
	return db ? fault_set(fault, name, FAULT_NOWHERE, "%s", sqlite3_errmsg(db)) : fault_memory(fault);
}

/* A pragma's number. 0, or -1 with fault filled. */
static int ask(sqlite3 *db, const char *name, const char *sql, int64_t *number, struct fault *fault)
{
	sqlite3_stmt *statement = NULL;
	int result = sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW ? 0 : -1;

	if (result)
		store_profile_failed(db, name, fault);
	else
		*number = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return result;
}

static int check(sqlite3 *db, const char *path, struct fault *fault)
{
	int64_t application, version;

	if (ask(db, path, "PRAGMA application_id", &application, fault) || ask(db, path, "PRAGMA user_version", &version, fault))
		return -1;
	if (application != STORE_APPLICATION_ID)
		return fault_set(fault, path, FAULT_NOWHERE, "no database of rheaper-rip");
	if (version < STORE_SCHEMA_VERSION)
		return fault_set(fault, path, FAULT_NOWHERE,
				 "made by an older rheaper-rip (schema %lld, not %d): make it again from its profile directory",
				 (long long)version, STORE_SCHEMA_VERSION);
	return 0;
}

sqlite3 *store_profile_open(const char *path, struct fault *fault)
{
	sqlite3 *db = NULL;
	char *plain;
	int result;

	/* SQLite's own words for these are "unable to open database file" and "file is not a database". */
	if (access(path, R_OK)) {
		fault_errno(fault, path);
		return NULL;
	}
	/* "./" keeps SQLite from taking a name for a URI or for a database in memory. */
	if (asprintf(&plain, "%s%s", path[0] == '/' ? "" : "./", path) < 0) {
		fault_memory(fault);
		return NULL;
	}
	result = sqlite3_open_v2(plain, &db, SQLITE_OPEN_READONLY, NULL);
	free(plain);
	if (result != SQLITE_OK)
		store_profile_failed(db, path, fault);
	else if (!check(db, path, fault))
		return db;
	sqlite3_close(db);
	return NULL;
}
