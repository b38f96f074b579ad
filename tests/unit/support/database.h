/* SPDX-License-Identifier: MIT
 *
 * A profile's database in a test: made by the analyser from directories, asked by SQL, compared as text.
 */
#ifndef TESTS_DATABASE_H
#define TESTS_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

/* One test's profile and database: made by test_setup, removed by test_teardown (cmocka fixtures; *state is it). */
struct test {
	char *directory;      /* where profiles are made */
	char database[4200];  /* the path of the database in it */
	sqlite3 *db;	      /* once ripped */
	char warnings[16384]; /* what the analyser said, a line each */
};

int test_setup(void **state);
int test_teardown(void **state);

/* Makes the database of the profiles `names` (in test->directory, NULL at the end) without symbols, or with, and opens it. Fails the test
 * if that fails. */
void test_rip(struct test *test, const char *const *names);
void test_rip_with_symbols(struct test *test, const char *const *names);
#define TEST_RIP(test, ...) test_rip(test, (const char *const[]){__VA_ARGS__, NULL})

/* The same, but expects it to fail: returns the fault's text. */
const char *test_rip_fails(struct test *test, const char *const *names);
#define TEST_RIP_FAILS(test, ...) test_rip_fails(test, (const char *const[]){__VA_ARGS__, NULL})

/* Compares what a query gives, values separated by | and each row ended by a newline, NULL as -. */
void test_rows(struct test *test, const char *sql, const char *expected);

#endif
