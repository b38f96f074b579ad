/* SPDX-License-Identifier: MIT
 *
 * Fills table allocations, in batches.
 */
#include "config.h"

#include "store/allocations.h"

#include "store/image.h"

#define NS_PER_MS 1e6

static inline void add_thread(struct store_record *record, uint32_t thread)
{
	if (thread == READ_NO_THREAD)
		store_record_null(record);
	else
		store_record_integer(record, (int64_t)thread + 1);
}

/* The columns in the order of schema.sql. */
static void make_record(struct store_record *record, const struct replay_row *row)
{
	bool live = row->ended == REPLAY_LIVE;

	store_record_start(record);
	store_record_real(record, (double)row->alloc / NS_PER_MS);
	if (live)
		store_record_null(record);
	else
		store_record_real(record, (double)row->dealloc / NS_PER_MS);
	store_record_integer(record, row->bt);
	store_record_integer(record, row->size > INT64_MAX ? INT64_MAX : (int64_t)row->size);
	store_record_integer(record, (int64_t)row->address);
	add_thread(record, row->alloc_thread);
	if (live)
		store_record_null(record);
	else
		add_thread(record, row->dealloc_thread);
	store_record_integer(record, (int64_t)row->process + 1);
	store_record_integer(record, row->call);
	if (live)
		store_record_null(record);
	else
		store_record_integer(record, row->ended);
	store_record_real(record, row->weight);
}

int store_allocations(struct store *store, struct replay_rows *rows)
{
	struct store_image image;
	struct store_record record;
	struct replay_row row;
	int more = store_image_open(&image, store, "allocations");

	while (!more && (more = replay_rows_next(rows, &row, store->fault)) > 0) {
		make_record(&record, &row);
		more = 0;
		if (!store_image_add(&image, &record) && !(more = store_image_copy(store, &image)))
			store_image_add(&image, &record);
	}
	if (!more)
		more = store_image_copy(store, &image);
	store_image_close(&image);
	return more;
}
