/* SPDX-License-Identifier: MIT
 *
 * rheaper-rip info: what it tells of a directory, to people and to programs, and what it says of one that it cannot read.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "support/database.h"
#include "support/log-maker.h"

static char printed[65536];

/* Runs `rheaper-rip info OPTIONS...` in the test's directory, standard error included; returns its exit status. */
static int info(struct test *test, const char *options)
{
	char *here = get_current_dir_name(), *command;
	size_t used = 0, got;
	FILE *pipe;
	int status;

	assert_true(asprintf(&command, "exec 2>&1; cd '%s' && '%s/rheaper-rip/rheaper-rip' info %s", test->directory, here, options) > 0);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while ((got = fread(printed + used, 1, sizeof printed - 1 - used, pipe)))
		used += got;
	printed[used] = '\0';
	status = pclose(pipe);
	free(command);
	free(here);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void make_profile(struct test *test)
{
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100), *other = maker_stream(maker, 1, 2, 101);

	maker_set(maker, "cmdline", "program\\0--title\\0\xff\x1b[2J \"q\" \\\\ \\n\\0");
	maker_set(maker, "sample_rate", "0.5");
	maker_module(stream, 0, 0x10000, 0x10000, 0x20000, "/lib/a.so", "");
	maker_module(stream, 0, 0x10000, 0x10000, 0x20000, "/lib/a.so", ""); /* said again: still one */
	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x10100));
	maker_alloc(stream, 20, RH_CALL_MALLOC, 32, 1, MAKER_STACK(0x10100));
	maker_realloc(stream, 30, 5, RH_CALL_REALLOC, 32, 48, 7, MAKER_STACK(0x10100));
	maker_flush(stream);
	maker_free(stream, 40, RH_FREE_FREE, 16);
	maker_mark(other, 50, "here");
	maker_loss(other, RH_LOSS_NESTED, 3);
	maker_ended(maker, RH_ENDED_EXIT, 1500000000);
	maker_finish(maker);
}

static const char expected[] = "rip-1\n"
			       "  process   4711 of 1 on testhost\n"
			       "  program   /bin/program\n"
			       "  command   program --title ??[2J \"q\" \\ ?\n"
			       "  recorded  by rheaper 0.0-test, wrap, backend glibc\n"
			       "  sampled   50% of the allocations\n"
			       "  started   2001-09-09 01:46:40 UTC\n"
			       "  ended     exit, 1.500 s later\n"
			       "  threads   2\n"
			       "  events    4: 2 allocations, 1 frees, 1 reallocs\n"
			       "  lost      3 events (nested)\n"
			       "  marks     1\n"
			       "  modules   1\n"
			       "  log       133 bytes and 21 in buffers, 3 chunks\n"
			       "  damage    none\n"
			       "  manifest\n"
			       "    format=1\n";

static void a_profile_is_told_for_people(void **state)
{
	struct test *test = *state;

	make_profile(test);
	assert_int_equal(info(test, "rip-1"), 0);
	printed[sizeof expected - 1] = '\0';
	assert_string_equal(printed, expected);
}

/* SQLite's own parser reads it. */
static void a_profile_is_told_as_json(void **state)
{
	struct test *test = *state;

	make_profile(test);
	assert_int_equal(info(test, "--json rip-1"), 0);
	assert_int_equal(sqlite3_open(":memory:", &test->db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(test->db, "CREATE TABLE t(j)", NULL, NULL, NULL), SQLITE_OK);
	{
		sqlite3_stmt *insert;

		assert_int_equal(sqlite3_prepare_v2(test->db, "INSERT INTO t VALUES(json_extract(?, '$.profiles[0]'))", -1, &insert, NULL),
				 SQLITE_OK);
		sqlite3_bind_text(insert, 1, printed, -1, SQLITE_STATIC);
		assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
		sqlite3_finalize(insert);
	}
	test_rows(test,
		  "SELECT j->>'directory', j->>'pid', j->>'exe', j->>'cmdline', j->>'ended', j->>'started', j->>'duration', "
		  "j->>'threads', j->>'allocations', j->>'frees', j->>'reallocs', j->>'events', j->>'losses', j->>'modules', j->>'marks', "
		  "j->>'log_bytes', j->>'buffer_bytes', j->>'chunks', j->>'damaged', j->>'cut', j->>'rings', "
		  "j->'manifest'->>'sample_rate' FROM t",
		  "rip-1|4711|/bin/program|program --title \xef\xbf\xbd\xef\xbf\xbd[2J \"q\" \\ \n|exit|1000000000000.0|1500.0|"
		  "2|2|1|1|4|{\"nested\":3}|1|1|133|21|3|0|0|1|0.5\n");
}

static void damage_is_told(void **state)
{
	struct test *test = *state;
	char path[4300];
	FILE *f;

	make_profile(test);
	snprintf(path, sizeof path, "%s/rip-1/log-1", test->directory);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("garbage that is longer than the header of a chunk, which takes sixty-four bytes", f);
	fclose(f);
	snprintf(path, sizeof path, "%s/rip-1/rings", test->directory);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(info(test, "rip-1"), 0);
	assert_non_null(strstr(printed, "\n  damage    1 place in the log\n"
					"  damage    file rings is missing or damaged: the last events of each thread are lost\n"
					"  manifest\n"));
}

static void the_directories_that_can_be_read_are_told(void **state)
{
	struct test *test = *state;

	make_profile(test);
	maker_finish(maker_new(test->directory, "rip-3"));
	assert_int_equal(info(test, "rip-1 rip-2 rip-3 2>&1 >/dev/null"), 1);
	assert_string_equal(printed, "rheaper-rip: rip-2: No such file or directory\n");
	assert_int_equal(info(test, "rip-1 rip-2 rip-3 2>/dev/null | grep rip"), 0);
	assert_string_equal(printed, "rip-1\nrip-3\n");
	assert_int_equal(info(test, "--json rip-2 2>/dev/null"), 1);
	assert_string_equal(printed, "{\"profiles\": []}\n");
}

static void wrong_usage_is_2(void **state)
{
	struct test *test = *state;

	assert_int_equal(info(test, ""), 2);
	assert_string_equal(printed, "rheaper-rip info: no profile directory given (try 'rheaper-rip info --help')\n");
	assert_int_equal(info(test, "--help"), 0);
	assert_non_null(strstr(printed, "Usage: rheaper-rip info [OPTION]... DIR...\n"));
	assert_int_equal(info(test, "--json rip-1 >/dev/full"), 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_profile_is_told_for_people),
	    TEST(a_profile_is_told_as_json),
	    TEST(damage_is_told),
	    TEST(the_directories_that_can_be_read_are_told),
	    TEST(wrong_usage_is_2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
