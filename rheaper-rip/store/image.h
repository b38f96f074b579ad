/* SPDX-License-Identifier: MIT
 *
 * A batch of rows as a small database in memory, from which SQLite copies them row by row as they are (INSERT INTO a SELECT * FROM b
 * between tables of one definition): several times faster than taking each value from a function of ours. What makes the pages here is no
 * SQLite, what reads and writes them is. https://www.sqlite.org/fileformat2.html, https://www.sqlite.org/c3ref/deserialize.html
 */
#ifndef STORE_IMAGE_H
#define STORE_IMAGE_H

#include "store/record.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store_image {
	const char *table;
	uint8_t *pages; /* page 1, the schema; page 2, the table's root; then its leaves */
	size_t page_size;
	unsigned leaves;      /* that are complete */
	unsigned cells;	      /* of the present leaf */
	size_t top;	      /* where its lowest cell begins */
	int64_t rows;	      /* in all leaves */
	int64_t *last_row;    /* of each complete leaf */
};

/* An empty image of a table of the store. 0, or -1 with the store's fault filled; to be closed in both cases. */
int store_image_open(struct store_image *image, struct store *store, const char *table);
void store_image_close(struct store_image *image);

/* Adds a row. false: there is no room, and nothing was done. Touches the image alone: may run on another thread than SQLite does. */
bool store_image_add(struct store_image *image, struct store_record *record);

/* Copies all rows to the end of the table, and empties the image. 0, or -1 with the store's fault filled. Ends the store's transaction and
 * begins another. */
int store_image_copy(struct store *store, struct store_image *image);

#endif
