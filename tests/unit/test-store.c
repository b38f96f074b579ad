/* SPDX-License-Identifier: MIT
 *
 * The database: every table and view, by numbers that can be checked by hand.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "support/database.h"
#include "support/log-maker.h"

#define MS UINT64_C(1000000)

/* Two call sites of a program and one of a plugin, over 20 seconds. */
static void rip_example(struct test *test)
{
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *one = maker_stream(maker, 0, 1, 100), *two = maker_stream(maker, 1, 2, 101);

	maker_set(maker, "ended", "disabled");
	maker_set(maker, "end_ticks", "20000000000");
	maker_set(maker, "new_thing", "kept");
	maker_module(one, 0, 0x10000, 0x10000, 0x20000, "/bin/program", "\xab\xcd");
	maker_name(one, "main");
	maker_alloc(one, 1000 * MS, RH_CALL_MALLOC, 4096, 100, MAKER_STACK(0x10200, 0x10100));
	maker_alloc(one, 2000 * MS, RH_CALL_CALLOC, 8192, 200, MAKER_STACK(0x10200, 0x10100));
	maker_mark(one, 2500 * MS, "half way");
	maker_rss(one, 3000 * MS, 1048576);
	maker_free(one, 3000 * MS, RH_FREE_FREE, 4096);
	maker_alloc(two, 4000 * MS, RH_CALL_STRDUP, 12288, 0, MAKER_STACK(0x10300, 0x10100));
	maker_rss(two, 10000 * MS, 2097152);
	maker_free(two, 15000 * MS, RH_FREE_FREE, 8192);
	maker_alloc(two, 16000 * MS, RH_CALL_NEW, 16384, 4000, MAKER_STACK(0x10400));
	maker_loss(two, RH_LOSS_NESTED, 3);
	maker_slot_lost(two, RH_LOSS_MEMORY, 5);
	maker_slab_lost(maker, RH_LOSS_TRACKER, 7);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
}

static void the_readmes_queries_run_verbatim(void **state)
{
	struct test *test = *state;

	rip_example(test);
	test_rows(test, "SELECT bt, sum(size) FROM allocations GROUP BY bt ORDER BY sum(size) DESC LIMIT 10;", "3|4000\n1|300\n2|0\n");
	test_rows(test,
		  "SELECT bt, count(0), sum(size) FROM allocations where dealloc_after NOT NULL AND dealloc_after - alloc_after < 10000 "
		  "GROUP BY bt ORDER BY sum(size) DESC LIMIT 5;",
		  "1|1|100\n");
	test_rows(test, "select frame_no, sym from backtraces where id = '1' limit 10;", "0|-\n1|-\n");
}

static void a_quoted_id_finds_its_backtrace_by_the_key(void **state)
{
	struct test *test = *state;
	sqlite3_stmt *plan;

	rip_example(test);
	assert_int_equal(sqlite3_prepare_v2(test->db, "EXPLAIN QUERY PLAN select frame_no, sym from backtraces where id = '148' limit 10",
					    -1, &plan, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(plan), SQLITE_ROW);
	assert_string_equal(sqlite3_column_text(plan, 3), "SEARCH f USING PRIMARY KEY (bt=?)");
	assert_int_equal(sqlite3_step(plan), SQLITE_ROW);
	assert_string_equal(sqlite3_column_text(plan, 3), "SEARCH l USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN");
	assert_int_equal(sqlite3_step(plan), SQLITE_DONE);
	sqlite3_finalize(plan);
}

static void allocations_have_the_promised_columns(void **state)
{
	struct test *test = *state;

	rip_example(test);
	test_rows(test, "SELECT * FROM allocations",
		  "1000.0|3000.0|1|100|4096|1|1|1|0|0|1.0\n2000.0|15000.0|1|200|8192|1|2|1|1|0|1.0\n"
		  "4000.0|-|2|0|12288|2|-|1|9|-|1.0\n16000.0|-|3|4000|16384|2|-|1|18|-|1.0\n");
	test_rows(
	    test, "SELECT group_concat(name || ' ' || type, ', ') FROM pragma_table_info('allocations')",
	    "alloc_after REAL, dealloc_after REAL, bt INTEGER, size INTEGER, addr INTEGER, alloc_thread INTEGER, dealloc_thread INTEGER, "
	    "process INTEGER, call INTEGER, ended INTEGER, weight REAL\n");
}

static void every_other_table_and_view_has_the_promised_columns(void **state)
{
	static const char *const promised[][2] = {
	    {"backtraces", "id,frame_no,file,line,sym,module,addr,inlined"},
	    {"metadata", "key,value"},
	    {"calls", "id,name"},
	    {"marks", "t,process,thread,name"},
	    {"losses", "process,thread,kind,count"},
	    {"processes", "id,pid,parent,host,boot_id,exe,cmdline,started,duration,ended,frontend,backend,sample_rate,sample_interval,"
			  "truncated,parent_process,unmatched_frees"},
	    {"threads", "id,process,tid,name,first,last"},
	    {"modules", "id,process,path,build_id,base,start,end,loaded,unloaded,debug_file,status"},
	    {"callsites", "bt,allocations,bytes,live,live_bytes,peak,peak_bytes,temporary,temporary_bytes,lifetime_min,lifetime_avg,"
			  "lifetime_max"},
	    {"timeline", "t,live,live_bytes,allocated,allocated_bytes,freed,freed_bytes,rss_bytes"},
	    {"sizes", "size_from,size_to,allocations,bytes"},
	    {"lifetimes", "from_ms,to_ms,allocations,bytes"},
	};
	struct test *test = *state;
	char sql[200], expected[300];

	rip_example(test);
	for (size_t i = 0; i < sizeof promised / sizeof *promised; i++) {
		snprintf(sql, sizeof sql, "SELECT group_concat(name) FROM pragma_table_info('%s')", promised[i][0]);
		snprintf(expected, sizeof expected, "%s\n", promised[i][1]);
		test_rows(test, sql, expected);
	}
}

static void call_sites_add_up(void **state)
{
	struct test *test = *state;

	rip_example(test);
	test_rows(test, "SELECT * FROM callsites ORDER BY bt",
		  "1|2|300|0|0|0|0|0|0|2000.0|7500.0|13000.0\n2|1|0|1|0|1|0|0|0|-|-|-\n3|1|4000|1|4000|1|4000|0|0|-|-|-\n");
}

static void the_views_sort_call_sites_and_leave_out_those_with_nothing(void **state)
{
	struct test *test = *state;

	rip_example(test);
	test_rows(test, "SELECT bt, bytes, allocations FROM top", "3|4000|1\n1|300|2\n2|0|1\n");
	test_rows(test, "SELECT bt, live_bytes, live FROM leaks", "3|4000|1\n2|0|1\n");
	test_rows(test, "SELECT bt, peak_bytes, peak FROM peak", "3|4000|1\n2|0|1\n");
	test_rows(test, "SELECT bt, temporary FROM temporary", "");
	test_rows(test, "SELECT group_concat(name) FROM pragma_table_info('top')", "bt,bytes,allocations,sym,file,line\n");
}

static void sizes_are_classed_by_powers_of_two_and_lifetimes_by_decades(void **state)
{
	struct test *test = *state;

	rip_example(test);
	test_rows(test, "SELECT * FROM sizes WHERE allocations > 0", "0|0|1|0\n64|127|1|100\n128|255|1|200\n2048|4095|1|4000\n");
	test_rows(test, "SELECT count(*), min(size_from), max(size_to) FROM sizes", "13|0|4095\n"); /* no gaps */
	test_rows(test, "SELECT * FROM lifetimes", "1000.0|10000.0|1|100\n10000.0|100000.0|1|200\n");
}

static void class_limits_belong_to_the_right_class(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);
	static const uint64_t cases[][2] = {{1, 999}, {2, 1000}, {3, 9999}, {4, 10000}, {7, 1000000}, {8, 999999}};
	uint64_t time = 0;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		maker_alloc(stream, time, RH_CALL_MALLOC, 16, cases[i][0], MAKER_STACK(1));
		maker_free(stream, time += cases[i][1], RH_FREE_FREE, 16);
	}
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT * FROM sizes", "1|1|1|1\n2|3|2|5\n4|7|2|11\n8|15|1|8\n");
	test_rows(test, "SELECT * FROM lifetimes", "0.0|0.001|1|1\n0.001|0.01|2|5\n0.01|0.1|1|4\n0.1|1.0|1|8\n1.0|10.0|1|7\n");
}

static void the_timeline_has_a_thousand_steps_that_end_with_the_profile(void **state)
{
	struct test *test = *state;

	rip_example(test);
	test_rows(test, "SELECT count(*), max(t) FROM timeline", "1000|20000.0\n");
	test_rows(test,
		  "SELECT round(t), live, live_bytes, allocated, allocated_bytes, freed, freed_bytes FROM timeline "
		  "WHERE allocated OR freed",
		  "1000.0|1|100|1|100|0|0\n2000.0|2|300|1|200|0|0\n3000.0|1|200|0|0|1|100\n4000.0|2|200|1|0|0|0\n15000.0|1|0|0|0|1|200\n"
		  "16000.0|2|4000|1|4000|0|0\n");
	test_rows(test, "SELECT min(t) > 2999 AND min(t) < 3021, max(t), rss_bytes FROM timeline WHERE rss_bytes = 1048576",
		  "1|9980.000499|1048576\n");
	test_rows(test, "SELECT count(*) FROM timeline WHERE rss_bytes IS NULL AND t < 3000", "149\n");
	test_rows(test, "SELECT rss_bytes FROM timeline ORDER BY t DESC LIMIT 1", "2097152\n");
}

static void who_ran_is_told(void **state)
{
	struct test *test = *state;

	rip_example(test);
	test_rows(test, "SELECT * FROM processes",
		  "1|4711|1|testhost|boot-1|/bin/program|program -x|1000000000000.0|20000.0|disabled|wrap|glibc|1.0|0|0|-|0\n");
	test_rows(test, "SELECT * FROM threads", "1|1|100|main|1000.0|3000.0\n2|1|101|-|4000.0|16000.0\n");
	test_rows(test, "SELECT * FROM modules", "1|1|/bin/program|abcd|65536|65536|131072|0.0|-|-|unused\n");
	test_rows(test, "SELECT * FROM marks", "2500.0|1|1|half way\n");
	test_rows(test, "SELECT * FROM losses ORDER BY kind", "1|-|memory|5\n1|2|nested|3\n1|-|tracker|7\n");
	test_rows(test, "SELECT group_concat(name) FROM (SELECT name FROM calls ORDER BY id LIMIT 3)", "malloc,calloc,realloc\n");
}

static void metadata_tell_what_was_made_of_it(void **state)
{
	struct test *test = *state;

	rip_example(test);
	test_rows(
	    test,
	    "SELECT key, value FROM metadata WHERE key IN ('schema_version', 'events', 'allocations', 'unmatched_frees', "
	    "'reuse_closures', 'sampled', 'new_thing', 'peak_bytes', 'rheaper') ORDER BY key",
	    "allocations|4\nevents|6\nnew_thing|kept\npeak_bytes|4000\nreuse_closures|0\nrheaper|0.0-test\nsampled|0\nschema_version|2\n"
	    "unmatched_frees|0\n");
	test_rows(test, "PRAGMA user_version", "2\n");
	test_rows(test, "PRAGMA application_id", "1380470866\n"); /* "RHPR" */
	test_rows(test, "SELECT value = '" PACKAGE_VERSION "' FROM metadata WHERE key = 'rheaper_rip_version'", "1\n");
}

static void manifest_lines_of_further_processes_carry_their_number(void **state)
{
	struct test *test = *state;

	for (int i = 0; i < 2; i++) {
		struct maker *maker = maker_new(test->directory, i ? "rip-2" : "rip-1");

		maker_set(maker, "new_thing", i ? "two" : "one");
		maker_set(maker, "events", "a name of ours");
		maker_finish(maker);
	}
	TEST_RIP(test, "rip-1", "rip-2");
	test_rows(test, "SELECT key, value FROM metadata WHERE key LIKE 'new_thing%' OR key LIKE 'events%' ORDER BY key",
		  "events|0\nevents.1|a name of ours\nevents.2|a name of ours\nnew_thing|one\nnew_thing.2|two\n");
}

static void an_empty_profile_makes_a_database_and_says_so(void **state)
{
	struct test *test = *state;
	char expected[4300];

	maker_finish(maker_new(test->directory, "rip-1"));
	TEST_RIP(test, "rip-1");
	snprintf(expected, sizeof expected,
		 "%s/rip-1: the profile is empty: nothing was recorded: no code that is linked with the wrap flags allocated while "
		 "tracking was on\n",
		 test->directory);
	assert_string_equal(test->warnings, expected);
	test_rows(test, "SELECT count(*) FROM allocations", "0\n");
	test_rows(test, "SELECT * FROM top", "");
	test_rows(test, "SELECT * FROM timeline", "0.0|0|0|0|0|0|0|-\n");
	test_rows(test, "SELECT ended FROM processes", "unknown\n");
}

static void the_file_is_sound(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	for (uint64_t i = 0; i < 20000; i++) {
		maker_alloc(stream, i * 10, RH_CALL_MALLOC, i * 16, i, MAKER_STACK(0x10000 + i % 777, 0x100));
		if (maker_length(stream) > 60000)
			maker_flush(stream);
	}
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "PRAGMA integrity_check", "ok\n");
	test_rows(test, "SELECT count(*), count(DISTINCT bt), sum(size) FROM allocations", "20000|777|199990000\n");
	test_rows(test, "SELECT sum(allocations), sum(bytes), sum(live_bytes), sum(peak_bytes) FROM callsites",
		  "20000|199990000|199990000|199990000\n");
	test_rows(test, "PRAGMA page_size", "32768\n");
	test_rows(test, "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'allocations'", "0\n");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(the_readmes_queries_run_verbatim),
	    TEST(a_quoted_id_finds_its_backtrace_by_the_key),
	    TEST(allocations_have_the_promised_columns),
	    TEST(every_other_table_and_view_has_the_promised_columns),
	    TEST(call_sites_add_up),
	    TEST(the_views_sort_call_sites_and_leave_out_those_with_nothing),
	    TEST(sizes_are_classed_by_powers_of_two_and_lifetimes_by_decades),
	    TEST(class_limits_belong_to_the_right_class),
	    TEST(the_timeline_has_a_thousand_steps_that_end_with_the_profile),
	    TEST(who_ran_is_told),
	    TEST(metadata_tell_what_was_made_of_it),
	    TEST(manifest_lines_of_further_processes_carry_their_number),
	    TEST(an_empty_profile_makes_a_database_and_says_so),
	    TEST(the_file_is_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
