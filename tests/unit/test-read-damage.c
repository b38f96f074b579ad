/* SPDX-License-Identifier: MIT
 *
 * Damage of every kind: whatever bytes a profile has, the analyser ends by itself, with a database that is sound or with a fault. Meant to
 * run under the sanitizers too. The damage is pseudo-random and the same in every run.
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

#include "rip.h"
#include "support/database.h"
#include "support/log-maker.h"

#define ROUNDS 400
#define FILE_SIZE_MAX (1u << 20)

static const char *const names[] = {"log-0", "log-1", "rings", "manifest"};
#define FILES (sizeof names / sizeof *names)

static unsigned char *contents[FILES];
static size_t lengths[FILES];

/* D. E. Knuth's MMIX generator: The Art of Computer Programming, vol. 2, 3.3.4, table 1. */
static uint64_t seed = 1;

static uint32_t random_below(uint32_t limit)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((seed >> 32) % limit);
}

static void make_profile(struct test *test)
{
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *streams[2] = {maker_stream(maker, 0, 1, 100), maker_stream(maker, 1, 2, 101)};

	maker_set(maker, "clock", "tsc");
	for (uint64_t i = 0; i < 600; i++) {
		struct maker_stream *stream = streams[i / 7 % 2];
		uint64_t time = i * 1000;

		if (i % 97 == 0)
			maker_module(stream, time, 0x50000, 0x50000, 0x60000, i % 2 ? "/lib/a.so" : "/lib/b.so", "\1\2\3");
		if (i % 101 == 0)
			maker_mark(stream, time, "a mark");
		if (i % 103 == 0)
			maker_rss(stream, time, i * 4096);
		if (i % 107 == 0)
			maker_sync(stream, time, time / 3);
		if (i % 109 == 0)
			maker_thread(stream, 3 + i % 5, 200 + i % 5);
		if (i % 3 == 0)
			maker_free(stream, time, RH_FREE_FREE, (i / 2 + 1) * 16);
		else if (i % 11 == 0)
			maker_realloc(stream, time, 1500, RH_CALL_REALLOC, i * 16, (i + 2) * 16 + 8, i,
				      MAKER_STACK(0x50000 + i % 9, 0x50100));
		else
			maker_alloc(stream, time, (enum rh_call)(i % RH_CALLS), (i + 1) * 16, i,
				    MAKER_STACK(0x50000 + i % 13, 0x50200 + i % 3, 0x50100));
		if (maker_length(stream) > 900)
			maker_flush(stream);
	}
	maker_finish(maker);
}

static const char *path_of(struct test *test, size_t file)
{
	static char path[4200];

	snprintf(path, sizeof path, "%s/rip-1/%s", test->directory, names[file]);
	return path;
}

static void load(struct test *test)
{
	for (size_t i = 0; i < FILES; i++) {
		FILE *f = fopen(path_of(test, i), "rb");

		assert_non_null(f);
		contents[i] = malloc(FILE_SIZE_MAX);
		lengths[i] = fread(contents[i], 1, FILE_SIZE_MAX, f);
		assert_true(lengths[i] > 100 && lengths[i] < FILE_SIZE_MAX);
		fclose(f);
	}
}

static void store(struct test *test, size_t file, const unsigned char *bytes, size_t length)
{
	FILE *f = fopen(path_of(test, file), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, length, f), length);
	assert_int_equal(fclose(f), 0);
}

/* Changes a few bytes, cuts, repeats or moves a part. The rings are mostly zeros: their first chunk is aimed at. */
static size_t spoil(unsigned char *bytes, size_t length, bool is_rings)
{
	uint32_t reach = is_rings && length > 6000 && random_below(4) ? 6000 : (uint32_t)length, at = random_below(reach);
	uint32_t size = 1 + random_below(64), from;

	switch (random_below(5)) {
	case 0:
		return at;
	case 1:
		from = random_below(reach);
		if (at + size <= length && from + size <= length)
			memmove(bytes + at, bytes + from, size);
		return length;
	case 2:
		for (uint32_t i = 0; i < size && at + i < length; i++)
			bytes[at + i] = (unsigned char)(random_below(2) ? 0xff : 0);
		return length;
	default:
		for (uint32_t i = 0; i < 1 + size / 16; i++)
			bytes[random_below(reach)] ^= (unsigned char)(1u << random_below(8));
		return length;
	}
}

/* Repairs the checksums of chunks, so that the records themselves are put to the test. */
static void sum_again(unsigned char *bytes, size_t length)
{
	struct rh_chunk head;

	for (size_t at = 0; at + sizeof head <= length; at++) {
		memcpy(&head, bytes + at, sizeof head);
		if (head.magic != RH_CHUNK_MAGIC || head.length > length - at - sizeof head)
			continue;
		head.checksum = rh_checksum(bytes + at + sizeof head, head.length);
		memcpy(bytes + at, &head, sizeof head);
	}
}

static void any_damage_gives_a_sound_database_or_a_fault(void **state)
{
	struct test *test = *state;
	unsigned databases = 0, faults = 0;
	static unsigned char spoilt[FILE_SIZE_MAX];
	static char directory[4200];
	static struct fault fault;

	make_profile(test);
	load(test);
	snprintf(directory, sizeof directory, "%s/rip-1", test->directory);
	for (unsigned round = 0; round < ROUNDS; round++) {
		const char *directories[] = {directory};
		const struct rip_options options = {.directories = directories, .count = 1, .database = test->database, .force = true};
		size_t file = random_below(16) ? random_below(3) : 3, length = lengths[file];

		memcpy(spoilt, contents[file], length);
		for (uint32_t i = 1 + random_below(3); i && length; i--)
			length = spoil(spoilt, length, file == 2);
		if (file < 2 && random_below(4))
			sum_again(spoilt, length);
		store(test, file, spoilt, length);
		memset(&fault, 0, sizeof fault);
		if (rip_run(&options, &fault)) {
			assert_string_not_equal(fault.text, "");
			faults++;
		} else {
			assert_int_equal(sqlite3_open(test->database, &test->db), SQLITE_OK);
			test_rows(test, "PRAGMA quick_check", "ok\n");
			test_rows(test, "SELECT count(*) FROM allocations WHERE dealloc_after < alloc_after", "0\n");
			test_rows(test,
				  "SELECT (SELECT count(*) FROM allocations) = (SELECT sum(allocations) FROM callsites) "
				  "OR NOT EXISTS (SELECT 1 FROM allocations)",
				  "1\n");
			test_rows(
			    test,
			    "SELECT count(*) FROM (SELECT alloc_after < lag(alloc_after) OVER (ORDER BY rowid) AS back FROM allocations) "
			    "WHERE back",
			    "0\n");
			sqlite3_close(test->db);
			test->db = NULL;
			databases++;
		}
		store(test, file, contents[file], lengths[file]);
	}
	assert_true(databases > ROUNDS / 2); /* most damage costs a part only */
	assert_true(faults > 0);
	for (size_t i = 0; i < FILES; i++)
		free(contents[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(any_damage_gives_a_sound_database_or_a_fault, test_setup, test_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
