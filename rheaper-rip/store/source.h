/* SPDX-License-Identifier: MIT
 *
 * Fills a table with rows that are made on the way: SQLite takes them out of a virtual table with one INSERT ... SELECT, at half the cost
 * of binding and stepping row by row. (https://www.sqlite.org/vtab.html)
 */
#ifndef STORE_SOURCE_H
#define STORE_SOURCE_H

#include "store/store.h"

struct store_source {
	const char *columns;	    /* names, with commas between them */
	const char *select;	    /* what goes into the table: columns, and constants, which cost least of all; NULL: the columns */
	int (*next)(void *context); /* goes to the next, at first to the first, row: 1, 0 when there is none, -1 with the store's fault filled */
	void (*column)(void *context, sqlite3_context *result, int number); /* gives one value of the present row; without a call: NULL */
	void *context;
};

/* Inserts all rows of the source into a table . 0, or -1 with the store's fault filled. */
int store_fill(struct store *store, const char *table, const struct store_source *source);

#endif
