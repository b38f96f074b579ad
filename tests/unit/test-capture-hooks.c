/* SPDX-License-Identifier: MIT
 *
 * The front-end of GNU malloc hooks where the C library itself calls them, as glibc did before 2.34. This program plays that C library: the backend's
 * __libc_ functions are the old_ functions here (Makemodule.am), and they call the hooks first.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/libc.h"
#include "capture/around.h"
#include "capture/hooks.h"
#include "process/say.h"
#include "support/recording-tracker.h"
#include "tracker/start.h"
#include "unwind/fallback.h"

/* ---- the old C library ---- */

void *old_malloc(size_t size);
void *old_calloc(size_t count, size_t size);
void *old_realloc(void *block, size_t size);
void old_free(void *block);
void *old_memalign(size_t alignment, size_t size);
const char *old_version(void);

#define CALLER __builtin_return_address(0)

const char *old_version(void)
{
	return "2.31";
}

__attribute__((noinline)) void *old_malloc(size_t size)
{
	return __malloc_hook ? __malloc_hook(size, CALLER) : malloc(size);
}

__attribute__((noinline)) void *old_calloc(size_t count, size_t size)
{
	void *block;

	if (!__malloc_hook)
		return calloc(count, size);
	block = __malloc_hook(count * size, CALLER);
	return block ? memset(block, 0, count * size) : NULL;
}

__attribute__((noinline)) void *old_realloc(void *block, size_t size)
{
	return __realloc_hook ? __realloc_hook(block, size, CALLER) : realloc(block, size);
}

__attribute__((noinline)) void old_free(void *block)
{
	if (__free_hook)
		__free_hook(block, CALLER);
	else
		free(block);
}

__attribute__((noinline)) void *old_memalign(size_t alignment, size_t size)
{
	return __memalign_hook ? __memalign_hook(alignment, size, CALLER) : memalign(alignment, size);
}

/* ---- the rest of Rheaper ---- */

struct rh_environment rh_environment;
static unsigned said;

void rh_around_begin(void)
{
}

void rh_fallback_load(void)
{
}

bool rh_start_reading(void)
{
	return true;
}

void rh_say(const char *part, ...)
{
	(void)part;
	said++;
}

/* ---- tests ---- */

static void assert_hooks_are_in(void)
{
	assert_ptr_equal(__malloc_hook, rh_malloc_hook);
	assert_ptr_equal(__realloc_hook, rh_realloc_hook);
	assert_ptr_equal(__memalign_hook, rh_memalign_hook);
	assert_ptr_equal(__free_hook, rh_free_hook);
}

/* One event, and the C library's function called by this function: `start` is where the test begins. */
static void assert_one(enum recorded_kind kind, const void *block, size_t size, unsigned argument, void *start)
{
	recording_off();
	assert_hooks_are_in();
	assert_int_equal(recorded_count, 1);
	assert_int_equal(recorded[0].kind, kind);
	assert_ptr_equal(recorded[0].block, block);
	assert_int_equal(recorded[0].size, size);
	assert_int_equal(recorded[0].argument, argument);
	if (start)
		assert_in_range(recorded[0].caller - (uintptr_t)start, 1, 600);
}

static void each_hook_records_one_event_of_the_caller(void **state)
{
	void *block, *moved;

	(void)state;
	recording_on();
	block = old_malloc(100);
	assert_one(RECORDED_ALLOC, block, 100, RH_CALL_MALLOC, each_hook_records_one_event_of_the_caller);
	assert_non_null(block);
	memset(block, 1, 100);

	recording_on();
	moved = old_realloc(block, 5000);
	assert_one(RECORDED_REALLOC, moved, 5000, RH_CALL_REALLOC, each_hook_records_one_event_of_the_caller);
	assert_int_equal(((char *)moved)[99], 1);

	recording_on();
	old_free(moved);
	assert_one(RECORDED_FREE, moved, 0, RH_FREE_FREE, NULL);

	recording_on();
	block = old_memalign(256, 10);
	assert_one(RECORDED_ALLOC, block, 10, RH_CALL_MEMALIGN, each_hook_records_one_event_of_the_caller);
	assert_int_equal((uintptr_t)block % 256, 0);
	free(block);
}

static void calloc_arrives_as_malloc(void **state)
{
	char *block;

	(void)state;
	recording_on();
	block = old_calloc(10, 7);
	assert_one(RECORDED_ALLOC, block, 70, RH_CALL_MALLOC, calloc_arrives_as_malloc);
	assert_int_equal(block[69], 0);
	free(block);
}

static void nothing_is_recorded_while_tracking_is_off(void **state)
{
	void *block;

	(void)state;
	recording_on();
	recording_off();
	block = old_malloc(8);
	block = old_realloc(block, 80);
	old_free(block);
	assert_int_equal(recorded_count, 0);
	assert_hooks_are_in();
}

static void a_failure_leaves_no_event_and_the_hooks_in(void **state)
{
	volatile size_t large = SIZE_MAX / 2;

	(void)state;
	recording_on();
	assert_null(old_malloc(large));
	recording_off();
	assert_int_equal(recorded_count, 0);
	assert_hooks_are_in();
}

static void a_forked_child_has_the_hooks_in(void **state)
{
	int status;
	pid_t child;

	(void)state;
	rh_hooks_native = true;
	child = fork();
	if (child == 0) {
		bool in = __malloc_hook == rh_malloc_hook;

		old_free(old_malloc(10)); /* and nobody holds them */
		_exit(in ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_hooks_are_in();
}

static void versions_before_2_34_call_the_hooks_themselves(void **state)
{
	(void)state;
	assert_true(rh_hooks_are_native("2.4"));
	assert_true(rh_hooks_are_native("2.31"));
	assert_true(rh_hooks_are_native("2.33.9000"));
	assert_false(rh_hooks_are_native("2.34"));
	assert_false(rh_hooks_are_native("2.41"));
	assert_false(rh_hooks_are_native("3.0"));
}

/* This program's own malloc is the C library's of today, which calls no hook. */
static void the_probe_finds_out_that_nobody_calls(void **state)
{
	(void)state;
	assert_int_equal(said, 1); /* by the constructor */
	assert_false(rh_hooks_probe());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_hook_records_one_event_of_the_caller),
		cmocka_unit_test(calloc_arrives_as_malloc),
		cmocka_unit_test(nothing_is_recorded_while_tracking_is_off),
		cmocka_unit_test(a_failure_leaves_no_event_and_the_hooks_in),
		cmocka_unit_test(a_forked_child_has_the_hooks_in),
		cmocka_unit_test(versions_before_2_34_call_the_hooks_themselves),
		cmocka_unit_test(the_probe_finds_out_that_nobody_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
