/* SPDX-License-Identifier: MIT
 *
 * What is kept outside of memory between the passes: the spool of allocations and the array of ends.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <unistd.h>
#include <cmocka.h>

#include "log/format.h"
#include "read/profile.h"
#include "replay/ends.h"
#include "replay/spool.h"
#include "support/log-maker.h"

static char *directory, neighbour[4200];

static int setup(void **state)
{
	(void)state;
	directory = maker_directory();
	snprintf(neighbour, sizeof neighbour, "%s/profile.db", directory);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	maker_remove(directory);
	free(directory);
	return 0;
}

static unsigned files(void)
{
	DIR *opened = opendir(directory);
	unsigned count = 0;

	assert_non_null(opened);
	for (struct dirent *entry; (entry = readdir(opened));)
		count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(opened);
	return count;
}

static void assert_same(const struct replay_entry *a, const struct replay_entry *b)
{
	assert_int_equal(a->time, b->time);
	assert_int_equal(a->address, b->address);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->stack, b->stack);
	assert_int_equal(a->thread, b->thread);
	assert_int_equal(a->process, b->process);
	assert_int_equal(a->how, b->how);
}

static void entries_come_back_as_they_went_in(void **state)
{
	static const struct replay_entry entries[] = {
	    {0, 0, 0, 0, 0, 0, RH_CALL_MALLOC},
	    {0, 4096, 16, 7, 0, 0, RH_CALL_NEW},
	    {5, 4097, UINT64_MAX, UINT32_MAX - 2, READ_NO_THREAD, 0, RH_CALLS - 1},
	    {READ_TIME_MAX, UINT64_MAX, 1, 0, READ_NO_THREAD, UINT32_MAX, RH_CALL_CALLOC},
	    {READ_TIME_MAX, 15, 1, 0, 3, 1, RH_CALL_CALLOC},
	};
	struct fault fault = {{0}};
	struct replay_spool spool;

	(void)state;
	assert_int_equal(replay_spool_start(&spool, neighbour, &fault), 0);
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		assert_int_equal(replay_spool_add(&spool, &entries[i], &fault), 0);
	assert_int_equal(replay_spool_turn(&spool, &fault), 0);
	assert_int_equal(spool.fd, -1); /* so few need no file */
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
		assert_int_equal(replay_spool_next(&spool, &fault), 1);
		assert_same(&spool.last, &entries[i]);
	}
	assert_int_equal(replay_spool_next(&spool, &fault), 0);
	replay_spool_free(&spool);
}

static struct replay_entry made(uint64_t i)
{
	return (struct replay_entry){.time = (int64_t)(i * i % 1000 + i * 1000),
				     .address = i * UINT64_C(0x9e3779b97f4a7c15) >> i % 40,
				     .size = i * 77,
				     .stack = (uint32_t)(i % 70001),
				     .thread = (uint32_t)(i / 3 % 5),
				     .process = (uint32_t)(i / 100000),
				     .how = (uint8_t)(i % RH_CALLS)};
}

static void more_than_a_buffer_goes_through_a_file_without_a_name(void **state)
{
	struct fault fault = {{0}};
	struct replay_spool spool;

	(void)state;
	assert_int_equal(replay_spool_start(&spool, neighbour, &fault), 0);
	for (uint64_t i = 0; i < 500000; i++) {
		struct replay_entry entry = made(i);

		assert_int_equal(replay_spool_add(&spool, &entry, &fault), 0);
	}
	assert_int_equal(replay_spool_turn(&spool, &fault), 0);
	assert_true(spool.written > 4000000);
	assert_int_equal(files(), 0);
	for (uint64_t i = 0; i < 500000; i++) {
		struct replay_entry entry = made(i);

		assert_int_equal(replay_spool_next(&spool, &fault), 1);
		assert_same(&spool.last, &entry);
	}
	assert_int_equal(replay_spool_next(&spool, &fault), 0);
	assert_string_equal(fault.text, "");
	replay_spool_free(&spool);
}

static void a_spool_file_that_lost_its_end_is_told(void **state)
{
	struct fault fault = {{0}};
	struct replay_spool spool;
	char expected[4400];
	int more = 1;

	(void)state;
	assert_int_equal(replay_spool_start(&spool, neighbour, &fault), 0);
	for (uint64_t i = 0; i < 200000; i++) {
		struct replay_entry entry = made(i);

		assert_int_equal(replay_spool_add(&spool, &entry, &fault), 0);
	}
	assert_int_equal(replay_spool_turn(&spool, &fault), 0);
	assert_int_equal(ftruncate(spool.fd, (off_t)spool.written - 1), 0);
	while (more > 0)
		more = replay_spool_next(&spool, &fault);
	assert_int_equal(more, -1);
	snprintf(expected, sizeof expected, "%s: a temporary file became shorter", neighbour);
	assert_string_equal(fault.text, expected);
	replay_spool_free(&spool);
}

static void no_place_for_the_spool_is_told(void **state)
{
	struct fault fault = {{0}};
	struct replay_spool spool;
	int result = 0;

	(void)state;
	assert_int_equal(replay_spool_start(&spool, "/nonexistent/profile.db", &fault), 0);
	for (uint64_t i = 0; i < 200000 && !result; i++) {
		struct replay_entry entry = made(i);

		result = replay_spool_add(&spool, &entry, &fault);
	}
	assert_int_equal(result, -1);
	assert_string_equal(fault.text, "/nonexistent/profile.db: No such file or directory");
	replay_spool_free(&spool);
}

static void ends_keep_their_values_when_they_move_into_a_file(void **state)
{
	const size_t limit = REPLAY_ENDS_IN_MEMORY / sizeof(struct replay_end), count = limit * 2;
	struct replay_ends ends = {.neighbour = neighbour};
	struct fault fault = {{0}};

	(void)state;
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(replay_ends_reserve(&ends, i + 1, &fault), 0);
		ends.ends[i] = (struct replay_end){i << 3 | (i % 3), (uint32_t)i};
		if (i + 1 == limit)
			assert_int_equal(ends.mapped, 0);
	}
	assert_true(ends.mapped >= count * sizeof(struct replay_end));
	assert_int_equal(files(), 0);
	for (size_t i = 0; i < count; i++)
		if (ends.ends[i].thread != i || replay_end_time(&ends.ends[i]) != (int64_t)i || replay_end_how(&ends.ends[i]) != i % 3)
			fail_msg("end %zu differs", i);
	replay_ends_free(&ends);
}

static void no_place_for_the_ends_is_told_and_costs_nothing_that_is_there(void **state)
{
	const size_t limit = REPLAY_ENDS_IN_MEMORY / sizeof(struct replay_end);
	struct replay_ends ends = {.neighbour = "/nonexistent/profile.db"};
	struct fault fault = {{0}};

	(void)state;
	assert_int_equal(replay_ends_reserve(&ends, 1, &fault), 0);
	ends.ends[0].thread = 77;
	assert_int_equal(replay_ends_reserve(&ends, limit + ends.capacity + 1, &fault), -1);
	assert_string_equal(fault.text, "/nonexistent/profile.db: No such file or directory");
	assert_int_equal(ends.ends[0].thread, 77);
	replay_ends_free(&ends);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(entries_come_back_as_they_went_in),
	    TEST(more_than_a_buffer_goes_through_a_file_without_a_name),
	    TEST(a_spool_file_that_lost_its_end_is_told),
	    TEST(no_place_for_the_spool_is_told),
	    TEST(ends_keep_their_values_when_they_move_into_a_file),
	    TEST(no_place_for_the_ends_is_told_and_costs_nothing_that_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
