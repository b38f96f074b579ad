/* SPDX-License-Identifier: MIT
 *
 * What is known about code: learnt by many threads at once and by signal handlers, forgotten when code goes away, bounded in size.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "unwind/compare.h"
#include "unwind/fallback.h"
#include "unwind/rows.h"
#include "unwind/shapes.h"

/* UNWIND_BUILD_DIR: where the helpers of these tests are built. */
#define FIRST UNWIND_BUILD_DIR "/.libs/frame-first.so"
#define SECOND UNWIND_BUILD_DIR "/.libs/frame-second.so"
#define STATIC_WALK UNWIND_BUILD_DIR "/static-walk"

/* Loads one of the two, calls through it and unloads it. Returns the address of its function. */
static void *call_through(const char *path, callback next)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*function)(callback);

	if (!library)
		fail_msg("%s", dlerror());
	*(void **)&function = dlsym(library, "call_through");
	assert_non_null(function);
	function(next);
	assert_int_equal(dlclose(library), 0);
	return *(void **)&function;
}

static void another_library_at_the_same_address_is_walked_rightly_after_forget(void **state)
{
	unsigned same_address = 0;
	void *before = NULL;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		void *function = call_through(i % 2 ? SECOND : FIRST, compare_here);

		assert_true(compared.ours.count > 3);
		assert_agreed();
		assert_int_equal(compared.truncated, 0);
		same_address += function == before;
		before = function;
		compare_forget();
	}
	assert_true(same_address > 0);
}

static struct rh_frame stepped_from, stepped_to;
static unsigned stepped;

RH_KEEPS_FRAME __attribute__((noinline)) static void step_by_libunwind(void)
{
	struct rh_walker walker = {0};
	uint64_t pc;

	stepped_from = RH_CALLER();
	stepped = rh_fallback(&walker, &stepped_from, &pc, 1, &stepped_to);
	rh_walker_release(&walker);
}

static void libunwind_is_told_what_to_forget(void **state)
{
	unsigned same_address = 0;
	void *before = NULL;

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		void *function = call_through(i % 2 ? SECOND : FIRST, step_by_libunwind);

		assert_int_equal(stepped, 1);
		assert_int_equal(stepped_to.cfa - stepped_from.cfa, (i % 2 ? 1032 : 264) + 8);
		same_address += function == before;
		before = function;
		rh_unwind_forget();
	}
	assert_true(same_address > 0);
}

/* Some thousand addresses of libc's code: each a return address for all that the table knows. */
static uintptr_t libc_code(void)
{
	return (uintptr_t)dlsym(RTLD_DEFAULT, "qsort") & ~(uintptr_t)4095;
}

static bool same_row(struct rh_row a, struct rh_row b)
{
	return memcmp(&a, &b, sizeof(a)) == 0;
}

static void more_code_than_the_table_holds_is_still_answered(void **state)
{
	const unsigned many = 3u << RH_ROWS_BITS >> 1;
	uintptr_t code = libc_code();
	uint64_t epoch = rh_rows_epoch(), misses;
	unsigned wrong = 0;

	(void)state;
	for (unsigned i = 0; i < many; i++)
		wrong += !same_row(rh_row_of(code + i, epoch), rh_row_make(code + i));
	assert_int_equal(wrong, 0);
	misses = rh_unwind_misses();
	for (unsigned i = 0; i < many; i++)
		rh_row_of(code + i, epoch);
	/* A third at the least does not fit, and what fits is found. */
	assert_in_range(rh_unwind_misses() - misses, many - (1u << RH_ROWS_BITS), many * 2 / 3);

	rh_unwind_forget();
	epoch = rh_rows_epoch();
	misses = rh_unwind_misses();
	for (unsigned i = 0; i < 1000; i++)
		rh_row_of(code + i, epoch);
	assert_int_equal(rh_unwind_misses() - misses, 1000);
	for (unsigned i = 0; i < 1000; i++)
		rh_row_of(code + i, epoch);
	assert_int_equal(rh_unwind_misses() - misses, 1000);
}

static void a_row_is_not_found_again_when_the_epochs_have_come_round(void **state)
{
	const unsigned turn = 1u << (64 - RH_CODE_BITS);
	uint64_t epoch = rh_rows_epoch(), misses;
	uintptr_t code = libc_code();

	(void)state;
	rh_row_of(code, epoch);
	misses = rh_unwind_misses();
	rh_row_of(code, epoch);
	assert_int_equal(rh_unwind_misses(), misses);
	for (unsigned i = 0; i < turn; i++)
		rh_rows_forget();
	assert_int_equal(rh_rows_epoch(), epoch);
	rh_row_of(code, epoch);
	assert_int_equal(rh_unwind_misses(), misses + 1);
}

static uint64_t misses_of_two_looks(uintptr_t code)
{
	uint64_t before = rh_unwind_misses();

	rh_row_of(code, rh_rows_epoch());
	rh_row_of(code, rh_rows_epoch());
	return rh_unwind_misses() - before;
}

static void nothing_is_kept_while_code_is_unloaded(void **state)
{
	uintptr_t code = libc_code();

	(void)state;
	misses_of_two_looks(code);
	rh_unwind_doubt();
	assert_int_equal(misses_of_two_looks(code), 2);
	rh_unwind_doubt();
	rh_unwind_trust(false);
	assert_int_equal(misses_of_two_looks(code), 2); /* another one still doubts */
	rh_unwind_trust(false);
	assert_int_equal(misses_of_two_looks(code), 1);
	rh_unwind_doubt();
	rh_unwind_doubt();
	rh_unwind_trust(true);
	assert_int_equal(misses_of_two_looks(code), 1);
	rh_unwind_trust(false); /* of a doubt that has been ended */
	rh_unwind_doubt();
	assert_int_equal(misses_of_two_looks(code), 2);
	rh_unwind_trust(false);
}

#define THREADS 8
#define ROUNDS 400

static pthread_barrier_t barrier;
static bool forgetting;

struct worker {
	pthread_t thread;
	unsigned depth;
	unsigned disagreed;
	unsigned changed;
	struct rh_walker walker;
	struct stack expected;
};

static __thread struct worker *me;

RH_KEEPS_FRAME __attribute__((noinline)) static void check(void)
{
	struct rh_frame from = RH_CALLER();
	static __thread uint64_t pcs[STACK_MAX];
	unsigned count = rh_unwind(&me->walker, &from, pcs, STACK_MAX);

	if (me->expected.count == 0) {
		compare_from(&from);
		me->disagreed += !compare_agreed();
		me->expected = compared.libunwind;
	}
	me->changed += count != me->expected.count || memcmp(pcs, me->expected.pcs, count * sizeof(pcs[0])) != 0;
}

static void *work(void *argument)
{
	volatile unsigned i;

	me = argument;
	pthread_barrier_wait(&barrier);
	for (i = 0; i < ROUNDS; i++)
		shape_mix(me->depth, check);
	return NULL;
}

static void *forget_all_the_time(void *unused)
{
	while (__atomic_load_n(&forgetting, __ATOMIC_RELAXED)) {
		rh_unwind_forget();
		usleep(20);
	}
	return unused;
}

static void many_threads_learn_and_forget_at_once(void **state)
{
	static struct worker workers[THREADS];
	pthread_t forgetter;

	(void)state;
	rh_unwind_forget();
	pthread_barrier_init(&barrier, NULL, THREADS);
	__atomic_store_n(&forgetting, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&forgetter, NULL, forget_all_the_time, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].depth = 20 + i % 3 * 7;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	__atomic_store_n(&forgetting, false, __ATOMIC_RELAXED);
	pthread_join(forgetter, NULL);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_true(workers[i].expected.count > workers[i].depth);
		assert_int_equal(workers[i].disagreed, 0);
		assert_int_equal(workers[i].changed, 0);
		assert_int_equal(workers[i].walker.truncated, 0);
	}
}

static volatile unsigned interruptions, interrupted_wrongly;
static struct stack *volatile interrupted;

RH_KEEPS_FRAME static void on_timer(int number)
{
	static struct rh_walker walker;
	static uint64_t pcs[STACK_MAX];
	struct rh_frame from = RH_CALLER();
	const struct stack *outer = interrupted;
	unsigned count = rh_unwind(&walker, &from, pcs, STACK_MAX);

	/* The outermost frames are those of the interrupted walk, whatever it was doing. */
	(void)number;
	interruptions++;
	interrupted_wrongly += walker.truncated != 0 || count <= 5 || memcmp(pcs + count - 5, outer->pcs + outer->count - 5, 5 * sizeof(pcs[0])) != 0;
}

static void a_handler_in_the_middle_of_learning_walks_too(void **state)
{
	static struct worker worker;
	struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
	volatile unsigned rounds = 0;

	(void)state;
	me = &worker;
	worker.depth = 30;
	interruptions = interrupted_wrongly = 0;
	interrupted = &worker.expected;
	shape_mix(worker.depth, check);
	/* The frame that repeats the walk is this one: take the list again from within the loop. */
	worker.expected.count = 0;
	while (interruptions < 300) {
		rh_unwind_forget();
		shape_mix(worker.depth, check);
		if (rounds++ == 0) {
			signal(SIGALRM, on_timer);
			setitimer(ITIMER_REAL, &often, NULL);
		}
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	assert_int_equal(interrupted_wrongly, 0);
	assert_int_equal(worker.disagreed, 0);
	assert_int_equal(worker.changed, 0);
	assert_int_equal(worker.walker.truncated, 0);
}

static void a_static_program_walks_without_libunwind(void **state)
{
	int status = system(STATIC_WALK);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_library_at_the_same_address_is_walked_rightly_after_forget),
		cmocka_unit_test(libunwind_is_told_what_to_forget),
		cmocka_unit_test(more_code_than_the_table_holds_is_still_answered),
		cmocka_unit_test(a_row_is_not_found_again_when_the_epochs_have_come_round),
		cmocka_unit_test(nothing_is_kept_while_code_is_unloaded),
		cmocka_unit_test(many_threads_learn_and_forget_at_once),
		cmocka_unit_test(a_handler_in_the_middle_of_learning_walks_too),
		cmocka_unit_test(a_static_program_walks_without_libunwind),
	};

	compare_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
