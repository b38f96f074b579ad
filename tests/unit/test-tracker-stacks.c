/* SPDX-License-Identifier: MIT
 *
 * Stacks on their way through the log: what a walk of the whole stack sees at each event comes back from the profile, whatever chunks,
 * threads, depth limits and abandoned recordings lie between.
 */
#include "config.h"

#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "read/profile.h"
#include "read/record.h"
#include "rheaper.h"
#include "tracker/session.h"
#include "tracker/tracker.h"

#define EVENTS 100000
#define DEPTH 16 /* max_stack_depth of the sessions */

static char home[] = "/tmp/rheaper-test-XXXXXX", path[4096];

static struct {
	uint32_t depth;
	uint64_t pcs[DEPTH];
} expected[EVENTS];
static uint32_t told;

/* Event number `size`, from the caller. */
RH_KEEPS_FRAME static __attribute__((noinline)) void alloc(void)
{
	struct rh_frame caller = RH_CALLER();
	struct rh_walker walker = {0};
	uint32_t number = __atomic_fetch_add(&told, 1, __ATOMIC_RELAXED);

	assert_true(number < EVENTS);
	expected[number].depth = rh_unwind(&walker, &caller, expected[number].pcs, DEPTH);
	rh_event_alloc((void *)(uintptr_t)(16 * (number + 1)), number, RH_CALL_MALLOC, &caller);
}

static uint32_t seen, deepest_logged;
static uint64_t bytes;

static void read_back(void)
{
	static struct read_cursor cursor;
	struct read_chunks chunks;
	struct fault fault = {""};

	seen = deepest_logged = 0;
	bytes = 0;
	memset(&chunks, 0, sizeof chunks);
	assert_int_equal(read_chunks_find(&chunks, path, &fault), 0);
	assert_true(chunks.damaged == 0 && chunks.cut == 0);
	for (size_t i = 0; i < chunks.count; i++) {
		uint8_t *buffer = NULL;
		size_t capacity = 0;
		const uint8_t *records = read_chunk_records(&chunks, &chunks.chunks[i], &buffer, &capacity, &fault);
		struct read_record record;
		int result;

		assert_non_null(records);
		bytes += chunks.chunks[i].length;
		read_cursor_start(&cursor, records, chunks.chunks[i].length, chunks.chunks[i].head.ticks);
		while ((result = read_record_next(&cursor, &record)) == 1) {
			uint32_t depth = cursor.depth < DEPTH ? cursor.depth : DEPTH;

			if (record.kind != RH_RECORD_ALLOC)
				continue;
			assert_int_equal(depth, expected[record.size].depth);
			for (uint32_t j = 0; j < depth; j++)
				assert_true(cursor.pcs[cursor.depth - 1 - j] == expected[record.size].pcs[j]);
			if (cursor.depth > deepest_logged)
				deepest_logged = cursor.depth;
			seen++;
		}
		assert_int_equal(result, 0);
		free(buffer);
	}
	read_chunks_free(&chunks);
	assert_int_equal(seen, told);
}

static void record(uint32_t buffered, void (*what)(void))
{
	rheaper_config config = RHEAPER_CONFIG_INIT;

	config.profile_dir = home;
	config.max_stack_depth = DEPTH;
	config.tracker_event_buffer_size = buffered;
	config.max_trackers = 2;
	told = 0;
	assert_int_equal(rheaper_enable_tracking(&config, path, sizeof path), 0);
	what();
	assert_int_equal(rheaper_disable_tracking(), 0);
	read_back();
}

static volatile unsigned sink;
static unsigned deepest;

static __attribute__((noinline)) void recurse(unsigned depth)
{
	alloc();
	if (depth < deepest)
		recurse(depth + 1);
	sink++;
	alloc();
}

static void recurse_far(void)
{
	for (deepest = 1; deepest < 300; deepest += 23)
		recurse(0);
}

static void recurse_at_the_limit(void)
{
	for (unsigned i = 0; i < 60; i++)
		for (deepest = 3 * DEPTH - 3; deepest < 5 * DEPTH; deepest += 5)
			recurse(0);
}

static void a_recursion_far_beyond_the_depth_that_is_kept_is_right_at_every_event(void **state)
{
	(void)state;
	record(5000, recurse_far);
	assert_in_range(deepest_logged, DEPTH + 1, 4 * DEPTH);
}

static void so_it_is_when_every_few_events_begin_a_new_chunk(void **state)
{
	(void)state;
	for (uint32_t buffered = 1; buffered < 60; buffered += 7)
		record(buffered, recurse_far);
}

static void a_recursion_logs_its_new_frames_only(void **state)
{
	(void)state;
	record(5000, recurse_at_the_limit);
	assert_true(told > 10000);
	assert_true(bytes < 12 * (uint64_t)told); /* DEPTH frames anew each time would be more than twice that */
}

/* A recording that was begun further in, and given up in the middle of its walk: by a jump out of a signal handler. */
static __attribute__((noinline)) void give_up(void)
{
	const uintptr_t further_in = (uintptr_t)__builtin_frame_address(0) - 4096;
	struct rh_entry entry = rh_seat_enter(rh_gate.session, further_in, true);

	assert_non_null(entry.tracker);
	for (uint32_t i = 0; i < entry.tracker->walker.depth; i++)
		entry.tracker->walker.kept[i].pc ^= 0x10;
	sink++;
}

static void record_and_give_up(void)
{
	for (unsigned i = 0; i < 50; i++) {
		deepest = i % 20;
		recurse(0);
		give_up();
		alloc();
	}
}

static void an_abandoned_recording_leaves_no_trace_in_later_stacks(void **state)
{
	(void)state;
	record(5000, record_and_give_up);
}

static void *thread(void *argument)
{
	for (unsigned i = 0; i < 300; i++) {
		deepest = (unsigned)(uintptr_t)argument;
		recurse(10);
	}
	return NULL;
}

static void record_threads(void)
{
	pthread_t threads[6];

	for (uintptr_t i = 0; i < 6; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, thread, (void *)(10 + i)), 0);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void threads_that_share_trackers_do_not_take_each_others_stacks(void **state)
{
	(void)state;
	record(500, record_threads); /* six threads, two trackers */
}

static int remove_one(const char *file, const struct stat *status, int type, struct FTW *at)
{
	(void)status, (void)type, (void)at;
	return remove(file);
}

static int make_home(void **state)
{
	(void)state;
	return mkdtemp(home) ? 0 : -1;
}

static int remove_home(void **state)
{
	(void)state;
	return nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recursion_far_beyond_the_depth_that_is_kept_is_right_at_every_event),
		cmocka_unit_test(so_it_is_when_every_few_events_begin_a_new_chunk),
		cmocka_unit_test(a_recursion_logs_its_new_frames_only),
		cmocka_unit_test(an_abandoned_recording_leaves_no_trace_in_later_stacks),
		cmocka_unit_test(threads_that_share_trackers_do_not_take_each_others_stacks),
	};

	return cmocka_run_group_tests(tests, make_home, remove_home);
}
