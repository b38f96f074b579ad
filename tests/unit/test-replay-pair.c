/* SPDX-License-Identifier: MIT
 *
 * Pairing: which allocation each free, realloc and reuse of an address ends, and what is left.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/database.h"
#include "support/log-maker.h"

/* Rows in nanoseconds, which are whole numbers: begin, end, size, address, threads, how it ended. */
static const char rows[] = "SELECT CAST(round(alloc_after * 1e6) AS INTEGER), CAST(round(dealloc_after * 1e6) AS INTEGER), size, addr, "
			   "alloc_thread, dealloc_thread, ended FROM allocations ORDER BY rowid";

static const char counts[] = "SELECT value FROM metadata WHERE key IN ('reuse_closures', 'unmatched_frees') ORDER BY key";

static void a_free_ends_its_block_and_one_without_stays_live(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_alloc(stream, 1000, RH_CALL_MALLOC, 4096, 100, MAKER_STACK(1));
	maker_alloc(stream, 1500, RH_CALL_MALLOC, 8200, 7, MAKER_STACK(1));
	maker_free(stream, 2001, RH_FREE_FREE, 4096);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, rows, "1000|2001|100|4096|1|1|0\n1500|-|7|8200|1|-|-\n");
	test_rows(test, counts, "0\n0\n");
}

static void an_address_lives_again_after_its_free(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_alloc(stream, 1000, RH_CALL_MALLOC, 4096, 10, MAKER_STACK(1));
	maker_free(stream, 1100, RH_FREE_FREE, 4096);
	maker_alloc(stream, 1200, RH_CALL_MALLOC, 4096, 20, MAKER_STACK(1));
	maker_free(stream, 1300, RH_FREE_FREE, 4096);
	maker_alloc(stream, 1400, RH_CALL_MALLOC, 4096, 30, MAKER_STACK(1));
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, rows, "1000|1100|10|4096|1|1|0\n1200|1300|20|4096|1|1|0\n1400|-|30|4096|1|-|-\n");
}

static void streams_are_merged_by_time(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *one = maker_stream(maker, 0, 1, 100), *two = maker_stream(maker, 1, 2, 101),
			    *three = maker_stream(maker, 2, 3, 102);

	maker_alloc(two, 10, RH_CALL_MALLOC, 32, 2, MAKER_STACK(1));
	maker_alloc(three, 20, RH_CALL_MALLOC, 48, 3, MAKER_STACK(1));
	maker_alloc(one, 30, RH_CALL_MALLOC, 16, 1, MAKER_STACK(1));
	maker_free(one, 40, RH_FREE_FREE, 32);
	maker_free(two, 50, RH_FREE_FREE, 48);
	maker_free(three, 60, RH_FREE_FREE, 16);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, rows, "10|40|2|32|2|1|0\n20|50|3|48|3|2|0\n30|60|1|16|1|3|0\n");
}

static void at_the_same_instant_the_free_comes_first(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *one = maker_stream(maker, 0, 1, 100), *two = maker_stream(maker, 1, 2, 101);

	maker_alloc(two, 10, RH_CALL_MALLOC, 64, 5, MAKER_STACK(1));
	maker_alloc(one, 20, RH_CALL_MALLOC, 64, 6, MAKER_STACK(1)); /* stands in the earlier stream */
	maker_free(two, 20, RH_FREE_FREE, 64);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, rows, "10|20|5|64|2|2|0\n20|-|6|64|1|-|-\n");
	test_rows(test, counts, "0\n0\n");
}

static void what_is_freed_at_an_instant_is_not_live_beside_what_is_allocated_then(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *one = maker_stream(maker, 0, 1, 100), *two = maker_stream(maker, 1, 2, 101);

	maker_alloc(one, 10, RH_CALL_MALLOC, 64, 5, MAKER_STACK(1)); /* the stream that is being read */
	maker_alloc(one, 20, RH_CALL_MALLOC, 96, 6, MAKER_STACK(1));
	maker_free(two, 20, RH_FREE_FREE, 64);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT value FROM metadata WHERE key = 'peak_bytes'", "6\n");
}

static void a_free_that_another_threads_clock_made_late_still_ends_the_old_block(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *one = maker_stream(maker, 0, 1, 100), *two = maker_stream(maker, 1, 2, 101);

	maker_alloc(two, 1000, RH_CALL_MALLOC, 64, 5, MAKER_STACK(1));
	maker_alloc(one, 2000, RH_CALL_MALLOC, 64, 6, MAKER_STACK(1));
	maker_free(two, 12000, RH_FREE_FREE, 64); /* 10 us late: the most */
	maker_free(one, 20000, RH_FREE_FREE, 64);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, rows, "1000|2000|5|64|2|2|0\n2000|20000|6|64|1|1|0\n");
	test_rows(test, counts, "0\n0\n");
}

static void a_late_free_is_found_in_the_next_chunk_too(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *one = maker_stream(maker, 0, 1, 100), *two = maker_stream(maker, 1, 2, 101);

	maker_alloc(two, 1000, RH_CALL_MALLOC, 64, 5, MAKER_STACK(1));
	maker_alloc(two, 2001, RH_CALL_MALLOC, 128, 7, MAKER_STACK(1));
	maker_flush(two);
	maker_alloc(one, 2000, RH_CALL_MALLOC, 64, 6, MAKER_STACK(1));
	maker_free(two, 2002, RH_FREE_FREE, 64);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, rows, "1000|2000|5|64|2|2|0\n2000|-|6|64|1|-|-\n2001|-|7|128|2|-|-\n");
}

static void an_address_that_comes_back_without_a_free_closes_the_old_block_as_reused(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *one = maker_stream(maker, 0, 1, 100), *two = maker_stream(maker, 1, 2, 101);

	maker_alloc(two, 1000, RH_CALL_MALLOC, 64, 5, MAKER_STACK(1));
	maker_alloc(one, 2000, RH_CALL_MALLOC, 64, 6, MAKER_STACK(1));
	maker_free(two, 12001, RH_FREE_FREE, 64); /* beyond 10 us: the new block's */
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, rows, "1000|2000|5|64|2|1|2\n2000|12001|6|64|1|2|0\n");
	test_rows(test, counts, "1\n0\n");
	test_rows(test, "SELECT live, lifetime_min * 1e6 FROM callsites", "0|10001.0\n"); /* no leak, no lifetime */
	test_rows(test, "SELECT sum(allocations) FROM lifetimes", "1\n");
}

static void the_allocating_threads_own_later_free_is_not_mistaken_for_a_late_one(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_alloc(stream, 1000, RH_CALL_MALLOC, 64, 5, MAKER_STACK(1));
	maker_alloc(stream, 1500, RH_CALL_MALLOC, 64, 6, MAKER_STACK(1));
	maker_free(stream, 1600, RH_FREE_FREE, 64);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, rows, "1000|1500|5|64|1|1|2\n1500|1600|6|64|1|1|0\n");
	test_rows(test, "SELECT temporary, temporary_bytes FROM callsites", "1|6\n"); /* the end of the other one was not seen */
}

static void a_realloc_ends_the_old_block_when_it_began_and_starts_the_new_one_when_it_was_done(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_alloc(stream, 1000, RH_CALL_MALLOC, 64, 5, MAKER_STACK(1));
	maker_realloc(stream, 2000, 300, RH_CALL_REALLOC, 64, 96, 50, MAKER_STACK(1));
	maker_realloc(stream, 3000, 100, RH_CALL_REALLOCARRAY, 96, 96, 60, MAKER_STACK(1)); /* in place */
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, rows, "1000|1700|5|64|1|1|1\n2000|2900|50|96|1|1|1\n3000|-|60|96|1|-|-\n");
	test_rows(test, "SELECT name FROM allocations, calls WHERE call = id ORDER BY allocations.rowid",
		  "malloc\nrealloc\nreallocarray\n");
}

static void events_of_a_signal_handler_within_a_realloc_see_its_old_address_free(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_alloc(stream, 1000, RH_CALL_MALLOC, 64, 5, MAKER_STACK(1));
	/* While realloc runs, from 1500 to 2000, the handler is given the old address, and gives it back. */
	maker_alloc(stream, 1600, RH_CALL_MALLOC, 64, 6, MAKER_STACK(1));
	maker_free(stream, 1700, RH_FREE_FREE, 64);
	maker_alloc(stream, 1800, RH_CALL_MALLOC, 64, 7, MAKER_STACK(1));
	maker_realloc(stream, 2000, 500, RH_CALL_REALLOC, 64, 96, 50, MAKER_STACK(1));
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, rows, "1000|1500|5|64|1|1|1\n1600|1700|6|64|1|1|0\n1800|-|7|64|1|-|-\n2000|-|50|96|1|-|-\n");
	test_rows(test, counts, "0\n0\n");
}

static void a_realloc_of_an_unknown_block_opens_a_row(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_realloc(stream, 2000, 500, RH_CALL_REALLOC, 64, 96, 50, MAKER_STACK(1));
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, rows, "2000|-|50|96|1|-|-\n");
}

static void frees_of_unknown_blocks_are_counted(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_free(stream, 1000, RH_FREE_FREE, 64);
	maker_alloc(stream, 2000, RH_CALL_MALLOC, 64, 1, MAKER_STACK(1));
	maker_free(stream, 3000, RH_FREE_FREE, 64);
	maker_free(stream, 4000, RH_FREE_FREE, 64);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, rows, "2000|3000|1|64|1|1|0\n");
	test_rows(test, counts, "0\n2\n");
}

static void a_realloc_whose_new_block_is_not_recorded_ends_the_old_one_as_reallocated(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_alloc(stream, 1000, RH_CALL_MALLOC, 64, 1, MAKER_STACK(1));
	maker_free(stream, 2000, RH_FREE_REALLOC, 64);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, rows, "1000|2000|1|64|1|1|1\n");
}

static void pools_pair_apart_from_the_heap(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_alloc(stream, 1000, RH_CALL_MALLOC, 64, 1000, MAKER_STACK(1)); /* a slab */
	maker_alloc(stream, 2000, RH_CALL_POOL, 64, 10, MAKER_STACK(1));     /* its first object */
	maker_realloc(stream, 3000, 100, RH_CALL_POOL_REALLOC, 64, 96, 20, MAKER_STACK(1));
	maker_free(stream, 4000, RH_FREE_FREE, 64);
	maker_free(stream, 5000, RH_FREE_POOL, 96);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, rows, "1000|4000|1000|64|1|1|0\n2000|2900|10|64|1|1|1\n3000|5000|20|96|1|1|0\n");
	test_rows(test, counts, "0\n0\n");
}

static void temporary_is_what_its_own_thread_ended_before_its_next_allocation(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *one = maker_stream(maker, 0, 1, 100), *two = maker_stream(maker, 1, 2, 101);

	maker_alloc(one, 10, RH_CALL_MALLOC, 16, 100, MAKER_STACK(1));
	maker_alloc(two, 11, RH_CALL_MALLOC, 96, 5, MAKER_STACK(9)); /* another thread's allocation is no hindrance */
	maker_free(one, 20, RH_FREE_FREE, 16);			     /* temporary */
	maker_alloc(one, 30, RH_CALL_MALLOC, 32, 200, MAKER_STACK(2));
	maker_alloc(one, 40, RH_CALL_MALLOC, 48, 300, MAKER_STACK(3));
	maker_free(one, 50, RH_FREE_FREE, 32); /* not: there was another one */
	maker_free(two, 60, RH_FREE_FREE, 48); /* not: another thread */
	maker_alloc(one, 70, RH_CALL_MALLOC, 48, 400, MAKER_STACK(4));
	maker_realloc(one, 90, 10, RH_CALL_REALLOC, 48, 64, 500, MAKER_STACK(4)); /* the realloc ended it at 80: temporary */
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT c.bytes, temporary, temporary_bytes FROM callsites c ORDER BY bytes",
		  "5|0|0\n100|1|100\n200|0|0\n300|0|0\n900|1|400\n");
	test_rows(test, "SELECT temporary, temporary_bytes, allocations FROM temporary ORDER BY temporary_bytes", "1|100|1\n1|400|2\n");
}

static void the_peak_is_told_per_call_site(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 100, MAKER_STACK(1));
	maker_alloc(stream, 20, RH_CALL_MALLOC, 32, 200, MAKER_STACK(2));
	maker_free(stream, 30, RH_FREE_FREE, 16);
	maker_alloc(stream, 40, RH_CALL_MALLOC, 48, 300, MAKER_STACK(2));
	maker_alloc(stream, 50, RH_CALL_MALLOC, 64, 50, MAKER_STACK(3)); /* 550: the peak, with three blocks */
	maker_free(stream, 50, RH_FREE_FREE, 48);			 /* at the same instant, but after it */
	maker_alloc(stream, 50, RH_CALL_MALLOC, 80, 10, MAKER_STACK(4)); /* likewise */
	maker_free(stream, 60, RH_FREE_FREE, 32);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT bytes, peak, peak_bytes FROM callsites ORDER BY bt", "100|0|0\n500|2|500\n50|1|50\n10|0|0\n");
	test_rows(test, "SELECT peak_bytes, peak FROM peak", "500|2\n50|1\n");
	test_rows(test, "SELECT key, value FROM metadata WHERE key LIKE 'peak%' ORDER BY key",
		  "peak_after|5.0e-05\npeak_allocations|3\npeak_bytes|550\n");
}

static void a_sampled_profile_counts_each_row_with_its_weight(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_set(maker, "sample_rate", "0.25");
	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 100, MAKER_STACK(1));
	maker_alloc(stream, 20, RH_CALL_MALLOC, 32, 300, MAKER_STACK(1));
	maker_free(stream, 30, RH_FREE_FREE, 32);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT weight, size FROM allocations", "4.0|100\n4.0|300\n");
	test_rows(test, "SELECT allocations, bytes, live, live_bytes, peak, peak_bytes, temporary FROM callsites",
		  "8|1600|4|400|8|1600|4\n");
	test_rows(test, "SELECT sum(allocated), sum(allocated_bytes), sum(freed), sum(freed_bytes) FROM timeline", "8|1600|4|1200\n");
	test_rows(test, "SELECT * FROM sizes WHERE allocations > 0", "64|127|4|400\n256|511|4|1200\n");
	test_rows(test, "SELECT value FROM metadata WHERE key = 'sampled'", "1\n");
}

static void a_profile_sampled_by_bytes_weighs_each_row_by_its_size(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_set(maker, "sample_interval", "1024");
	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 0, MAKER_STACK(1)); /* counts as one byte */
	maker_alloc(stream, 20, RH_CALL_MALLOC, 32, 1, MAKER_STACK(1));
	maker_alloc(stream, 30, RH_CALL_MALLOC, 48, 1024, MAKER_STACK(1));
	maker_free(stream, 40, RH_FREE_FREE, 48);
	maker_alloc(stream, 50, RH_CALL_MALLOC, 64, 1 << 20, MAKER_STACK(1));
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	/* 1/(1 - exp(-1/1024)), 1/(1 - exp(-1)), 1 */
	test_rows(test, "SELECT size, round(weight, 6) FROM allocations",
		  "0|1024.500081\n1|1024.500081\n1024|1.581977\n1048576|1.0\n");
	test_rows(test, "SELECT round(allocations, 4), round(bytes, 3), round(live, 4), round(live_bytes, 3) FROM callsites",
		  "2051.5821|1051220.444|2050.0002|1049600.5\n");
	test_rows(test, "SELECT round(sum(allocated), 4), round(sum(freed), 6), round(sum(freed_bytes), 3) FROM timeline",
		  "2051.5821|1.581977|1619.944\n");
	test_rows(test, "SELECT value FROM metadata WHERE key = 'sampled'", "1\n");
}

/* With a sample in each byte there is nothing to guess. */
static void an_interval_of_one_byte_is_everything(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_set(maker, "sample_interval", "1");
	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(1));
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT weight FROM allocations", "1.0\n");
	test_rows(test, "SELECT value FROM metadata WHERE key = 'sampled'", "0\n");
}

static void processes_have_their_own_addresses(void **state)
{
	struct test *test = *state;

	for (int i = 0; i < 2; i++) {
		struct maker *maker = maker_new(test->directory, i ? "rip-2" : "rip-1");
		struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

		if (i) { /* began 5 us after the first, on the same machine; the wall clock was set back meanwhile */
			maker_set(maker, "pid", "4712");
			maker_set(maker, "start_ticks", "5000");
			maker_set(maker, "start_monotonic", "5000");
			maker_set(maker, "start_realtime", "1000000000000000001");
		}
		maker_alloc(stream, i ? 6000 : 1000, RH_CALL_MALLOC, 64, 10, MAKER_STACK(1));
		maker_free(stream, 9000, RH_FREE_FREE, 64);
		maker_finish(maker);
	}
	TEST_RIP(test, "rip-1", "rip-2");
	test_rows(test, rows, "1000|9000|10|64|1|1|0\n6000|9000|10|64|2|2|0\n");
	test_rows(test, "SELECT id, pid, duration FROM processes", "1|4711|0.009\n2|4712|0.004\n");
	test_rows(test, "SELECT process FROM allocations", "1\n2\n");
	test_rows(test, "SELECT id, process, tid FROM threads", "1|1|100\n2|2|100\n");
	test_rows(test, counts, "0\n0\n");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_free_ends_its_block_and_one_without_stays_live),
	    TEST(an_address_lives_again_after_its_free),
	    TEST(streams_are_merged_by_time),
	    TEST(at_the_same_instant_the_free_comes_first),
	    TEST(what_is_freed_at_an_instant_is_not_live_beside_what_is_allocated_then),
	    TEST(a_free_that_another_threads_clock_made_late_still_ends_the_old_block),
	    TEST(a_late_free_is_found_in_the_next_chunk_too),
	    TEST(an_address_that_comes_back_without_a_free_closes_the_old_block_as_reused),
	    TEST(the_allocating_threads_own_later_free_is_not_mistaken_for_a_late_one),
	    TEST(a_realloc_ends_the_old_block_when_it_began_and_starts_the_new_one_when_it_was_done),
	    TEST(events_of_a_signal_handler_within_a_realloc_see_its_old_address_free),
	    TEST(a_realloc_of_an_unknown_block_opens_a_row),
	    TEST(frees_of_unknown_blocks_are_counted),
	    TEST(a_realloc_whose_new_block_is_not_recorded_ends_the_old_one_as_reallocated),
	    TEST(pools_pair_apart_from_the_heap),
	    TEST(temporary_is_what_its_own_thread_ended_before_its_next_allocation),
	    TEST(the_peak_is_told_per_call_site),
	    TEST(a_sampled_profile_counts_each_row_with_its_weight),
	    TEST(a_profile_sampled_by_bytes_weighs_each_row_by_its_size),
	    TEST(an_interval_of_one_byte_is_everything),
	    TEST(processes_have_their_own_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
