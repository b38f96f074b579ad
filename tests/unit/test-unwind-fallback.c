/* SPDX-License-Identifier: MIT
 *
 * Frames that no row can express: libunwind steps over them, unseen by the program.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "unwind/compare.h"
#include "unwind/rows.h"
#include "unwind/shapes.h"

/* A frame that is found by rbx. */
__asm__(".text\n"
	".type found_by_rbx, @function\n"
	"found_by_rbx:\n"
	"	.cfi_startproc\n"
	"	pushq %rbx\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbx, -16\n"
	"	movq %rsp, %rbx\n"
	"	.cfi_def_cfa_register %rbx\n"
	"	subq $192, %rsp\n"
	"	andq $-64, %rsp\n"
	"	call *%rdi\n"
	"	movq %rbx, %rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	popq %rbx\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size found_by_rbx, . - found_by_rbx\n");
extern void found_by_rbx(callback next);

static struct rh_walker walker;
static uint64_t pcs[STACK_MAX];
static unsigned count;

RH_KEEPS_FRAME __attribute__((noinline)) static void walk_only(void)
{
	struct rh_frame from = RH_CALLER();

	count = rh_unwind(&walker, &from, pcs, STACK_MAX);
}

static void inner(void)
{
	shape_mix(4, compare_here);
}

static void by_rbx(void)
{
	found_by_rbx(inner);
}

static void by_rbx_walk_only(void)
{
	found_by_rbx(walk_only);
}

static void agrees_across_a_frame_that_no_row_expresses(void **state)
{
	(void)state;
	shape_mix(6, by_rbx);
	assert_agreed();
	assert_true(compared.kinds & 1u << RH_ROW_HARD);
	assert_true(compared.kinds & 1u << RH_ROW_END);
	assert_int_equal(compared.fallbacks, 1);
	assert_int_equal(compared.truncated, 0);
}

static void by_rbx_twice(void)
{
	found_by_rbx(by_rbx);
}

static void agrees_across_several_such_frames(void **state)
{
	(void)state;
	shape_mix(6, by_rbx_twice);
	assert_agreed();
	assert_int_equal(compared.fallbacks, 2);
}

static void on_signal(int number)
{
	(void)number;
	by_rbx();
}

static void raise_usr1(void)
{
	raise(SIGUSR1);
}

static void agrees_above_and_below_a_signal(void **state)
{
	(void)state;
	signal(SIGUSR1, on_signal);
	found_by_rbx(raise_usr1);
	assert_agreed();
	assert_int_equal(compared.fallbacks, 2);
}

static void errno_and_the_signal_mask_are_kept(void **state)
{
	sigset_t before, after;

	(void)state;
	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = EDOM;
	by_rbx_walk_only();
	assert_int_equal(errno, EDOM);
	sigprocmask(SIG_SETMASK, NULL, &after);
	assert_memory_equal(&before, &after, 8);
	sigemptyset(&before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

#define THREAD_STACK 131072

static uintptr_t thread_depth;

static void *walk_in_a_thread(void *unused)
{
	(void)unused;
	thread_depth = (uintptr_t)__builtin_frame_address(0);
	by_rbx_walk_only();
	return NULL;
}

/* Bytes of a thread's stack that a walk needs, everything that it meets being new. */
static size_t stack_used(void)
{
	char *memory = mmap(NULL, THREAD_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t untouched = 0, used;
	pthread_attr_t attributes;
	pthread_t thread;

	assert_ptr_not_equal(memory, MAP_FAILED);
	memset(memory, 0xa5, THREAD_STACK);
	pthread_attr_init(&attributes);
	assert_int_equal(pthread_attr_setstack(&attributes, memory, THREAD_STACK), 0);
	rh_unwind_forget();
	assert_int_equal(pthread_create(&thread, &attributes, walk_in_a_thread, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	while (untouched < THREAD_STACK && memory[untouched] == (char)0xa5)
		untouched++;
	used = thread_depth - (uintptr_t)(memory + untouched);
	munmap(memory, THREAD_STACK);
	return used;
}

static void two_kilobytes_of_the_callers_stack_are_enough(void **state)
{
	(void)state;
#if defined(__SANITIZE_ADDRESS__)
	skip();
#endif
	/* The first walk binds the functions that are called, which takes the loader some stack: the library itself is bound at once. */
	walker = (struct rh_walker){0};
	by_rbx_walk_only();
	rh_walker_release(&walker);
	walker = (struct rh_walker){0};
	assert_in_range(stack_used(), 1, 2048);
	assert_true(count >= 4);
	assert_int_equal(walker.fallbacks, 1);
	rh_walker_release(&walker);
}

static void without_memory_the_stack_ends_early(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		struct rlimit none = {0, 0};
		struct rh_walker before;

		walker = (struct rh_walker){0};
		by_rbx_walk_only();
		rh_walker_release(&walker);
		before = walker;
		setrlimit(RLIMIT_AS, &none);
		by_rbx_walk_only();
		_exit(count == 1 && walker.truncated == before.truncated + 1 && walker.private_stack == NULL ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_released_walker_can_be_used_again(void **state)
{
	(void)state;
	walker = (struct rh_walker){0};
	by_rbx_walk_only();
	assert_non_null(walker.private_stack);
	rh_walker_release(&walker);
	assert_null(walker.private_stack);
	rh_walker_release(&walker);
	by_rbx_walk_only();
	assert_true(count > 3);
	assert_int_equal(walker.fallbacks, 2);
	rh_walker_release(&walker);
}

static void a_forked_child_steps_over_such_frames_too(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		by_rbx();
		_exit(compare_agreed() && compared.fallbacks == 1 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_across_a_frame_that_no_row_expresses),
		cmocka_unit_test(agrees_across_several_such_frames),
		cmocka_unit_test(agrees_above_and_below_a_signal),
		cmocka_unit_test(errno_and_the_signal_mask_are_kept),
		cmocka_unit_test(two_kilobytes_of_the_callers_stack_are_enough),
		cmocka_unit_test(without_memory_the_stack_ends_early),
		cmocka_unit_test(a_released_walker_can_be_used_again),
		cmocka_unit_test(a_forked_child_steps_over_such_frames_too),
	};

	compare_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
