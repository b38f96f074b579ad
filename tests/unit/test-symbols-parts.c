/* SPDX-License-Identifier: MIT
 *
 * The symbolizer's own data structures: address intervals, line programs made by hand, demangling, strings.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"
#include "symbols/intervals.h"
#include "symbols/line-table.h"
#include "symbols/strings.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- Intervals ---- */

#define NOBODY UINT32_MAX

static uint32_t owner_of(const struct symbols_intervals *intervals, uint64_t address)
{
	const struct symbols_interval *found = symbols_intervals_find(intervals, address);

	return found ? found->owner : NOBODY;
}

static void the_innermost_interval_owns_an_address(void **state)
{
	struct symbols_intervals intervals = {0};

	(void)state;
	assert_true(symbols_intervals_add(&intervals, 0x100, 0x200, 0));
	assert_true(symbols_intervals_add(&intervals, 0x120, 0x160, 1));
	assert_true(symbols_intervals_add(&intervals, 0x130, 0x140, 2));
	assert_true(symbols_intervals_flatten(&intervals));
	assert_int_equal(owner_of(&intervals, 0xff), NOBODY);
	assert_int_equal(owner_of(&intervals, 0x100), 0);
	assert_int_equal(owner_of(&intervals, 0x120), 1);
	assert_int_equal(owner_of(&intervals, 0x130), 2);
	assert_int_equal(owner_of(&intervals, 0x13f), 2);
	assert_int_equal(owner_of(&intervals, 0x140), 1);
	assert_int_equal(owner_of(&intervals, 0x160), 0);
	assert_int_equal(owner_of(&intervals, 0x1ff), 0);
	assert_int_equal(owner_of(&intervals, 0x200), NOBODY);
	symbols_intervals_free(&intervals);
}

static void of_equal_intervals_the_later_owner_wins(void **state)
{
	struct symbols_intervals intervals = {0};

	(void)state;
	assert_true(symbols_intervals_add(&intervals, 0x100, 0x200, 5));
	assert_true(symbols_intervals_add(&intervals, 0x100, 0x200, 4));
	assert_true(symbols_intervals_flatten(&intervals));
	assert_int_equal(owner_of(&intervals, 0x180), 5);
	symbols_intervals_free(&intervals);
}

static void an_interval_that_outlives_its_parent_keeps_its_rest(void **state)
{
	struct symbols_intervals intervals = {0};

	(void)state;
	assert_true(symbols_intervals_add(&intervals, 0x100, 0x180, 0));
	assert_true(symbols_intervals_add(&intervals, 0x140, 0x200, 1));
	assert_true(symbols_intervals_flatten(&intervals));
	assert_int_equal(owner_of(&intervals, 0x13f), 0);
	assert_int_equal(owner_of(&intervals, 0x17f), 1);
	assert_int_equal(owner_of(&intervals, 0x1ff), 1);
	symbols_intervals_free(&intervals);
}

static void empty_and_wrapped_intervals_own_nothing(void **state)
{
	struct symbols_intervals intervals = {0};

	(void)state;
	assert_true(symbols_intervals_flatten(&intervals));
	assert_int_equal(owner_of(&intervals, 0), NOBODY);
	assert_true(symbols_intervals_add(&intervals, 0x100, 0x100, 0));
	assert_true(symbols_intervals_add(&intervals, UINT64_MAX, 0x10, 0));
	assert_true(symbols_intervals_flatten(&intervals));
	assert_int_equal(owner_of(&intervals, 0x100), NOBODY);
	assert_int_equal(owner_of(&intervals, UINT64_MAX), NOBODY);
	symbols_intervals_free(&intervals);
}

/* Every address of a small space, against a search through all intervals. */
static void flattening_agrees_with_trying_all_intervals(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct symbols_intervals intervals = {0};
		uint64_t low[24], high[24];

		for (uint32_t i = 0; i < COUNT(low); i++) {
			random = random * 1664525 + 1013904223;
			low[i] = random >> 26;
			high[i] = low[i] + (random >> 10) % 20;
			assert_true(symbols_intervals_add(&intervals, low[i], high[i], i));
		}
		assert_true(symbols_intervals_flatten(&intervals));
		for (uint64_t address = 0; address < 100; address++) {
			uint32_t best = NOBODY;

			for (uint32_t i = 0; i < COUNT(low); i++)
				if (low[i] <= address && address < high[i] && (best == NOBODY || low[i] >= low[best]))
					best = i;
			assert_int_equal(owner_of(&intervals, address), best);
		}
		symbols_intervals_free(&intervals);
	}
}

/* ---- Line programs ---- */

/* Everything after unit_length of a version 5 header with two directories and two files, up to the program. */
#define V5_AFTER_LENGTH \
	"\x05\x00" \
	"\x08\x00" \
	"\x2e\x00\x00\x00" \
	"\x01\x01\x01\xfb\x0e\x0d" \
	"\x00\x01\x01\x01\x01\x00\x00\x00\x01\x00\x00\x01" \
	"\x01\x01\x08\x02" \
	"/c\0d\0" \
	"\x02\x01\x08\x02\x0b\x02" \
	"one.c\0\x00" \
	"two.h\0\x01"
#define SET_ADDRESS_1000 "\x00\x09\x02\x00\x10\x00\x00\x00\x00\x00\x00"
#define COPY "\x01"
#define ADVANCE_LINE(n) "\x03" n
#define ADVANCE_PC(n) "\x02" n
#define SET_FILE(n) "\x04" n
#define END_SEQUENCE "\x00\x01\x01"

struct program {
	unsigned char bytes[512];
	struct symbols_line_sections sections;
	struct symbols_line_table *table;
	struct symbols_strings strings;
};

static void read_program(struct program *program, const char *body, size_t size, uint64_t lowest)
{
	static const char header[] = V5_AFTER_LENGTH;
	size_t head = sizeof header - 1;
	uint32_t length = (uint32_t)(head + size);

	memset(program, 0, sizeof *program);
	assert_true(4 + head + size <= sizeof program->bytes);
	memcpy(program->bytes, &length, 4);
	memcpy(program->bytes + 4, header, head);
	memcpy(program->bytes + 4 + head, body, size);
	/* header_length counts from behind itself to the program. */
	uint32_t header_length = (uint32_t)(head - 8);

	memcpy(program->bytes + 8, &header_length, 4);
	program->sections.line = (struct symbols_bytes){program->bytes, 4 + head + size};
	program->table = symbols_lines_read(&program->sections, 0, "/comp", lowest);
}

static void free_program(struct program *program)
{
	symbols_lines_free(program->table);
	symbols_strings_free(&program->strings);
}

#define READ(program, body) read_program(program, body, sizeof(body) - 1, 0)

static void expect_place(struct program *program, uint64_t address, const char *path, uint32_t line)
{
	uint32_t found_file, found_line;

	assert_non_null(program->table);
	assert_true(symbols_lines_find(program->table, address, &found_file, &found_line));
	assert_string_equal(symbols_lines_file(program->table, &program->strings, found_file), path);
	assert_int_equal(found_line, line);
}

static void expect_no_place(struct program *program, uint64_t address)
{
	uint32_t file, line;

	assert_non_null(program->table);
	assert_false(symbols_lines_find(program->table, address, &file, &line));
}

static void a_version_5_program_begins_with_file_1(void **state)
{
	struct program program;

	(void)state;
	READ(&program, SET_ADDRESS_1000 ADVANCE_LINE("\x09") COPY SET_FILE("\x00") ADVANCE_PC("\x04") COPY ADVANCE_PC("\x04") END_SEQUENCE);
	expect_place(&program, 0x1000, "/comp/d/two.h", 10);
	expect_place(&program, 0x1003, "/comp/d/two.h", 10);
	expect_place(&program, 0x1004, "/c/one.c", 10);
	expect_place(&program, 0x1007, "/c/one.c", 10);
	expect_no_place(&program, 0x1008);
	expect_no_place(&program, 0xfff);
	free_program(&program);
}

static void of_two_rows_at_one_address_the_last_counts(void **state)
{
	struct program program;

	(void)state;
	READ(&program, SET_ADDRESS_1000 COPY ADVANCE_LINE("\x05") COPY ADVANCE_PC("\x02") END_SEQUENCE);
	expect_place(&program, 0x1000, "/comp/d/two.h", 6);
	free_program(&program);
}

static void sequences_below_the_code_are_left_out(void **state)
{
	static const char body[] = SET_ADDRESS_1000 COPY ADVANCE_PC("\x08") END_SEQUENCE;
	struct program program;

	(void)state;
	read_program(&program, body, sizeof body - 1, 0x1000);
	expect_place(&program, 0x1000, "/comp/d/two.h", 1);
	free_program(&program);
	read_program(&program, body, sizeof body - 1, 0x1001);
	expect_no_place(&program, 0x1000);
	free_program(&program);
}

static void rows_before_the_damage_are_kept(void **state)
{
	struct program program;

	(void)state;
	READ(&program, SET_ADDRESS_1000 COPY ADVANCE_PC("\x08") END_SEQUENCE "\x00\x7f\x02");
	expect_place(&program, 0x1000, "/comp/d/two.h", 1);
	free_program(&program);
}

static void a_file_number_out_of_range_has_no_path(void **state)
{
	struct program program;

	(void)state;
	READ(&program, SET_ADDRESS_1000 COPY ADVANCE_PC("\x08") END_SEQUENCE);
	assert_non_null(program.table);
	assert_null(symbols_lines_file(program.table, &program.strings, 2));
	assert_null(symbols_lines_file(program.table, &program.strings, UINT64_MAX));
	free_program(&program);
}

static void a_header_cut_anywhere_is_no_table_or_an_empty_one(void **state)
{
	struct program program;

	(void)state;
	READ(&program, SET_ADDRESS_1000 COPY ADVANCE_PC("\x08") END_SEQUENCE);
	for (size_t size = 0; size < program.sections.line.size; size++) {
		/* A copy of just that size, so that a sanitizer sees a read behind it. */
		unsigned char *cut = malloc(size ? size : 1);
		struct symbols_line_sections sections = {.line = {cut, size}};

		assert_non_null(cut);
		memcpy(cut, program.bytes, size);
		struct symbols_line_table *table = symbols_lines_read(&sections, 0, "/comp", 0);
		uint32_t file, line;

		if (table)
			assert_false(symbols_lines_find(table, 0x1000, &file, &line));
		symbols_lines_free(table);
		free(cut);
	}
	free_program(&program);
}

/* ---- Names ---- */

static void expect_demangled(const char *name, const char *readable)
{
	struct symbols_strings strings = {0};

	assert_string_equal(symbols_demangle(&strings, name), readable);
	symbols_strings_free(&strings);
}

static void names_of_cxx_rust_and_d_become_readable(void **state)
{
	(void)state;
	expect_demangled("_ZN3app3BoxIlLi4EE3putEl", "app::Box<long, 4>::put(long)");
	expect_demangled("_ZN3app4workEv.cold", "app::work() [clone .cold]");
	expect_demangled("_ZN5alloc3vec9from_elem17h1f3a0d5c2b4e6789E", "alloc::vec::from_elem");
	expect_demangled("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	expect_demangled("_D8demangle4testFZv", "demangle.test()");
}

static void names_that_are_not_mangled_stay_as_they_are(void **state)
{
	static const char *const names[] = {"malloc", "_start", "_Znonsense", "_Draw", "_Resize", "", "_"};
	struct symbols_strings strings = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++)
		assert_ptr_equal(symbols_demangle(&strings, names[i]), names[i]);
	symbols_strings_free(&strings);
}

/* ---- Strings ---- */

static void a_path_is_joined_with_one_slash(void **state)
{
	struct symbols_strings strings = {0};

	(void)state;
	assert_string_equal(symbols_strings_path(&strings, "/a", "b.c"), "/a/b.c");
	assert_string_equal(symbols_strings_path(&strings, "/a/", "b.c"), "/a/b.c");
	assert_string_equal(symbols_strings_path(&strings, "/a", "/b.c"), "/b.c");
	assert_string_equal(symbols_strings_path(&strings, "", "b.c"), "b.c");
	assert_string_equal(symbols_strings_path(&strings, NULL, "b.c"), "b.c");
	symbols_strings_free(&strings);
}

static void strings_longer_than_a_block_are_kept_whole(void **state)
{
	struct symbols_strings strings = {0};
	size_t length = 300000;
	char *text = malloc(length);

	(void)state;
	assert_non_null(text);
	memset(text, 'x', length);
	const char *before = symbols_strings_add(&strings, "before", 6), *kept = symbols_strings_add(&strings, text, length);
	const char *after = symbols_strings_add(&strings, "after", 5);

	assert_string_equal(before, "before");
	assert_int_equal(strlen(kept), length);
	assert_string_equal(after, "after");
	free(text);
	symbols_strings_free(&strings);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_innermost_interval_owns_an_address),
		cmocka_unit_test(of_equal_intervals_the_later_owner_wins),
		cmocka_unit_test(an_interval_that_outlives_its_parent_keeps_its_rest),
		cmocka_unit_test(empty_and_wrapped_intervals_own_nothing),
		cmocka_unit_test(flattening_agrees_with_trying_all_intervals),
		cmocka_unit_test(a_version_5_program_begins_with_file_1),
		cmocka_unit_test(of_two_rows_at_one_address_the_last_counts),
		cmocka_unit_test(sequences_below_the_code_are_left_out),
		cmocka_unit_test(rows_before_the_damage_are_kept),
		cmocka_unit_test(a_file_number_out_of_range_has_no_path),
		cmocka_unit_test(a_header_cut_anywhere_is_no_table_or_an_empty_one),
		cmocka_unit_test(names_of_cxx_rust_and_d_become_readable),
		cmocka_unit_test(names_that_are_not_mangled_stay_as_they_are),
		cmocka_unit_test(a_path_is_joined_with_one_slash),
		cmocka_unit_test(strings_longer_than_a_block_are_kept_whole),
	};

	return cmocka_run_group_tests_name("symbols: parts", tests, NULL, NULL);
}
