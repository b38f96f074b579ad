/* SPDX-License-Identifier: MIT
 *
 * Rows that come by images: as many as it takes, each value of the type and size that SQLite itself would have given it.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "store/image.h"
#include "support/database.h"

#define ROWS 200000 /* several images */

struct example {
	struct store store;
	struct fault fault;
};

static void open_store(struct test *test, struct example *example)
{
	FILE *file;

	snprintf(test->database, sizeof test->database, "%s/images.db", test->directory);
	file = fopen(test->database, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(store_open(&example->store, test->database, "images.db", &example->fault), 0);
	assert_int_equal(store_run(&example->store, "CREATE TABLE numbers(i INTEGER, r REAL, n INTEGER, j INTEGER)"), 0);
}

static void reopen(struct test *test, struct example *example)
{
	assert_int_equal(store_commit(&example->store), 0);
	store_close(&example->store);
	assert_int_equal(sqlite3_open_v2(test->database, &test->db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
}

/* All lengths, both signs, and what lies around the borders between two types. */
static int64_t number(uint64_t i)
{
	uint64_t power = UINT64_C(1) << i % 64;

	return (int64_t)(i / 64 % 2 ? ~power + i / 128 % 3 : power - i / 128 % 3);
}

static void fill(struct store *store, struct store_image *image, unsigned rows)
{
	struct store_record record;

	for (unsigned i = 0; i < rows; i++) {
		store_record_start(&record);
		store_record_integer(&record, number(i));
		store_record_real(&record, (double)i / 8);
		store_record_null(&record);
		store_record_integer(&record, i);
		if (store_image_add(image, &record))
			continue;
		assert_int_equal(store_image_copy(store, image), 0);
		assert_true(store_image_add(image, &record));
	}
	assert_int_equal(store_image_copy(store, image), 0);
}

static void rows_arrive_in_order_with_their_values(void **state)
{
	struct test *test = *state;
	struct example example = {0};
	struct store_image image;
	sqlite3_stmt *rows;

	open_store(test, &example);
	assert_int_equal(store_image_open(&image, &example.store, "numbers"), 0);
	fill(&example.store, &image, ROWS);
	store_image_close(&image);
	reopen(test, &example);
	assert_int_equal(sqlite3_prepare_v2(test->db, "SELECT i, r, n, j, rowid FROM numbers ORDER BY rowid", -1, &rows, NULL), SQLITE_OK);
	for (unsigned i = 0; i < ROWS; i++) {
		assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
		assert_int_equal(sqlite3_column_type(rows, 0), SQLITE_INTEGER);
		assert_true(sqlite3_column_int64(rows, 0) == number(i));
		assert_int_equal(sqlite3_column_type(rows, 1), SQLITE_FLOAT);
		assert_true(sqlite3_column_double(rows, 1) == (double)i / 8);
		assert_int_equal(sqlite3_column_type(rows, 2), SQLITE_NULL);
		assert_int_equal(sqlite3_column_int64(rows, 3), i);
		assert_int_equal(sqlite3_column_int64(rows, 4), i + 1);
	}
	assert_int_equal(sqlite3_step(rows), SQLITE_DONE);
	sqlite3_finalize(rows);
	test_rows(test, "PRAGMA integrity_check", "ok\n");
}

static void values_take_the_room_that_sqlite_gives_them(void **state)
{
	struct test *test = *state;
	struct example example = {0};
	struct store_image image;
	sqlite3_stmt *insert;

	open_store(test, &example);
	assert_int_equal(store_image_open(&image, &example.store, "numbers"), 0);
	fill(&example.store, &image, ROWS);
	store_image_close(&image);
	assert_int_equal(store_run(&example.store, "CREATE TABLE bound(i INTEGER, r REAL, n INTEGER, j INTEGER)"), 0);
	insert = store_prepare(&example.store, "INSERT INTO bound VALUES(?, ?, ?, ?)");
	for (unsigned i = 0; i < ROWS; i++)
		assert_int_equal(store_put(&example.store, insert, "irni", number(i), (double)i / 8, (int64_t)i), 0);
	sqlite3_finalize(insert);
	reopen(test, &example);
	test_rows(test, "SELECT a.payload = b.payload, a.payload > 0 FROM "
			"(SELECT sum(payload) AS payload FROM dbstat WHERE name = 'numbers' AND pagetype = 'leaf') a, "
			"(SELECT sum(payload) AS payload FROM dbstat WHERE name = 'bound' AND pagetype = 'leaf') b",
		  "1|1\n");
}

static void an_empty_image_adds_nothing(void **state)
{
	struct test *test = *state;
	struct example example = {0};
	struct store_image image;

	open_store(test, &example);
	assert_int_equal(store_image_open(&image, &example.store, "numbers"), 0);
	assert_int_equal(store_image_copy(&example.store, &image), 0);
	fill(&example.store, &image, 1);
	assert_int_equal(store_image_copy(&example.store, &image), 0);
	store_image_close(&image);
	reopen(test, &example);
	test_rows(test, "SELECT i, r, n, j FROM numbers", "1|0.0|-|0\n");
}

static void a_table_that_is_not_there_is_a_fault(void **state)
{
	struct test *test = *state;
	struct example example = {0};
	struct store_image image;

	open_store(test, &example);
	assert_int_equal(store_image_open(&image, &example.store, "nothing"), -1);
	assert_true(example.fault.text[0]);
	store_image_close(&image);
	store_close(&example.store);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(rows_arrive_in_order_with_their_values, test_setup, test_teardown),
	    cmocka_unit_test_setup_teardown(values_take_the_room_that_sqlite_gives_them, test_setup, test_teardown),
	    cmocka_unit_test_setup_teardown(an_empty_image_adds_nothing, test_setup, test_teardown),
	    cmocka_unit_test_setup_teardown(a_table_that_is_not_there_is_a_fault, test_setup, test_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
