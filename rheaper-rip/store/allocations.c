/* SPDX-License-Identifier: MIT
 *
 * Gives out the rows of table allocations.
 */
#include "config.h"

#include "store/allocations.h"

#include "store/source.h"

#define NS_PER_MS 1e6

struct filling {
	struct store *store;
	struct replay_rows *rows;
	struct replay_row row;
};

static int next(void *context)
{
	struct filling *filling = context;

	return replay_rows_next(filling->rows, &filling->row, filling->store->fault);
}

static void give_thread(sqlite3_context *result, uint32_t thread)
{
	if (thread == READ_NO_THREAD)
		sqlite3_result_null(result);
	else
		sqlite3_result_int64(result, (sqlite3_int64)thread + 1);
}

static void column(void *context, sqlite3_context *result, int number)
{
	const struct replay_row *row = &((struct filling *)context)->row;

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
}

int store_allocations(struct store *store, struct replay_rows *rows)
{
	struct filling filling = {.store = store, .rows = rows};
	struct store_source source = {
	    "alloc_after, dealloc_after, bt, size, addr, alloc_thread, dealloc_thread, process, call, ended, weight", NULL, next, column,
	    &filling};

	if (rows->world->count == 1 && !rows->world->sampled)
		source.select = "alloc_after, dealloc_after, bt, size, addr, alloc_thread, dealloc_thread, 1, call, ended, 1";
	return store_fill(store, "allocations", &source);
}
