/* SPDX-License-Identifier: MIT
 *
 * Files that are not what they seem, and chunks where they do not belong: a profile is read in bounded time, each chunk that is whole once,
 * and what cannot be read is refused by its name.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "support/database.h"
#include "support/log-maker.h"

#define CHUNKS 8	 /* closed ones; each holds two allocations */
#define HANG_SECONDS 120 /* of what takes milliseconds: a hang ends the test program */

static const char sizes[] = "SELECT group_concat(size) FROM (SELECT size FROM allocations ORDER BY rowid)";
static const char lost[] = "SELECT coalesce(sum(count), 0) FROM losses";

static void make_profile(struct test *test, const char *name, uint64_t first_size)
{
	struct maker *maker = maker_new(test->directory, name);
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	for (uint64_t i = 0; i < 2 * CHUNKS; i++) {
		maker_alloc(stream, 10 + i, RH_CALL_MALLOC, (first_size + i) * 16, first_size + i, MAKER_STACK(0x101, 0x100));
		if (i % 2)
			maker_flush(stream);
	}
	maker_finish(maker);
}

static const char *path_of(struct test *test, const char *name)
{
	static char paths[4][4200];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof paths[0], "%s/%s", test->directory, name);
	return path;
}

static size_t load(const char *path, unsigned char *bytes, size_t size)
{
	FILE *f = fopen(path, "rb");
	size_t got;

	assert_non_null(f);
	got = fread(bytes, 1, size, f);
	assert_true(got < size);
	fclose(f);
	return got;
}

static void save(const char *path, const char *mode, const void *bytes, size_t size)
{
	FILE *f = fopen(path, mode);

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void close_database(struct test *test)
{
	sqlite3_close(test->db);
	test->db = NULL;
	assert_int_equal(unlink(test->database), 0);
}

/* Where the chunks of a log begin; and the end of the last. */
static void find_chunks(const unsigned char *bytes, size_t length, size_t *offsets)
{
	struct rh_chunk head;

	offsets[0] = 0;
	for (unsigned i = 0; i < CHUNKS; i++) {
		memcpy(&head, bytes + offsets[i], sizeof head);
		offsets[i + 1] = offsets[i] + sizeof head + head.length;
	}
	assert_int_equal(offsets[CHUNKS], length);
}

static unsigned char log_bytes[65536];
static size_t log_length, offsets[CHUNKS + 1];

static void load_log(struct test *test)
{
	log_length = load(path_of(test, "rip-1/log-0"), log_bytes, sizeof log_bytes);
	find_chunks(log_bytes, log_length, offsets);
}

/* "1,2,...,16" without the sizes of one chunk. */
static const char *sizes_without(unsigned chunk)
{
	static char text[256];
	size_t used = 0;

	for (unsigned i = 1; i <= 2 * CHUNKS; i++)
		if ((i - 1) / 2 != chunk)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", used ? "," : "", i);
	snprintf(text + used, sizeof text - used, "\n");
	return text;
}

static void damage_to_any_chunk_costs_that_chunk_alone(void **state)
{
	struct test *test = *state;

	make_profile(test, "rip-1", 1);
	load_log(test);
	for (unsigned chunk = 0; chunk < CHUNKS; chunk++) {
		for (size_t at = offsets[chunk]; at < offsets[chunk + 1]; at += 3) {
			size_t field = at - offsets[chunk];

			if (field >= offsetof(struct rh_chunk, stream) && field < sizeof(struct rh_chunk))
				continue; /* lies of the header: the next test */
			log_bytes[at] ^= 0x24;
			save(path_of(test, "rip-1/log-0"), "wb", log_bytes, log_length);
			TEST_RIP(test, "rip-1");
			test_rows(test, sizes, sizes_without(chunk));
			test_rows(test, lost, "2\n");
			close_database(test);
			log_bytes[at] ^= 0x24;
		}
	}
}

static void a_length_that_lies_costs_that_chunk_alone(void **state)
{
	static const uint32_t lies[] = {0, 1, 1u << 16, 1u << 26, (1u << 26) + 1, 1u << 31, UINT32_MAX};
	struct test *test = *state;

	make_profile(test, "rip-1", 1);
	load_log(test);
	for (unsigned chunk = 0; chunk < CHUNKS; chunk++) {
		unsigned char *length = log_bytes + offsets[chunk] + offsetof(struct rh_chunk, length), truth[4];

		memcpy(truth, length, sizeof truth);
		for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
			memcpy(length, &lies[i], sizeof lies[i]);
			save(path_of(test, "rip-1/log-0"), "wb", log_bytes, log_length);
			TEST_RIP(test, "rip-1");
			/* All there is up to the next chunk may belong to one whose end is missing: then nothing is lost. */
			if (lies[i] == 1u << 16 || lies[i] == 1u << 26)
				test_rows(test, lost, "0\n");
			else
				test_rows(test, sizes, sizes_without(chunk));
			close_database(test);
		}
		memcpy(length, truth, sizeof truth);
	}
}

static void chunks_that_are_there_twice_count_once(void **state)
{
	struct test *test = *state;

	make_profile(test, "rip-1", 1);
	load_log(test);
	save(path_of(test, "rip-1/log-0"), "ab", log_bytes, log_length);
	save(path_of(test, "rip-1/log-spill"), "wb", log_bytes, log_length);
	TEST_RIP(test, "rip-1");
	test_rows(test, sizes, sizes_without(CHUNKS));
	test_rows(test, lost, "0\n");
	assert_string_equal(test->warnings, "");
}

static void chunks_in_any_order_are_put_in_theirs(void **state)
{
	struct test *test = *state;

	make_profile(test, "rip-1", 1);
	load_log(test);
	assert_int_equal(unlink(path_of(test, "rip-1/log-0")), 0);
	for (unsigned i = 0; i < CHUNKS; i++) {
		unsigned chunk = i * 3 % CHUNKS; /* 0 3 6 1 4 7 2 5 */

		save(path_of(test, "rip-1/log-0"), "ab", log_bytes + offsets[chunk], offsets[chunk + 1] - offsets[chunk]);
	}
	TEST_RIP(test, "rip-1");
	test_rows(test, sizes, sizes_without(CHUNKS));
	test_rows(test, lost, "0\n");
	assert_string_equal(test->warnings, "");
}

/* Nothing in a chunk tells whose it is: one of each number is taken. */
static void chunks_of_another_session_do_not_make_events_twice(void **state)
{
	struct test *test = *state;

	make_profile(test, "rip-1", 1);
	make_profile(test, "rip-2", 101);
	log_length = load(path_of(test, "rip-2/log-0"), log_bytes, sizeof log_bytes);
	save(path_of(test, "rip-1/log-0"), "ab", log_bytes, log_length);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT count(*) FROM allocations", "16\n");
	test_rows(test, "SELECT count(*), count(DISTINCT size % 100) FROM allocations", "16|16\n");
	test_rows(test, "PRAGMA quick_check", "ok\n");
}

/* rip-1 with something else in place of a file. */
static const char *refused(struct test *test, const char *name, void (*put)(const char *path))
{
	char path[4200];

	snprintf(path, sizeof path, "%s/rip-1/%s", test->directory, name);
	unlink(path);
	put(path);
	return TEST_RIP_FAILS(test, "rip-1");
}

static void put_fifo(const char *path)
{
	assert_int_equal(mkfifo(path, 0600), 0);
}

static void put_directory(const char *path)
{
	assert_int_equal(mkdir(path, 0700), 0);
}

static void put_device(const char *path)
{
	assert_int_equal(symlink("/dev/zero", path), 0);
}

static void put_loop(const char *path)
{
	assert_int_equal(symlink(path, path), 0);
}

static void what_is_no_regular_file_is_refused_at_once(void **state)
{
	static void (*const puts[])(const char *) = {put_fifo, put_directory, put_device, put_loop};
	static const char *const names[] = {"manifest", "rings", "log-0", "log-spill"};
	struct test *test = *state;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		for (size_t k = 0; k < sizeof puts / sizeof *puts; k++) {
			char expected[4300];

			make_profile(test, "rip-1", 1);
			snprintf(expected, sizeof expected, "%s/rip-1/%s: %s", test->directory, names[i],
				 puts[k] == put_loop ? strerror(ELOOP) : i ? "not a regular file" : "not a manifest: not a regular file");
			assert_string_equal(refused(test, names[i], puts[k]), expected);
			maker_remove(path_of(test, "rip-1"));
		}
	}
}

static void a_log_may_be_a_symbolic_link(void **state)
{
	struct test *test = *state;

	make_profile(test, "rip-1", 1);
	assert_int_equal(rename(path_of(test, "rip-1/log-0"), path_of(test, "elsewhere")), 0);
	assert_int_equal(symlink("../elsewhere", path_of(test, "rip-1/log-0")), 0);
	TEST_RIP(test, "rip-1");
	test_rows(test, sizes, sizes_without(CHUNKS));
}

/* As large as the file system lets a file seem to be. */
static off_t enlarge(const char *path)
{
	off_t size = INT64_MAX;

	while (truncate(path, size) && size > 1 << 20)
		size /= 2;
	return size;
}

static void a_hole_of_any_size_is_passed_over(void **state)
{
	struct test *test = *state;
	off_t size;
	int fd;

	make_profile(test, "rip-1", 1);
	load_log(test);
	size = enlarge(path_of(test, "rip-1/log-0"));
	if (size < INT64_C(1) << 40) {
		print_message("holes: the file system has no file of a terabyte\n");
		skip();
	}
	/* One more chunk at its end. */
	assert_int_equal(truncate(path_of(test, "rip-1/log-0"), (off_t)offsets[CHUNKS - 1]), 0);
	assert_int_equal(truncate(path_of(test, "rip-1/log-0"), size), 0);
	fd = open(path_of(test, "rip-1/log-0"), O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, log_bytes + offsets[CHUNKS - 1], log_length - offsets[CHUNKS - 1],
				size - (off_t)(log_length - offsets[CHUNKS - 1])),
			 log_length - offsets[CHUNKS - 1]);
	close(fd);
	TEST_RIP(test, "rip-1");
	test_rows(test, sizes, sizes_without(CHUNKS));
	test_rows(test, "SELECT truncated FROM processes", "1\n");
}

/* Each slot says that it holds 60 MB, and all of them are holes. */
static void rings_that_claim_more_than_they_hold_take_no_memory(void **state)
{
	enum { SLOTS = 2000 };
	static const uint32_t slot_size = 60u << 20;
	struct test *test = *state;
	int fd;

	make_profile(test, "rip-1", 1);
	fd = open(path_of(test, "rip-1/rings"), O_RDWR);
	assert_true(fd >= 0);
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct rh_slot slot = {.used = 1,
				       .chunk = {.magic = RH_CHUNK_MAGIC,
						 .header_size = sizeof(struct rh_chunk),
						 .version = RH_FORMAT_VERSION,
						 .stream = i,
						 .length = slot_size - sizeof slot}};

		assert_int_equal(pwrite(fd, &slot, sizeof slot, RH_SLAB_HEADER_SIZE + (off_t)i * slot_size), sizeof slot);
	}
	{
		struct rh_slab slab = {.magic = RH_SLAB_MAGIC,
				       .header_size = RH_SLAB_HEADER_SIZE,
				       .version = RH_FORMAT_VERSION,
				       .slot_size = slot_size,
				       .slots = SLOTS};

		assert_int_equal(pwrite(fd, &slab, sizeof slab, 0), sizeof slab);
	}
	if (ftruncate(fd, RH_SLAB_HEADER_SIZE + (off_t)SLOTS * slot_size)) {
		close(fd);
		print_message("rings: the file system has no file of that size\n");
		skip();
	}
	close(fd);
	TEST_RIP(test, "rip-1");
	test_rows(test, sizes, sizes_without(CHUNKS));
	test_rows(test, "SELECT truncated FROM processes", "1\n");
}

static void a_manifest_of_a_hundred_megabytes_is_refused(void **state)
{
	struct test *test = *state;
	char expected[4300];

	make_profile(test, "rip-1", 1);
	assert_int_equal(truncate(path_of(test, "rip-1/manifest"), 100 << 20), 0);
	snprintf(expected, sizeof expected, "%s/rip-1/manifest: not a manifest: too large", test->directory);
	assert_string_equal(TEST_RIP_FAILS(test, "rip-1"), expected);
}

/* As many keys as fit into the largest: compared with each other they would take hours. */
static void a_manifest_of_a_million_keys_is_refused(void **state)
{
	struct test *test = *state;
	char expected[4300];
	FILE *f;

	make_profile(test, "rip-1", 1);
	f = fopen(path_of(test, "rip-1/manifest"), "ab");
	assert_non_null(f);
	for (unsigned i = 0; i < 1000000; i++)
		fprintf(f, "%x=\n", i);
	assert_int_equal(fclose(f), 0);
	snprintf(expected, sizeof expected, "%s/rip-1/manifest: not a manifest: too many lines", test->directory);
	assert_string_equal(TEST_RIP_FAILS(test, "rip-1"), expected);
}

static void a_chunk_of_another_format_version_is_damage(void **state)
{
	struct test *test = *state;

	make_profile(test, "rip-1", 1);
	load_log(test);
	log_bytes[offsets[2] + offsetof(struct rh_chunk, version)]++;
	save(path_of(test, "rip-1/log-0"), "wb", log_bytes, log_length);
	TEST_RIP(test, "rip-1");
	test_rows(test, sizes, sizes_without(2));
	test_rows(test, lost, "2\n");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(damage_to_any_chunk_costs_that_chunk_alone),
	    TEST(a_length_that_lies_costs_that_chunk_alone),
	    TEST(chunks_that_are_there_twice_count_once),
	    TEST(chunks_in_any_order_are_put_in_theirs),
	    TEST(chunks_of_another_session_do_not_make_events_twice),
	    TEST(what_is_no_regular_file_is_refused_at_once),
	    TEST(a_log_may_be_a_symbolic_link),
	    TEST(a_hole_of_any_size_is_passed_over),
	    TEST(rings_that_claim_more_than_they_hold_take_no_memory),
	    TEST(a_manifest_of_a_hundred_megabytes_is_refused),
	    TEST(a_manifest_of_a_million_keys_is_refused),
	    TEST(a_chunk_of_another_format_version_is_damage),
	};

	alarm(HANG_SECONDS);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
