/* SPDX-License-Identifier: MIT
 *
 * What programs may call things, and what of it is shown.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/database.h"
#include "support/log-maker.h"
#include "text.h"

#define R "\xef\xbf\xbd" /* U+FFFD */

static const struct {
	const char *given, *fit, *line;
} examples[] = {
    {"", "", ""},
    {"plain ~", "plain ~", "plain ~"},
    {"two\nlines\tand a tab", "two\nlines\tand a tab", "two?lines?and a tab"},
    {"\x1b[2J\r\x7f\x01", R "[2J" R R R, "?[2J???"},
    {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
    {"\xc2\x9b" "2J", R "2J", "?2J"},		     /* CSI as one character, C1 */
    {"\xc2\xa0", "\xc2\xa0", "\xc2\xa0"},	     /* the first behind C1 */
    {"caf\xe9", "caf" R, "caf?"},		     /* Latin-1 */
    {"\x9b", R, "?"},				     /* a lone continuation */
    {"\xc0\xaf", R R, "??"},			     /* a long form of '/' */
    {"\xe0\x80\xaf", R R R, "???"},		     /* another */
    {"\xed\xa0\x80", R R R, "???"},		     /* a surrogate */
    {"\xf4\x90\x80\x80", R R R R, "????"},	     /* beyond U+10FFFF */
    {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
    {"cut \xe2\x82", "cut " R R, "cut ??"},
    {"\xff\xfe", R R, "??"},
};

static void text_is_made_fit(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
		size_t size = strlen(examples[i].given);
		char *fit = text_fit(examples[i].given, size), line[64];

		assert_non_null(fit);
		assert_string_equal(fit, examples[i].fit);
		assert_int_equal(text_is_fit(examples[i].given, size), !strcmp(examples[i].given, examples[i].fit));
		assert_true(text_is_fit(fit, strlen(fit)));
		free(fit);
		strcpy(line, examples[i].given);
		text_line(line);
		assert_string_equal(line, examples[i].line);
	}
}

static void a_nul_within_text_is_unfit(void **state)
{
	char *fit = text_fit("a\0b", 3);

	(void)state;
	assert_false(text_is_fit("a\0b", 3));
	assert_string_equal(fit, "a" R "b");
	free(fit);
}

#define HOSTILE "\x1b]0;owned\x07\xff"
#define FIT R "]0;owned" R R

static void what_reaches_the_database_is_fit(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_set(maker, "exe", HOSTILE);
	maker_set(maker, "host", HOSTILE);
	maker_set(maker, "cmdline", HOSTILE "\\0-c\\0a\\nb\\0");
	maker_set(maker, HOSTILE, HOSTILE);
	maker_module(stream, 0, 0x10000, 0x10000, 0x20000, "/nonexistent/" HOSTILE, "");
	maker_name(stream, HOSTILE);
	maker_mark(stream, 5, HOSTILE);
	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x10100));
	maker_finish(maker);
	test_rip_with_symbols(test, (const char *const[]){"rip-1", NULL});
	test_rows(test, "SELECT exe, host, cmdline FROM processes", FIT "|" FIT "|" FIT " -c a\nb\n");
	test_rows(test, "SELECT value FROM metadata WHERE key = '" FIT "'", FIT "\n");
	test_rows(test, "SELECT path FROM modules", "/nonexistent/" FIT "\n");
	test_rows(test, "SELECT module FROM backtraces", "/nonexistent/" FIT "\n");
	test_rows(test, "SELECT name FROM threads", FIT "\n");
	test_rows(test, "SELECT name FROM marks", FIT "\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(text_is_made_fit),
	    cmocka_unit_test(a_nul_within_text_is_unfit),
	    cmocka_unit_test_setup_teardown(what_reaches_the_database_is_fit, test_setup, test_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
