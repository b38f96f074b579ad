/* SPDX-License-Identifier: MIT
 *
 * Runs the analyser in a test and asks its database.
 */
#include "config.h"

#include "support/database.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rip.h"
#include "support/log-maker.h"

#define PROFILES_MAX 8

static struct test *current;

int test_setup(void **state)
{
	struct test *test = calloc(1, sizeof *test);

	if (!test)
		return -1;
	test->directory = maker_directory();
	snprintf(test->database, sizeof test->database, "%s/profile.db", test->directory);
	*state = test;
	return 0;
}

int test_teardown(void **state)
{
	struct test *test = *state;

	sqlite3_close(test->db);
	maker_remove(test->directory);
	free(test->directory);
	free(test);
	return 0;
}

static void note(const char *text)
{
	size_t used = strlen(current->warnings);

	snprintf(current->warnings + used, sizeof current->warnings - used, "%s\n", text);
}

static int run(struct test *test, const char *const *names, const struct symbols_options *symbols, struct fault *fault)
{
	const char *directories[PROFILES_MAX];
	struct rip_options options = {.directories = directories, .database = test->database, .symbols = symbols, .warn = note};
	char paths[PROFILES_MAX][4200];

	for (; names[options.count]; options.count++) {
		assert_true(options.count < PROFILES_MAX);
		snprintf(paths[options.count], sizeof paths[0], "%s/%s", test->directory, names[options.count]);
		directories[options.count] = paths[options.count];
	}
	current = test;
	test->warnings[0] = '\0';
	memset(fault, 0, sizeof *fault);
	return rip_run(&options, fault);
}

static void rip_and_open(struct test *test, const char *const *names, const struct symbols_options *symbols)
{
	static struct fault fault;

	if (run(test, names, symbols, &fault))
		fail_msg("%s", fault.text);
	assert_string_equal(fault.text, "");
	assert_int_equal(sqlite3_open_v2(test->database, &test->db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
}

void test_rip(struct test *test, const char *const *names)
{
	rip_and_open(test, names, NULL);
}

void test_rip_with_symbols(struct test *test, const char *const *names)
{
	static const struct symbols_options options;

	rip_and_open(test, names, &options);
}

const char *test_rip_fails(struct test *test, const char *const *names)
{
	static struct fault fault;

	assert_int_equal(run(test, names, NULL, &fault), -1);
	return fault.text;
}

void test_rows(struct test *test, const char *sql, const char *expected)
{
	static char text[65536];
	sqlite3_stmt *statement;
	size_t used = 0;
	int result;

	text[0] = '\0';
	if (sqlite3_prepare_v2(test->db, sql, -1, &statement, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(test->db));
	while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(statement); i++) {
			const unsigned char *value = sqlite3_column_text(statement, i);

			used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? "|" : "", value ? (const char *)value : "-");
			assert_true(used < sizeof text - 1);
		}
		text[used++] = '\n';
		text[used] = '\0';
	}
	assert_int_equal(result, SQLITE_DONE);
	sqlite3_finalize(statement);
	if (strcmp(text, expected))
		fail_msg("%s\ngave\n%swanted\n%s", sql, text, expected);
}
