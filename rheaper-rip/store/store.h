/* SPDX-License-Identifier: MIT
 *
 * The database as a file under construction: no journal, no locks, one transaction from the first row to the last. Whoever opens it must
 * throw it away if anything fails.
 */
#ifndef STORE_H
#define STORE_H

#include "fault.h"

#include <sqlite3.h>

struct store {
	sqlite3 *db;
	const char *name; /* what faults call it: the file that the user asked for */
	struct fault *fault;
};

#define STORE_IMAGE_SCHEMA "image" /* the database in which batches of rows come (store/image.h) */

/* Opens the empty file at path, makes all tables and views, and begins the transaction. 0, or -1 with fault filled; to be closed in both
 * cases. */
int store_open(struct store *store, const char *path, const char *name, struct fault *fault);

/* Commits. 0 or -1. */
int store_commit(struct store *store);

void store_close(struct store *store);

/* Runs statements without results. 0 or -1. */
int store_run(struct store *store, const char *sql);

/* NULL on failure. To be finalized with sqlite3_finalize. */
sqlite3_stmt *store_prepare(struct store *store, const char *sql);

/* Binds values by format and runs the statement: i int64_t, r double, q double that is stored as an integer if it is one, t const char *
 * (NULL is NULL; kept until the call returns; made fit to be shown: text.h); NULL in place of a value: n takes no argument, z passes over an int64_t, x over a double. 0
 * or -1. */
int store_put(struct store *store, sqlite3_stmt *statement, const char *format, ...);

/* Fills the fault with what SQLite or the system says. Returns -1. */
int store_failed(struct store *store);

#endif
