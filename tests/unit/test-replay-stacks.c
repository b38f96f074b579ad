/* SPDX-License-Identifier: MIT
 *
 * Stacks: which frames a backtrace has, in which stay of which module, and what is folded.
 */
#include "config.h"

#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "support/database.h"
#include "support/log-maker.h"

static void a_backtrace_has_its_frames_innermost_first(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x103, 0x102, 0x101));
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT * FROM backtraces", "1|0|-|-|-|-|259|0\n1|1|-|-|-|-|258|0\n1|2|-|-|-|-|257|0\n");
}

static void equal_stacks_share_one_number_also_across_chunks_and_threads(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *one = maker_stream(maker, 0, 1, 100), *two = maker_stream(maker, 1, 2, 101);

	maker_alloc(one, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x103, 0x102, 0x101));
	maker_alloc(one, 20, RH_CALL_MALLOC, 32, 2, MAKER_STACK(0x104, 0x102, 0x101));
	maker_flush(one);
	maker_alloc(one, 30, RH_CALL_MALLOC, 48, 3, MAKER_STACK(0x103, 0x102, 0x101));
	maker_alloc(two, 40, RH_CALL_MALLOC, 64, 4, MAKER_STACK(0x104, 0x102, 0x101));
	maker_alloc(two, 50, RH_CALL_MALLOC, 80, 5, MAKER_STACK(0x102, 0x101)); /* a stack that is the outer part of others */
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT group_concat(size) FROM allocations GROUP BY bt ORDER BY min(size)", "1,3\n2,4\n5\n");
	test_rows(test, "SELECT count(*), min(bt), max(bt) FROM callsites", "3|1|3\n");
}

static void a_thread_change_within_a_stream_begins_a_new_stack(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x102, 0x101));
	maker_thread(stream, 2, 101);
	maker_alloc(stream, 20, RH_CALL_MALLOC, 32, 2, MAKER_STACK(0x103));
	maker_thread(stream, 1, 100);
	maker_alloc(stream, 30, RH_CALL_MALLOC, 48, 3, MAKER_STACK(0x102, 0x101));
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test,
		  "SELECT size, alloc_thread, group_concat(addr) FROM (SELECT a.size, a.alloc_thread, b.addr FROM allocations a, "
		  "backtraces b WHERE b.id = a.bt ORDER BY a.size, b.frame_no) GROUP BY size",
		  "1|1|258,257\n2|2|259\n3|1|258,257\n");
}

static void deep_stacks_need_more_than_a_nibble(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);
	uint64_t deep[300];

	maker_set(maker, "max_stack_depth", "300");
	for (size_t i = 0; i < 300; i++)
		deep[i] = 0x1000 + i;
	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, deep, 300);
	maker_alloc(stream, 20, RH_CALL_MALLOC, 32, 2, deep + 290, 10); /* pops 290 */
	maker_alloc(stream, 30, RH_CALL_MALLOC, 48, 3, deep, 300);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test,
		  "SELECT size, count(*), min(b.addr - frame_no), max(b.addr - frame_no) FROM allocations a, backtraces b WHERE id = bt "
		  "GROUP BY a.rowid",
		  "1|300|4096|4096\n2|10|4386|4386\n3|300|4096|4096\n");
}

static void pcs_that_share_an_entry_of_the_dictionary_stay_apart(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);
	uint64_t other = 0x1001;

	while (rh_pc_slot(other) != rh_pc_slot(0x1000))
		other++;
	maker_module(stream, 0, 0, 0, 0x100000, "/lib/first.so", "\1");
	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x1000, other, 0x1000));
	maker_alloc(stream, 20, RH_CALL_MALLOC, 32, 2, MAKER_STACK(other, 0x1000));
	maker_alloc(stream, 30, RH_CALL_MALLOC, 48, 3, MAKER_STACK(0x1000, other, 0x1000));
	/* All frames are looked up again: one's entry is the other's by now. */
	maker_unload(stream, 40, 0);
	maker_module(stream, 50, 0, 0, 0x100000, "/lib/second.so", "\2");
	maker_alloc(stream, 60, RH_CALL_MALLOC, 64, 4, MAKER_STACK(0x1000, other, 0x1000));
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(
	    test,
	    "SELECT size, group_concat(CASE b.addr WHEN 4096 THEN 'same' ELSE 'other' END), max(module) FROM (SELECT a.size, b.* FROM "
	    "allocations a, backtraces b WHERE b.id = a.bt ORDER BY a.size, b.frame_no) b GROUP BY size",
	    "1|same,other,same|/lib/first.so\n2|other,same|/lib/first.so\n3|same,other,same|/lib/first.so\n"
	    "4|same,other,same|/lib/second.so\n");
	test_rows(test, "SELECT group_concat(bt) FROM (SELECT bt FROM allocations ORDER BY size)", "2,1,2,3\n");
}

static void tens_of_thousands_of_stacks_keep_their_numbers(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	for (uint64_t i = 0; i < 90000; i++) {
		uint64_t site = i % 30000 * 7 % 30000;

		maker_alloc(stream, i, RH_CALL_MALLOC, i * 16, site,
			    MAKER_STACK(0x3000 + site % 32, 0x2000 + site / 32 % 32, 0x1000 + site / 1024));
		if (maker_length(stream) > 200000)
			maker_flush(stream);
	}
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT count(DISTINCT bt), count(DISTINCT size), count(DISTINCT bt || ' ' || size) FROM allocations",
		  "30000|30000|30000\n");
	test_rows(test, "SELECT count(*) FROM callsites WHERE allocations = 3", "30000\n");
	test_rows(test,
		  "SELECT count(*) FROM (SELECT DISTINCT bt, size FROM allocations), backtraces WHERE id = bt AND frame_no = 0 AND addr = "
		  "12288 + "
		  "size % 32",
		  "30000\n");
}

static void an_allocation_without_a_stack_has_a_number_and_no_frames(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, NULL, 0);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT bt, allocations FROM callsites", "1|1\n");
	test_rows(test, "SELECT count(*) FROM backtraces", "0\n");
	test_rows(test, "SELECT bt, bytes, sym FROM top", "1|1|-\n");
}

static void the_same_pc_after_a_reload_at_the_same_place_is_another_frame(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_module(stream, 0, 0x10000, 0x10000, 0x20000, "/lib/program", "");
	maker_module(stream, 5, 0x50000, 0x50000, 0x60000, "/lib/first.so", "\1\2");
	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x50100, 0x10100));
	maker_unload(stream, 20, 0x50000);
	maker_module(stream, 30, 0x50000, 0x50000, 0x60000, "/lib/second.so", "\3\4");
	/* The very same stack: its difference from the last one is nothing. */
	maker_alloc(stream, 40, RH_CALL_MALLOC, 32, 2, MAKER_STACK(0x50100, 0x10100));
	maker_alloc(stream, 50, RH_CALL_MALLOC, 48, 3, MAKER_STACK(0x50100, 0x10100));
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT size, frame_no, module FROM allocations, backtraces WHERE id = bt ORDER BY size, frame_no",
		  "1|0|/lib/first.so\n1|1|/lib/program\n2|0|/lib/second.so\n2|1|/lib/program\n3|0|/lib/second.so\n3|1|/lib/program\n");
	test_rows(test, "SELECT count(DISTINCT bt) FROM allocations", "2\n");
	test_rows(test, "SELECT path, build_id, base, start, \"end\", loaded * 1e6, unloaded * 1e6 FROM modules ORDER BY loaded",
		  "/lib/program|-|65536|65536|131072|0.0|-\n/lib/first.so|0102|327680|327680|393216|5.0|20.0\n"
		  "/lib/second.so|0304|327680|327680|393216|30.0|-\n");
}

static void a_module_that_lies_in_anothers_place_has_replaced_it(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_module(stream, 0, 0x50000, 0x50000, 0x60000, "/lib/first.so", "");
	maker_module(stream, 7, 0x58000, 0x58000, 0x68000, "/lib/second.so", ""); /* its predecessor's going was not seen */
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT path, loaded * 1e6, unloaded * 1e6 FROM modules ORDER BY id",
		  "/lib/first.so|0.0|7.0\n/lib/second.so|7.0|-\n");
}

static void a_module_said_twice_is_one(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_module(stream, 3, 0x50000, 0x50000, 0x60000, "/lib/first.so", "\1");
	maker_module(stream, 9, 0x50000, 0x50000, 0x60000, "/lib/first.so", "\1");
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT path, loaded * 1e6, unloaded FROM modules", "/lib/first.so|3.0|-\n");
}

static void an_event_before_its_module_was_noticed_belongs_to_it(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x50100)); /* in its constructor */
	maker_module(stream, 20, 0x50000, 0x50000, 0x60000, "/lib/first.so", "");
	maker_alloc(stream, 30, RH_CALL_MALLOC, 32, 2, MAKER_STACK(0x50100));
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT DISTINCT id, module FROM backtraces", "1|/lib/first.so\n");
}

static void a_return_address_behind_the_end_of_its_module_belongs_to_it_and_an_exact_one_does_not(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_module(stream, 0, 0x50000, 0x50000, 0x60000, "/lib/first.so", "");
	maker_module(stream, 0, 0x60000, 0x60000, 0x70000, "/lib/second.so", "");
	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x60000)); /* a call that does not return, as the last instruction */
	maker_alloc(stream, 20, RH_CALL_MALLOC, 32, 2, MAKER_STACK(0x60000 | RH_PC_EXACT));
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT size, module, b.addr FROM allocations, backtraces b WHERE id = bt ORDER BY size",
		  "1|/lib/first.so|393216\n2|/lib/second.so|393216\n");
}

/* A function of the C++ library and where it lies: in a profile its module has the same place. */
struct place {
	char path[4096];
	uint64_t base, address;
};

static int find_path(struct dl_phdr_info *info, size_t size, void *context)
{
	struct place *place = context;

	(void)size;
	if (info->dlpi_addr == place->base)
		snprintf(place->path, sizeof place->path, "%s", info->dlpi_name);
	return 0;
}

static bool find_operator(struct place *place, const char *name)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW), *function = library ? dlsym(library, name) : NULL;
	struct link_map *map;

	if (!function || dlinfo(library, RTLD_DI_LINKMAP, &map))
		return false;
	place->base = map->l_addr;
	place->address = (uint64_t)(uintptr_t)function + 5; /* a return address somewhere in it */
	dl_iterate_phdr(find_path, place);
	return place->path[0];
}

static void the_cxx_librarys_own_operator_new_is_folded_into_the_call(void **state)
{
	struct test *test = *state;
	struct place scalar = {0}, array = {0};
	struct maker *maker;
	struct maker_stream *stream;

	if (!find_operator(&scalar, "_Znwm") || !find_operator(&array, "_ZnamRKSt9nothrow_t"))
		skip();
	maker = maker_new(test->directory, "rip-1");
	stream = maker_stream(maker, 0, 1, 100);
	maker_module(stream, 0, 0x10000, 0x10000, 0x20000, "/lib/program", "");
	maker_module(stream, 0, scalar.base, scalar.base, scalar.base + 0x1000000, scalar.path, "");
	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(scalar.address, 0x10100));
	maker_alloc(stream, 20, RH_CALL_MALLOC, 32, 2, MAKER_STACK(scalar.address, array.address, 0x10100)); /* new[] calls new */
	maker_alloc(stream, 30, RH_CALL_NEW, 48, 3, MAKER_STACK(0x10100));
	maker_alloc(stream, 40, RH_CALL_MALLOC, 64, 4, MAKER_STACK(0x10200, scalar.address, 0x10100)); /* not innermost: stays */
	maker_alloc(stream, 50, RH_CALL_MALLOC, 80, 5, MAKER_STACK(scalar.address));		       /* all there is: stays */
	maker_finish(maker);
	test_rip_with_symbols(test, (const char *const[]){"rip-1", NULL});
	test_rows(test,
		  "SELECT size, name, bt, (SELECT count(*) FROM backtraces b WHERE b.id = bt) FROM allocations, calls c WHERE c.id = call "
		  "ORDER BY size",
		  "1|new|1|1\n2|new[]|1|1\n3|new|1|1\n4|malloc|2|3\n5|malloc|3|1\n");
	test_rows(test, "SELECT sym FROM backtraces WHERE id = 2 AND frame_no = 1", "operator new(unsigned long)\n");
	test_rows(test, "SELECT allocations, bytes FROM callsites WHERE bt = 1", "3|6\n");
}

static void the_views_name_the_innermost_frame_outside_the_libraries(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_module(stream, 0, 0x10000, 0x10000, 0x20000, "/bin/program", "");
	maker_module(stream, 0, 0x20000, 0x20000, 0x30000, "/lib/libc.so.6", "");
	maker_module(stream, 0, 0x30000, 0x30000, 0x40000, "/lib/libstdc++.so.6.0.30", "");
	maker_alloc(stream, 10, RH_CALL_STRDUP, 16, 1, MAKER_STACK(0x20100, 0x30100, 0x10300, 0x20200, 0x10100));
	maker_alloc(stream, 20, RH_CALL_STRDUP, 32, 2, MAKER_STACK(0x20100, 0x30100));
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT size, user_frame FROM allocations a, stacks s WHERE s.bt = a.bt ORDER BY size", "1|2\n2|0\n");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, test_setup, test_teardown)


static void no_backtrace_has_more_frames_than_max_stack_depth(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_set(maker, "max_stack_depth", "3");
	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x103, 0x102, 0x101));
	maker_alloc(stream, 20, RH_CALL_MALLOC, 32, 2, MAKER_STACK(0x104, 0x103, 0x102, 0x101));
	maker_alloc(stream, 30, RH_CALL_MALLOC, 48, 3, MAKER_STACK(0x105, 0x104, 0x103, 0x102, 0x101));
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test,
		  "SELECT size, group_concat(addr) FROM (SELECT a.size, b.addr FROM allocations a, backtraces b WHERE b.id = a.bt "
		  "ORDER BY a.size, b.frame_no) GROUP BY size",
		  "1|259,258,257\n2|260,259,258\n3|261,260,259\n");
}

static void stacks_that_differ_beyond_max_stack_depth_are_one(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_set(maker, "max_stack_depth", "2");
	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x103, 0x102, 0x101));
	maker_alloc(stream, 20, RH_CALL_MALLOC, 32, 2, MAKER_STACK(0x103, 0x102, 0x999));
	maker_alloc(stream, 30, RH_CALL_MALLOC, 48, 3, MAKER_STACK(0x103, 0x102));
	maker_alloc(stream, 40, RH_CALL_MALLOC, 64, 4, MAKER_STACK(0x103, 0x102, 0x103, 0x102, 0x101));
	maker_flush(stream);
	maker_alloc(stream, 50, RH_CALL_MALLOC, 80, 5, MAKER_STACK(0x103, 0x101, 0x101));
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT bt, allocations, bytes FROM callsites ORDER BY bt", "1|4|10\n2|1|5\n");
}

static void a_recursion_that_grows_far_beyond_max_stack_depth_is_cut_at_every_depth(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);
	uint64_t deep[200];

	maker_set(maker, "max_stack_depth", "50");
	for (size_t i = 0; i < 200; i++)
		deep[i] = 0x1000 + i;
	for (size_t depth = 1; depth <= 200; depth++)
		maker_alloc(stream, 10 * depth, RH_CALL_MALLOC, 16 * depth, depth, deep + 200 - depth, depth);
	for (size_t depth = 199; depth >= 1; depth--)
		maker_alloc(stream, 10 * (400 - depth), RH_CALL_MALLOC, 16 * (400 - depth), depth, deep + 200 - depth, depth);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test,
		  "SELECT count(*), sum(frames = min(size, 50)), sum(first = 4096 + 200 - size) FROM (SELECT size, count(*) AS frames, min(b.addr) AS "
		  "first FROM allocations a, backtraces b WHERE id = bt GROUP BY a.rowid)",
		  "399|399|399\n");
	test_rows(test, "SELECT count(DISTINCT bt) FROM allocations", "200\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_backtrace_has_its_frames_innermost_first),
	    TEST(equal_stacks_share_one_number_also_across_chunks_and_threads),
	    TEST(a_thread_change_within_a_stream_begins_a_new_stack),
	    TEST(deep_stacks_need_more_than_a_nibble),
	    TEST(a_recursion_that_grows_far_beyond_max_stack_depth_is_cut_at_every_depth),
	    TEST(stacks_that_differ_beyond_max_stack_depth_are_one),
	    TEST(no_backtrace_has_more_frames_than_max_stack_depth),
	    TEST(pcs_that_share_an_entry_of_the_dictionary_stay_apart),
	    TEST(tens_of_thousands_of_stacks_keep_their_numbers),
	    TEST(an_allocation_without_a_stack_has_a_number_and_no_frames),
	    TEST(the_same_pc_after_a_reload_at_the_same_place_is_another_frame),
	    TEST(a_module_that_lies_in_anothers_place_has_replaced_it),
	    TEST(a_module_said_twice_is_one),
	    TEST(an_event_before_its_module_was_noticed_belongs_to_it),
	    TEST(a_return_address_behind_the_end_of_its_module_belongs_to_it_and_an_exact_one_does_not),
	    TEST(the_cxx_librarys_own_operator_new_is_folded_into_the_call),
	    TEST(the_views_name_the_innermost_frame_outside_the_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
