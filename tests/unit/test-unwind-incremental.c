/* SPDX-License-Identifier: MIT
 *
 * What changes between two walks of one walker: the incremental walk sees all of it, and checks no more than it must.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <cmocka.h>

#include "log/format.h"
#include "unwind/compare.h"
#include "unwind/rows.h"
#include "unwind/shapes.h"
#include "unwind/unwind.h"

#if defined(__clang__)
#define OPTIMIZED __attribute__((noinline))
#else
#define OPTIMIZED __attribute__((optimize("O2", "omit-frame-pointer"), noinline))
#endif

#define MAX 64

static struct {
	struct rh_walker walker;
	char memory[MAX * 256];
} own;

static uint32_t same; /* of the last walk */
static uint64_t expected[STACK_MAX];
static unsigned expected_count;

static int set_up(void **state)
{
	(void)state;
	memset(&own, 0, sizeof own);
	assert_true(rh_walker_size(MAX) <= sizeof own.memory);
	rh_walker_equip(&own.walker, own.memory, MAX);
	return 0;
}

static void walk_from(const struct rh_frame *from)
{
	struct rh_walker *w = &own.walker;
	unsigned count;

	expected_count = rh_unwind(w, from, expected, STACK_MAX);
	same = rh_walk(w, from);
	assert_true(same <= w->depth);
	count = rh_walker_pcs(w);
	assert_int_equal(count, expected_count < MAX ? expected_count : MAX);
	assert_memory_equal(w->pcs, expected, count * sizeof expected[0]);
}

RH_KEEPS_FRAME __attribute__((noinline)) static void walk_here(void)
{
	struct rh_frame from = RH_CALLER();

	walk_from(&from);
}

static volatile unsigned sink;

#define AFTER() (sink++)

OPTIMIZED static void middle(callback next)
{
	next();
	AFTER();
}

/* One frame, several calls: the return addresses below are overwritten at the same depth. */
OPTIMIZED static void several_calls(callback next)
{
	for (volatile unsigned i = 0; i < 3; i++) {
		middle(next);
		AFTER();
		middle(next);
		AFTER();
	}
}

static void return_addresses_overwritten_at_the_same_depth_are_seen(void **state)
{
	(void)state;
	walk_here();
	several_calls(walk_here);
	several_calls(compare_here);
	assert_agreed();
}

OPTIMIZED static void one_caller(callback next)
{
	middle(next);
	AFTER();
}

OPTIMIZED static void another_caller(callback next)
{
	middle(next);
	sink += 2; /* or the compiler folds the two functions */
}

static void the_same_inner_frames_under_another_caller_are_seen(void **state)
{
	callback volatile walk = walk_here;
	uint64_t first[2];

	(void)state;
	one_caller(walk);
	memcpy(first, expected, sizeof first);
	another_caller(walk);
	assert_true(expected[0] == first[0] && expected[1] != first[1]); /* both at the same depth: it was such a case */
	assert_true(same < own.walker.depth);
	one_caller(walk);
	one_caller(walk);
}

/* The very same frame twice: no frame is new. One call further out, at another place: some are. */
static void an_unchanged_stack_has_no_new_frames(void **state)
{
	volatile unsigned i;

	(void)state;
	for (i = 0; i < 3; i++) {
		walk_here();
		if (i)
			assert_int_equal(same, own.walker.depth);
	}
}

static unsigned deepest;
static bool count_new;

OPTIMIZED static void recurse(unsigned depth)
{
	uint32_t before = own.walker.depth;

	walk_here();
	if (count_new && before) /* one deeper: that frame, and the one whose return address changed */
		assert_true(own.walker.depth - same <= 2);
	if (depth < deepest)
		recurse(depth + 1);
	walk_here();
	AFTER();
}

static void a_recursion_that_goes_one_deeper_has_one_new_frame(void **state)
{
	(void)state;
	deepest = 40;
	count_new = true;
	recurse(0);
	recurse(0);
	count_new = false;
}

static void frames_beyond_those_asked_for_do_not_spoil_those(void **state)
{
	(void)state;
	for (deepest = MAX - 10; deepest < 7 * MAX; deepest += 37)
		recurse(0);
	assert_true(expected_count < STACK_MAX);
}

/* Deep down first, then everything further out is changed where nobody looks, then the stack shrinks. */
static unsigned turn;

OPTIMIZED static void dive(unsigned depth)
{
	if (depth == 0) {
		walk_here();
	} else if (turn) {
		dive(depth - 1);
		AFTER();
	} else {
		dive(depth - 1);
		sink += 2;
	}
	AFTER();
}

static void what_changed_out_of_reach_is_seen_when_it_comes_within_reach(void **state)
{
	(void)state;
	for (unsigned depth = 3 * MAX; depth > 4; depth -= 3) {
		turn ^= 1;
		dive(depth);
	}
}

static jmp_buf outward;

static void jump(void)
{
	walk_here();
	longjmp(outward, 1);
}

static void a_jump_outward_and_another_way_inward_are_seen(void **state)
{
	(void)state;
	for (unsigned depth = 1; depth < 50; depth++) {
		if (setjmp(outward) == 0)
			shape_mix(depth, jump);
		walk_here();
		shape_mix(50 - depth, walk_here);
	}
}

static ucontext_t here, there;
static char other_stack[8 << 20]; /* some shapes have large frames */

static void coroutine(void)
{
	for (unsigned i = 0;; i++) {
		shape_mix(i % 20, walk_here);
		swapcontext(&there, &here);
	}
}

static void stacks_switched_back_and_forth_are_told_apart(void **state)
{
	(void)state;
	assert_int_equal(getcontext(&there), 0);
	there.uc_stack.ss_sp = other_stack;
	there.uc_stack.ss_size = sizeof other_stack;
	there.uc_link = NULL;
	makecontext(&there, coroutine, 0);
	for (unsigned i = 0; i < 40; i++) {
		swapcontext(&here, &there);
		shape_mix(i % 7, walk_here);
	}
}

/* A function whose rule is CFA = rbp + 16, to find its rows by: stacks are made by hand. */
__asm__(".text\n"
	".type by_rbp, @function\n"
	"by_rbp:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa %rbp, 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	call *%rdi\n"
	"	.globl by_rbp_returns\n"
	"by_rbp_returns:\n"
	"	popq %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size by_rbp, . - by_rbp\n"
	".type by_rsp, @function\n"
	"by_rsp:\n"
	"	.cfi_startproc\n"
	"	subq $8, %rsp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	call *%rdi\n"
	"	.globl by_rsp_returns\n"
	"by_rsp_returns:\n"
	"	addq $8, %rsp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size by_rsp, . - by_rsp\n");
extern void by_rbp_returns(void), by_rsp_returns(void);

/* Layout, in words: a frame by rsp at 0 (CFA 2), by rbp at 2 (CFA as rbp says), and so on. */
static void a_saved_frame_pointer_that_changed_leads_elsewhere(void **state)
{
	const uintptr_t by_rbp = (uintptr_t)by_rbp_returns, by_rsp = (uintptr_t)by_rsp_returns;
	uintptr_t words[40] = {0};
	struct rh_frame from = {by_rsp, (uintptr_t)&words[0], (uintptr_t)&words[4]};

	(void)state;
	words[1] = by_rbp; /* of the frame at 2; its rbp is the live one: CFA at &words[4] + 2 words */
	words[4] = (uintptr_t)&words[10];
	words[5] = by_rbp; /* of the frame at 6; its rbp is in words[4]: CFA at &words[10] + 2 words */
	words[10] = (uintptr_t)&words[20];
	words[11] = by_rsp; /* of the frame at 12 */
	words[13] = by_rbp; /* of the frame at 14; its rbp is still in words[10] */
	words[21] = 0;
	words[31] = 0;
	for (unsigned i = 0; i < 3; i++)
		walk_from(&from);
	assert_int_equal(expected_count, 5);
	assert_int_equal(same, 5);

	words[31] = by_rsp; /* the last one's rbp leads to another place, where the stack goes on */
	words[10] = (uintptr_t)&words[30];
	walk_from(&from);
	assert_int_equal(expected_count, 6);

	words[4] = (uintptr_t)&words[16]; /* one in the middle */
	words[16] = (uintptr_t)&words[30];
	words[17] = by_rsp;
	walk_from(&from);
	assert_int_equal(expected_count, 4);

	from.fp = (uintptr_t)&words[16]; /* and the register itself */
	walk_from(&from);
	assert_int_equal(expected_count, 3);
	from.fp = (uintptr_t)&words[4];
	walk_from(&from);
	walk_from(&from);
	assert_int_equal(same, 4);
}

/* rbp holds something else each time, which no frame's rules use. */
static void a_register_that_no_rule_needs_may_change(void **state)
{
	uintptr_t words[8] = {0};
	struct rh_frame from = {(uintptr_t)by_rsp_returns, (uintptr_t)&words[0], 1};

	(void)state;
	words[1] = words[3] = (uintptr_t)by_rsp_returns;
	for (from.fp = 1; from.fp < 5; from.fp++) {
		walk_from(&from);
		assert_int_equal(expected_count, 3);
		if (from.fp > 1)
			assert_int_equal(same, 3);
	}
}

static void an_end_that_memory_says_is_looked_at_again(void **state)
{
	uintptr_t words[12] = {0};
	struct rh_frame from = {(uintptr_t)by_rsp_returns, (uintptr_t)&words[0], 0};

	(void)state;
	words[1] = (uintptr_t)by_rsp_returns;
	walk_from(&from);
	walk_from(&from);
	assert_int_equal(expected_count, 2);
	assert_int_equal(same, 2);
	words[3] = words[5] = (uintptr_t)by_rsp_returns; /* it goes on now */
	walk_from(&from);
	assert_int_equal(expected_count, 4);
	words[3] = 0;
	walk_from(&from);
	assert_int_equal(expected_count, 2);
}

static void unloaded_code_leaves_nothing_known(void **state)
{
	volatile unsigned i;

	(void)state;
	for (i = 0; i < 4; i++) {
		if (i == 2)
			rh_unwind_forget();
		walk_here();
		assert_int_equal(same, i == 0 || i == 2 ? 0 : own.walker.depth);
	}
}

static void a_reset_walker_knows_nothing(void **state)
{
	volatile unsigned i;

	(void)state;
	for (i = 0; i < 4; i++) {
		if (i == 2)
			rh_walker_reset(&own.walker);
		walk_here();
		assert_int_equal(same, i == 0 || i == 2 ? 0 : own.walker.depth);
	}
}

/* A random walk through calls of all kinds. */
static uint64_t seed = 88172645463325252u;

static unsigned random_below(unsigned limit)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return (unsigned)(seed >> 33) % limit;
}

static unsigned budget, level;

static void wander(void)
{
	level++;
	while (budget) {
		unsigned choice = random_below(10);

		budget--;
		walk_here();
		if (choice < 4 || level > 120)
			break;
		if (choice < 6)
			one_caller(wander);
		else
			shapes[random_below(shape_count)].call(wander);
	}
	walk_here();
	level--;
}

static void a_random_way_through_all_shapes_agrees(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		budget = 200;
		level = 0;
		wander();
	}
}

static void whole_walks_find_the_same_differences(void **state)
{
	struct rh_walker *w = &own.walker;
	struct rh_frame from;
	static const enum rh_unwinder others[] = {RH_UNWINDER_LIBUNWIND, RH_UNWINDER_FP};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		rh_walker_reset(w);
		assert_true(rh_unwind_choose(others[i]));
		for (volatile unsigned times = 0; times < 3; times++) {
			struct rh_frame caller = RH_CALLER();

			from = caller;
			same = rh_walk(w, &from);
			assert_true(w->depth > 0 && rh_kept_pc(&w->kept[w->depth - 1]) == from.pc);
			assert_int_equal(same, times ? w->depth : 0);
		}
		from.pc++; /* the innermost frame alone */
		if (others[i] == RH_UNWINDER_FP)
			assert_int_equal(rh_walk(w, &from), w->depth - 1);
	}
	assert_true(rh_unwind_choose(RH_UNWINDER_CFI));
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_unchanged_stack_has_no_new_frames),
		TEST(return_addresses_overwritten_at_the_same_depth_are_seen),
		TEST(the_same_inner_frames_under_another_caller_are_seen),
		TEST(a_recursion_that_goes_one_deeper_has_one_new_frame),
		TEST(frames_beyond_those_asked_for_do_not_spoil_those),
		TEST(what_changed_out_of_reach_is_seen_when_it_comes_within_reach),
		TEST(a_jump_outward_and_another_way_inward_are_seen),
		TEST(stacks_switched_back_and_forth_are_told_apart),
		TEST(a_saved_frame_pointer_that_changed_leads_elsewhere),
		TEST(a_register_that_no_rule_needs_may_change),
		TEST(an_end_that_memory_says_is_looked_at_again),
		TEST(unloaded_code_leaves_nothing_known),
		TEST(a_reset_walker_knows_nothing),
		TEST(a_random_way_through_all_shapes_agrees),
		TEST(whole_walks_find_the_same_differences),
	};

	compare_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
