/* SPDX-License-Identifier: MIT
 *
 * Records, byte by byte: what log/format.h says about each field, and what is refused.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "read/clock.h"
#include "read/record.h"

static struct read_cursor cursor;
static struct read_record record;

#define START(...)                                    \
	static const uint8_t bytes[] = {__VA_ARGS__}; \
	read_cursor_start(&cursor, bytes, sizeof bytes, 1000)

#define THREAD 0x00, 1, 100, 0 /* serial 1, tid 100, level 0 */
#define ALLOC RH_TAG(RH_RECORD_ALLOC, RH_CALL_CALLOC)
#define FREE RH_TAG(RH_RECORD_FREE, RH_FREE_FREE)
#define REALLOC RH_TAG(RH_RECORD_REALLOC, RH_CALL_REALLOC)
#define CONTROL(what) RH_TAG(RH_RECORD_CONTROL, what)

static void take_thread(void)
{
	assert_int_equal(read_record_next(&cursor, &record), 1);
	assert_int_equal(record.argument, RH_CONTROL_THREAD);
}

static void fields_of_an_allocation(void **state)
{
	START(THREAD, ALLOC, 5, 0x80, 0x01, 0xac, 0x02, 0x20, 0, 0x84, 0x02, 0, 0x03);

	(void)state;
	take_thread();
	assert_int_equal(read_record_next(&cursor, &record), 1);
	assert_int_equal(record.kind, RH_RECORD_ALLOC);
	assert_int_equal(record.argument, RH_CALL_CALLOC);
	assert_int_equal(record.ticks, 1005);
	assert_int_equal(record.address, 32 * 16); /* 128 = zigzag(32) * 2 */
	assert_int_equal(record.size, 300);
	assert_int_equal(cursor.depth, 2);
	assert_int_equal(cursor.pcs[0], 65);		  /* 260 = zigzag(65) * 2 */
	assert_true(cursor.pcs[1] == (64 | RH_PC_EXACT)); /* 3 = zigzag(-1) * 2 + exact */
	assert_int_equal(read_record_next(&cursor, &record), 0);
}

static void an_address_may_lie_between_granules_and_wrap(void **state)
{
	START(THREAD, FREE, 0, 0x03 /* zigzag(-1) * 2 + 1 */, 7);

	(void)state;
	take_thread();
	assert_int_equal(read_record_next(&cursor, &record), 1);
	assert_true(record.address == UINT64_C(0xfffffffffffffff7));
}

static void a_reallocs_new_address_is_relative_to_its_old_one(void **state)
{
	START(THREAD, REALLOC, 9, 4, 0x04, 0x08, 10, 0x00);

	(void)state;
	take_thread();
	assert_int_equal(read_record_next(&cursor, &record), 1);
	assert_int_equal(record.ticks, 1009);
	assert_int_equal(record.duration, 4);
	assert_int_equal(record.old, 16);
	assert_int_equal(record.address, 48);
}

static void a_frame_can_come_from_the_dictionary(void **state)
{
	uint32_t slot = rh_pc_slot(65) + 1;
	uint8_t bytes[] = {THREAD,
			   ALLOC,
			   0,
			   0,
			   1,
			   0x10,
			   0,
			   0x84,
			   0x02,
			   ALLOC,
			   0,
			   0,
			   1,
			   0x20,
			   (uint8_t)(slot | 0x80),
			   (uint8_t)(slot >> 7),
			   (uint8_t)(slot | 0x80),
			   (uint8_t)(slot >> 7)};

	(void)state;
	read_cursor_start(&cursor, bytes, sizeof bytes, 0);
	take_thread();
	assert_int_equal(read_record_next(&cursor, &record), 1);
	assert_int_equal(read_record_next(&cursor, &record), 1);
	assert_int_equal(cursor.depth, 3);
	assert_int_equal(cursor.pcs[1], 65);
	assert_int_equal(cursor.pcs[2], 65);
}

static void an_empty_dictionary_slot_is_refused(void **state)
{
	START(THREAD, ALLOC, 0, 0, 1, 0x10, 5);

	(void)state;
	take_thread();
	assert_int_equal(read_record_next(&cursor, &record), -1);
}

static void a_slot_beyond_the_dictionary_is_refused(void **state)
{
	START(THREAD, ALLOC, 0, 0, 1, 0x10, 0x81, 0x20 /* 4097 */);

	(void)state;
	take_thread();
	assert_int_equal(read_record_next(&cursor, &record), -1);
}

static void dropping_more_frames_than_there_are_is_refused(void **state)
{
	START(THREAD, ALLOC, 0, 0, 1, 0x01);

	(void)state;
	take_thread();
	assert_int_equal(read_record_next(&cursor, &record), -1);
}

static void a_stack_deeper_than_any_library_logs_is_refused(void **state)
{
	START(THREAD, ALLOC, 0, 0, 1, 0xf0, 0xf2, 0x1f /* 15 + 4082 */, 0, 2);

	(void)state;
	take_thread();
	assert_int_equal(read_record_next(&cursor, &record), -1);
}

static void an_event_of_no_thread_is_refused(void **state)
{
	START(FREE, 0, 0);

	(void)state;
	assert_int_equal(read_record_next(&cursor, &record), -1);
}

static void an_unknown_control_record_is_refused_and_an_unknown_call_is_other(void **state)
{
	START(THREAD, RH_TAG(RH_RECORD_ALLOC, 31), 0, 0, 1, 0, CONTROL(8));

	(void)state;
	take_thread();
	assert_int_equal(read_record_next(&cursor, &record), 1);
	assert_int_equal(record.argument, RH_CALL_OTHER);
	assert_int_equal(read_record_next(&cursor, &record), -1);
}

static void a_varint_of_more_than_64_bits_is_refused(void **state)
{
	START(THREAD, FREE, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02, 0);

	(void)state;
	take_thread();
	assert_int_equal(read_record_next(&cursor, &record), -1);
}

static void a_string_longer_than_the_chunk_is_refused(void **state)
{
	START(THREAD, CONTROL(RH_CONTROL_NAME), 3, 'a', 'b');

	(void)state;
	take_thread();
	assert_int_equal(read_record_next(&cursor, &record), -1);
}

static void a_record_cut_anywhere_is_refused_and_the_cursor_stays_before_it(void **state)
{
	static const uint8_t bytes[] = {THREAD,	 CONTROL(RH_CONTROL_MODULE),
					7,	 0x80,
					0x01,	 2,
					3,	 2,
					'a',	 'b',
					1,	 'c',
					REALLOC, 1,
					2,	 0x05,
					3,	 4,
					0x80,	 0x01,
					0xf0,	 0,
					0,	 2,
					0,	 4,
					0,	 2,
					0,	 4,
					0,	 2,
					0,	 4,
					0,	 2,
					0,	 4,
					0,	 2,
					0,	 4,
					0,	 2,
					0,	 4,
					0,	 2,
					0,	 4,
					0,	 2};
	static const size_t ends[] = {4, 15, sizeof bytes}; /* of the three records */

	(void)state;
	for (size_t length = 0; length <= sizeof bytes; length++) {
		size_t whole = 0;
		int result;

		read_cursor_start(&cursor, bytes, length, 0);
		while ((result = read_record_next(&cursor, &record)) > 0)
			assert_int_equal(cursor.at - bytes, ends[whole++]);
		assert_int_equal(result, length == 0 || (whole && ends[whole - 1] == length) ? 0 : -1);
		assert_int_equal(cursor.at - bytes, whole ? ends[whole - 1] : 0);
	}
}

static void ticks_of_the_monotonic_clock_are_nanoseconds(void **state)
{
	struct read_clock clock = {.start_ticks = 1000};
	size_t hint = 0;

	(void)state;
	assert_true(read_clock_settle(&clock));
	assert_int_equal(read_clock_time(&clock, 1500, &hint), 500);
	assert_int_equal(read_clock_time(&clock, 900, &hint), -100);
	assert_true(read_clock_time(&clock, UINT64_MAX, &hint) == READ_TIME_MAX);
}

static void ticks_of_the_tsc_are_converted_along_their_pairs(void **state)
{
	struct read_clock clock = {.tsc = true, .start_ticks = 1000, .start_monotonic = 5000000};
	size_t hint = 0;

	(void)state;
	/* 3 ticks a ns for a second, then 2 for another: pairs as they come, out of order. */
	assert_true(read_clock_add(&clock, 1000 + UINT64_C(5000000000), 5000000 + UINT64_C(2000000000)));
	assert_true(read_clock_add(&clock, 1000, 5000000));
	assert_true(read_clock_add(&clock, 1000 + UINT64_C(3000000000), 5000000 + UINT64_C(1000000000)));
	assert_true(read_clock_settle(&clock));
	assert_int_equal(read_clock_time(&clock, 1000, &hint), 0);
	assert_int_equal(read_clock_time(&clock, 1000 + 1500000000, &hint), 500000000);
	assert_int_equal(read_clock_time(&clock, 1000 + UINT64_C(4000000000), &hint), 1500000000);
	assert_int_equal(read_clock_time(&clock, 1000 + 300, &hint), 100); /* the hint is of another stretch */
	/* Beyond the last pair: the mean, 2.5 ticks a ns. */
	assert_int_equal(read_clock_time(&clock, 1000 + UINT64_C(5000000000) + 250, &hint), 2000000100);
	assert_true(read_clock_time(&clock, UINT64_MAX, &hint) == READ_TIME_MAX);
	read_clock_free(&clock);
}

static void a_tsc_clock_with_one_pair_tells_no_rate(void **state)
{
	struct read_clock clock = {.tsc = true};
	size_t hint = 0;

	(void)state;
	assert_true(read_clock_add(&clock, 1000, 5000));
	assert_false(read_clock_settle(&clock));
	assert_int_equal(read_clock_time(&clock, 2000, &hint), 0);
	read_clock_free(&clock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fields_of_an_allocation),
	    cmocka_unit_test(an_address_may_lie_between_granules_and_wrap),
	    cmocka_unit_test(a_reallocs_new_address_is_relative_to_its_old_one),
	    cmocka_unit_test(a_frame_can_come_from_the_dictionary),
	    cmocka_unit_test(an_empty_dictionary_slot_is_refused),
	    cmocka_unit_test(a_slot_beyond_the_dictionary_is_refused),
	    cmocka_unit_test(dropping_more_frames_than_there_are_is_refused),
	    cmocka_unit_test(a_stack_deeper_than_any_library_logs_is_refused),
	    cmocka_unit_test(an_event_of_no_thread_is_refused),
	    cmocka_unit_test(an_unknown_control_record_is_refused_and_an_unknown_call_is_other),
	    cmocka_unit_test(a_varint_of_more_than_64_bits_is_refused),
	    cmocka_unit_test(a_string_longer_than_the_chunk_is_refused),
	    cmocka_unit_test(a_record_cut_anywhere_is_refused_and_the_cursor_stays_before_it),
	    cmocka_unit_test(ticks_of_the_monotonic_clock_are_nanoseconds),
	    cmocka_unit_test(ticks_of_the_tsc_are_converted_along_their_pairs),
	    cmocka_unit_test(a_tsc_clock_with_one_pair_tells_no_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
