/* SPDX-License-Identifier: MIT
 *
 * Makes the pages of a table: leaves, and one root above them. Section numbers are those of https://www.sqlite.org/fileformat2.html.
 */
#include "config.h"

#include "store/image.h"

#include <stdlib.h>
#include <string.h>

#define LEAVES 64 /* of one image: what a copy costs beyond its rows is shared by many of them, and the pages stay in the processor's cache */
#define PAGES (LEAVES + 2)

#define SIZE_OFFSET 28 /* in page 1: the database's size in pages (1.3) */

/* The header of a page (1.6). */
enum { KIND = 0, CELLS = 3, CONTENT = 5, RIGHTMOST = 8 };
enum { KIND_INTERIOR = 5, KIND_LEAF = 13 };
enum { LEAF_HEADER = 8, INTERIOR_HEADER = 12 };

static inline void put16(uint8_t *at, size_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static inline void put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof value);
}

/* A varint of SQLite's (1.6): big-endian, seven bits a byte. Row numbers of an image have at most four. Returns its length. */
static inline size_t put_varint(uint8_t *at, uint32_t value)
{
	size_t length = value < 1u << 7 ? 1 : value < 1u << 14 ? 2 : value < 1u << 21 ? 3 : 4;

	for (size_t i = length; i-- > 0; value >>= 7)
		at[i] = (uint8_t)((value & 0x7f) | (i + 1 < length ? 0x80 : 0));
	return length;
}

static void empty(struct store_image *image)
{
	image->leaves = 0;
	image->cells = 0;
	image->top = image->page_size;
	image->rows = 0;
}

/* Page 1 and an empty page 2 are SQLite's own work, in another database of the same definition. */
static int copy_definition(struct store_image *image, struct store *store, const char *sql)
{
	sqlite3 *model = NULL;
	sqlite3_int64 size = 0;
	unsigned char *pages = NULL;
	char *page_size = sqlite3_mprintf("PRAGMA page_size = %d", (int)image->page_size);

	if (page_size && sqlite3_open(":memory:", &model) == SQLITE_OK && sqlite3_exec(model, page_size, NULL, NULL, NULL) == SQLITE_OK &&
	    sqlite3_exec(model, sql, NULL, NULL, NULL) == SQLITE_OK)
		pages = sqlite3_serialize(model, "main", &size, 0);
	if (pages && (size_t)size == 2 * image->page_size)
		memcpy(image->pages, pages, (size_t)size);
	else
		size = 0;
	sqlite3_free(pages);
	sqlite3_free(page_size);
	sqlite3_close(model);
	return size ? 0 : fault_memory(store->fault);
}

int store_image_open(struct store_image *image, struct store *store, const char *table)
{
	sqlite3_stmt *definition = store_prepare(store, "SELECT sql, page_size FROM sqlite_schema, pragma_page_size WHERE name = ?");
	int result = -1;

	memset(image, 0, sizeof *image);
	image->table = table;
	if (!definition)
		return -1;
	if (sqlite3_bind_text(definition, 1, table, -1, SQLITE_STATIC) != SQLITE_OK || sqlite3_step(definition) != SQLITE_ROW) {
		store_failed(store);
	} else {
		image->page_size = (size_t)sqlite3_column_int64(definition, 1);
		image->pages = malloc(PAGES * image->page_size);
		image->last_row = malloc(LEAVES * sizeof *image->last_row);
		if (!image->pages || !image->last_row)
			fault_memory(store->fault);
		else
			result = copy_definition(image, store, (const char *)sqlite3_column_text(definition, 0));
	}
	sqlite3_finalize(definition);
	empty(image);
	return result;
}

void store_image_close(struct store_image *image)
{
	free(image->pages);
	free(image->last_row);
	memset(image, 0, sizeof *image);
}

static inline uint8_t *leaf_of(const struct store_image *image)
{
	return image->pages + (2 + image->leaves) * image->page_size;
}

static void complete_leaf(struct store_image *image)
{
	uint8_t *leaf = leaf_of(image);

	memset(leaf, 0, LEAF_HEADER);
	leaf[KIND] = KIND_LEAF;
	put16(leaf + CELLS, image->cells);
	put16(leaf + CONTENT, image->top); /* 65536 as 0 */
	image->last_row[image->leaves++] = image->rows;
	image->cells = 0;
	image->top = image->page_size;
}

bool store_image_add(struct store_image *image, struct store_record *record)
{
	uint8_t start[5]; /* payload's length, row number */
	size_t payload = (size_t)record->header_size + record->body_size;
	size_t length = 1 + put_varint(start + 1, (uint32_t)image->rows + 1);
	uint8_t *cell;

	start[0] = (uint8_t)payload;
	record->header[0] = record->header_size;
	if (image->top < LEAF_HEADER + 2 * ((size_t)image->cells + 1) + length + payload)
		complete_leaf(image);
	if (image->leaves == LEAVES)
		return false;
	image->rows++;
	image->top -= length + payload;
	cell = leaf_of(image) + image->top;
	memcpy(cell, start, length);
	memcpy(cell + length, record->header, record->header_size);
	memcpy(cell + length + record->header_size, record->body, record->body_size);
	put16(leaf_of(image) + LEAF_HEADER + 2 * (size_t)image->cells++, image->top);
	return true;
}

/* The root: for each leaf but the last its page and its last row; or the only leaf itself. Returns how many pages there are. */
static uint32_t make_root(struct store_image *image)
{
	uint8_t *root = image->pages + image->page_size;
	size_t top = image->page_size;

	if (image->leaves == 1) {
		memcpy(root, root + image->page_size, image->page_size);
		return 2;
	}
	memset(root, 0, INTERIOR_HEADER);
	root[KIND] = KIND_INTERIOR;
	for (unsigned i = 0; i + 1 < image->leaves; i++) {
		uint8_t cell[8];
		size_t length = 4 + put_varint(cell + 4, (uint32_t)image->last_row[i]);

		put32(cell, 3 + i);
		top -= length;
		memcpy(root + top, cell, length);
		put16(root + INTERIOR_HEADER + 2 * (size_t)i, top);
	}
	put16(root + CELLS, image->leaves - 1);
	put16(root + CONTENT, top);
	put32(root + RIGHTMOST, 2 + image->leaves);
	return 2 + image->leaves;
}

int store_image_copy(struct store *store, struct store_image *image)
{
	sqlite3_int64 size;
	uint32_t pages;
	char *insert;
	int result;

	if (image->cells)
		complete_leaf(image);
	if (!image->leaves)
		return 0;
	pages = make_root(image);
	put32(image->pages + SIZE_OFFSET, pages);
	size = (sqlite3_int64)(pages * image->page_size);
	insert = sqlite3_mprintf("INSERT INTO main.%s SELECT * FROM " STORE_IMAGE_SCHEMA ".%s", image->table, image->table);
	if (!insert)
		return fault_memory(store->fault);
	/* A database in a transaction cannot be exchanged. */
	if (store_run(store, "COMMIT"))
		result = -1;
	else if (sqlite3_deserialize(store->db, STORE_IMAGE_SCHEMA, image->pages, size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
		result = store_failed(store);
	else
		result = store_run(store, "BEGIN") || store_run(store, insert) ? -1 : 0;
	sqlite3_free(insert);
	empty(image);
	return result;
}
