/* SPDX-License-Identifier: MIT
 *
 * The manifest: its lines, its escapes, its version.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "read/manifest.h"

static const char path[] = "test-read-manifest.tmp";
static struct read_manifest manifest;
static struct fault fault;

static int load(const char *text, size_t size)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	fwrite(text, 1, size, f);
	assert_int_equal(fclose(f), 0);
	memset(&fault, 0, sizeof fault);
	return read_manifest_load(&manifest, path, &fault);
}

#define LOAD(text) load(text, sizeof(text) - 1)

static int clean(void **state)
{
	(void)state;
	read_manifest_free(&manifest);
	unlink(path);
	return 0;
}

static void lines_are_keys_and_values(void **state)
{
	(void)state;
	assert_int_equal(LOAD("format=1\nexe=/bin/a=b\nempty=\npid=12\n"), 0);
	assert_string_equal(read_manifest_text(&manifest, "exe"), "/bin/a=b");
	assert_string_equal(read_manifest_text(&manifest, "empty"), "");
	assert_null(read_manifest_text(&manifest, "missing"));
	assert_int_equal(read_manifest_number(&manifest, "pid", 7), 12);
	assert_int_equal(read_manifest_number(&manifest, "missing", 7), 7);
}

static void a_later_line_of_the_same_key_replaces_an_earlier_one(void **state)
{
	(void)state;
	assert_int_equal(LOAD("format=1\npid=1\nhost=a\npid=2\n"), 0);
	assert_string_equal(read_manifest_text(&manifest, "pid"), "2");
	assert_int_equal(manifest.count, 3);
}

static void escapes_are_undone(void **state)
{
	const struct read_manifest_line *line;

	(void)state;
	assert_int_equal(LOAD("format=1\ncmdline=a\\0b\\nc\\rd\\\\0\\xe\\\n"), 0);
	line = read_manifest_find(&manifest, "cmdline");
	assert_int_equal(line->size, 13);
	assert_memory_equal(line->value, "a\0b\nc\rd\\0\\xe\\", 13);
}

static void a_line_without_its_newline_was_being_written_and_does_not_count(void **state)
{
	(void)state;
	assert_int_equal(LOAD("format=1\nend_ticks=123"), 0);
	assert_null(read_manifest_text(&manifest, "end_ticks"));
}

static void known_and_unknown_keys_are_told_apart(void **state)
{
	(void)state;
	assert_int_equal(LOAD("format=1\nnew_thing=x\n"), 0);
	assert_true(read_manifest_find(&manifest, "format")->known);
	assert_false(read_manifest_find(&manifest, "new_thing")->known);
}

static void numbers_that_are_none_count_as_missing(void **state)
{
	(void)state;
	assert_int_equal(LOAD("format=1\na=12x\nb=-1\nc=99999999999999999999999\nd=18446744073709551615\nr=0.5\ns=half\nt=nan\n"), 0);
	assert_int_equal(read_manifest_number(&manifest, "a", 7), 7);
	assert_int_equal(read_manifest_number(&manifest, "b", 7), 7);
	assert_int_equal(read_manifest_number(&manifest, "c", 7), 7);
	assert_true(read_manifest_number(&manifest, "d", 7) == UINT64_MAX);
	assert_true(read_manifest_real(&manifest, "r", 1) == 0.5);
	assert_true(read_manifest_real(&manifest, "s", 1) == 1);
	assert_true(read_manifest_real(&manifest, "t", 1) == 1);
}

static void another_format_version_is_refused(void **state)
{
	(void)state;
	assert_int_equal(LOAD("format=2\n"), -1);
	assert_string_equal(fault.text, "test-read-manifest.tmp: format version 2 is not supported, only 1");
}

static void a_file_without_a_version_is_no_manifest(void **state)
{
	(void)state;
	assert_int_equal(LOAD("hello\0world\n\n=x\n"), -1);
	assert_string_equal(fault.text, "test-read-manifest.tmp: not a manifest: it has no line format=");
}

static void a_missing_file_is_told(void **state)
{
	(void)state;
	memset(&fault, 0, sizeof fault);
	assert_int_equal(read_manifest_load(&manifest, "test-no-such-file", &fault), -1);
	assert_string_equal(fault.text, "test-no-such-file: No such file or directory");
}

#define TEST(function) cmocka_unit_test_teardown(function, clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(lines_are_keys_and_values),
	    TEST(a_later_line_of_the_same_key_replaces_an_earlier_one),
	    TEST(escapes_are_undone),
	    TEST(a_line_without_its_newline_was_being_written_and_does_not_count),
	    TEST(known_and_unknown_keys_are_told_apart),
	    TEST(numbers_that_are_none_count_as_missing),
	    TEST(another_format_version_is_refused),
	    TEST(a_file_without_a_version_is_no_manifest),
	    TEST(a_missing_file_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
