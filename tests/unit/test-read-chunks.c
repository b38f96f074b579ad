/* SPDX-License-Identifier: MIT
 *
 * Chunks: found wherever they lie, once each, around damage, up to where a kill cut them.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "support/database.h"
#include "support/log-maker.h"

static const char sizes[] = "SELECT group_concat(size) FROM (SELECT size FROM allocations ORDER BY rowid)";
static const char truncated[] = "SELECT truncated FROM processes";

/* Three chunks of two allocations each: sizes 1 to 6; the last one is open, in the rings. */
static struct maker *three_chunks(struct test *test, struct maker_stream **stream)
{
	struct maker *maker = maker_new(test->directory, "rip-1");

	*stream = maker_stream(maker, 0, 1, 100);
	for (uint64_t i = 1; i <= 6; i++) {
		maker_alloc(*stream, i * 10, RH_CALL_MALLOC, i * 16, i, MAKER_STACK(0x101, 0x100));
		if (i == 2 || i == 4)
			maker_flush(*stream);
	}
	return maker;
}

static const char *file(struct test *test, const char *name)
{
	static char path[4200];

	snprintf(path, sizeof path, "%s/rip-1/%s", test->directory, name);
	return path;
}

static long size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static void damage(const char *path, long offset)
{
	FILE *f = fopen(path, "r+b");
	int byte;

	assert_non_null(f);
	fseek(f, offset, SEEK_SET);
	byte = fgetc(f);
	fseek(f, offset, SEEK_SET);
	fputc(byte ^ 0x55, f);
	assert_int_equal(fclose(f), 0);
}

/* Puts bytes before what is at offset. */
static void insert(const char *path, long offset, const void *bytes, size_t size)
{
	long rest = size_of(path) - offset;
	char *tail = malloc((size_t)rest + 1);
	FILE *f = fopen(path, "r+b");

	assert_non_null(f);
	fseek(f, offset, SEEK_SET);
	assert_int_equal(fread(tail, 1, (size_t)rest, f), rest);
	fseek(f, offset, SEEK_SET);
	fwrite(bytes, 1, size, f);
	fwrite(tail, 1, (size_t)rest, f);
	assert_int_equal(fclose(f), 0);
	free(tail);
}

static void logs_and_rings_make_one_stream(void **state)
{
	struct test *test = *state;
	struct maker_stream *stream;

	maker_finish(three_chunks(test, &stream));
	TEST_RIP(test, "rip-1");
	test_rows(test, sizes, "1,2,3,4,5,6\n");
	test_rows(test, truncated, "0\n");
	test_rows(test, "SELECT count(*) FROM losses", "0\n");
	assert_string_equal(test->warnings, "");
}

static void a_chunk_in_the_spill_file_takes_its_place(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 3, 1, 100), *other = maker_stream(maker, 1, 2, 101);

	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x100));
	maker_flush(stream);
	maker_alloc(stream, 20, RH_CALL_MALLOC, 32, 2, MAKER_STACK(0x100));
	maker_spill(stream);
	maker_alloc(other, 25, RH_CALL_MALLOC, 64, 25, MAKER_STACK(0x100));
	maker_spill(other);
	maker_alloc(stream, 30, RH_CALL_MALLOC, 48, 3, MAKER_STACK(0x100));
	maker_flush(stream);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, sizes, "1,2,25,3\n");
	test_rows(test, truncated, "0\n");
}

static void a_chunk_that_a_kill_left_twice_counts_once(void **state)
{
	struct test *test = *state;
	struct maker_stream *stream;
	struct maker *maker = three_chunks(test, &stream);

	maker_flush_killed(stream);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, sizes, "1,2,3,4,5,6\n");
	test_rows(test, truncated, "0\n");
}

static void of_a_torn_and_a_whole_copy_the_whole_one_is_taken(void **state)
{
	struct test *test = *state;
	struct maker_stream *stream;
	struct maker *maker = three_chunks(test, &stream);
	long whole;

	maker_flush_killed(stream);
	maker_finish(maker);
	whole = size_of(file(test, "log-0"));
	assert_int_equal(truncate(file(test, "log-0"), whole - 5), 0); /* killed in the middle of the write */
	TEST_RIP(test, "rip-1");
	test_rows(test, sizes, "1,2,3,4,5,6\n");
	test_rows(test, truncated, "0\n");
	assert_string_equal(test->warnings, "");
}

static void a_cut_log_is_read_to_its_last_whole_event_and_said_so(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);
	size_t before;
	char expected[4300];

	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x100));
	maker_alloc(stream, 20, RH_CALL_MALLOC, 32, 2, MAKER_STACK(0x100));
	before = maker_length(stream);
	maker_alloc(stream, 30, RH_CALL_MALLOC, 48, 3, MAKER_STACK(0x100));
	maker_flush(stream);
	maker_finish(maker);
	assert_int_equal(truncate(file(test, "log-0"), (off_t)(sizeof(struct rh_chunk) + before + 2)), 0);
	TEST_RIP(test, "rip-1");
	test_rows(test, sizes, "1,2\n");
	test_rows(test, truncated, "1\n");
	test_rows(test, "SELECT * FROM losses", "1|-|write|1\n"); /* the next chunk tells that one was there */
	snprintf(expected, sizeof expected,
		 "%s/rip-1: the log was cut short in 1 place: read to the last whole event\n%s/rip-1: events lost (write): 1\n",
		 test->directory, test->directory);
	assert_string_equal(test->warnings, expected);
}

static void a_damaged_chunk_is_passed_over_and_its_events_counted_as_lost(void **state)
{
	struct test *test = *state;
	struct maker_stream *stream;
	char expected[4300];

	maker_finish(three_chunks(test, &stream));
	damage(file(test, "log-0"), sizeof(struct rh_chunk) + 3);
	TEST_RIP(test, "rip-1");
	test_rows(test, sizes, "3,4,5,6\n");
	test_rows(test, truncated, "1\n");
	test_rows(test, "SELECT kind, count FROM losses", "write|2\n");
	snprintf(expected, sizeof expected, "%s/rip-1: passed over damage in the log: 1 place\n%s/rip-1: events lost (write): 2\n",
		 test->directory, test->directory);
	assert_string_equal(test->warnings, expected);
}

static void after_damage_to_a_header_reading_goes_on_at_the_next_chunk(void **state)
{
	struct test *test = *state;
	struct maker_stream *stream;

	for (unsigned i = 0; i < 16; i++) { /* magic, header size, version, and the sizes that follow */
		if (i)
			test_teardown(state), test_setup(state), test = *state;
		maker_finish(three_chunks(test, &stream));
		damage(file(test, "log-0"), i);
		TEST_RIP(test, "rip-1");
		test_rows(test, "SELECT group_concat(size) FROM (SELECT size FROM allocations WHERE size > 2 ORDER BY rowid)", "3,4,5,6\n");
	}
}

static void a_damaged_length_costs_no_other_chunk(void **state)
{
	struct test *test = *state;
	struct maker_stream *stream;

	for (unsigned i = 0; i < 4; i++) {
		if (i)
			test_teardown(state), test_setup(state), test = *state;
		maker_finish(three_chunks(test, &stream));
		damage(file(test, "log-0"), (long)offsetof(struct rh_chunk, length) + i);
		TEST_RIP(test, "rip-1");
		test_rows(test, "SELECT group_concat(size) FROM (SELECT size FROM allocations WHERE size > 2 ORDER BY rowid)", "3,4,5,6\n");
		test_rows(test, truncated, "1\n");
	}
}

static void foreign_bytes_between_chunks_are_passed_over(void **state)
{
	struct test *test = *state;
	struct maker_stream *stream;
	struct rh_chunk first;
	static const uint32_t decoy[40] = {[7] = RH_CHUNK_MAGIC};
	FILE *f;

	maker_finish(three_chunks(test, &stream));
	f = fopen(file(test, "log-0"), "rb");
	assert_int_equal(fread(&first, sizeof first, 1, f), 1);
	fclose(f);
	insert(file(test, "log-0"), (long)sizeof first + first.length, decoy, sizeof decoy);
	TEST_RIP(test, "rip-1");
	test_rows(test, sizes, "1,2,3,4,5,6\n");
	test_rows(test, truncated, "1\n");
}

static void a_chunk_that_could_not_be_written_is_counted_as_lost(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x100));
	maker_flush(stream);
	maker_alloc(stream, 20, RH_CALL_MALLOC, 32, 2, MAKER_STACK(0x100));
	maker_free(stream, 25, RH_FREE_FREE, 16);
	maker_lose(stream);
	maker_alloc(stream, 30, RH_CALL_MALLOC, 48, 3, MAKER_STACK(0x100));
	maker_flush(stream);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, sizes, "1,3\n");
	test_rows(test, "SELECT * FROM losses", "1|-|write|2\n");
}

static void losses_that_a_record_tells_are_not_counted_again_as_a_gap(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x100));
	maker_lose(stream);
	maker_loss(stream, RH_LOSS_WRITE, 1);
	maker_flush(stream);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT * FROM losses", "1|1|write|1\n");
}

static void an_open_chunk_that_ends_in_the_middle_of_a_record_is_read_up_to_it(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);
	uint32_t length;
	FILE *f;

	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x100));
	maker_alloc(stream, 20, RH_CALL_MALLOC, 32, 2, MAKER_STACK(0x100));
	length = (uint32_t)maker_length(stream) - 1;
	maker_finish(maker);
	f = fopen(file(test, "rings"), "r+b");
	fseek(f, RH_SLAB_HEADER_SIZE + (long)offsetof(struct rh_slot, chunk) + (long)offsetof(struct rh_chunk, length), SEEK_SET);
	assert_int_equal(fwrite(&length, sizeof length, 1, f), 1);
	fclose(f);
	TEST_RIP(test, "rip-1");
	test_rows(test, sizes, "1\n");
	test_rows(test, truncated, "1\n");
}

static void without_rings_the_logs_are_read_and_the_profile_counts_as_truncated(void **state)
{
	struct test *test = *state;
	struct maker_stream *stream;
	char expected[4300];

	maker_finish(three_chunks(test, &stream));
	assert_int_equal(unlink(file(test, "rings")), 0);
	TEST_RIP(test, "rip-1");
	test_rows(test, sizes, "1,2,3,4\n");
	test_rows(test, truncated, "1\n");
	snprintf(expected, sizeof expected, "%s/rip-1: file rings is missing or damaged: the last events of each thread are lost\n",
		 test->directory);
	assert_string_equal(test->warnings, expected);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(logs_and_rings_make_one_stream),
	    TEST(a_chunk_in_the_spill_file_takes_its_place),
	    TEST(a_chunk_that_a_kill_left_twice_counts_once),
	    TEST(of_a_torn_and_a_whole_copy_the_whole_one_is_taken),
	    TEST(a_cut_log_is_read_to_its_last_whole_event_and_said_so),
	    TEST(a_damaged_chunk_is_passed_over_and_its_events_counted_as_lost),
	    TEST(after_damage_to_a_header_reading_goes_on_at_the_next_chunk),
	    TEST(a_damaged_length_costs_no_other_chunk),
	    TEST(foreign_bytes_between_chunks_are_passed_over),
	    TEST(a_chunk_that_could_not_be_written_is_counted_as_lost),
	    TEST(losses_that_a_record_tells_are_not_counted_again_as_a_gap),
	    TEST(an_open_chunk_that_ends_in_the_middle_of_a_record_is_read_up_to_it),
	    TEST(without_rings_the_logs_are_read_and_the_profile_counts_as_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
