/* SPDX-License-Identifier: MIT
 *
 * The walk through ordinary code agrees with libunwind and libgcc.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "log/format.h"
#include "unwind/compare.h"
#include "unwind/rows.h"
#include "unwind/shapes.h"
#include "unwind/unwind.h"

static bool met(enum rh_row_kind kind)
{
	return compared.kinds & 1u << kind;
}

static void agrees_through_every_shape_of_frame(void **state)
{
	(void)state;
	for (unsigned i = 0; i < shape_count; i++) {
		shapes[i].call(compare_here);
		if (!compare_agreed())
			print_message("in shape %s\n", shapes[i].name);
		assert_agreed();
		assert_int_equal(compared.truncated, 0);
		assert_int_equal(compared.fallbacks, 0);
	}
}

static void agrees_through_a_mix_of_all_shapes(void **state)
{
	(void)state;
	for (unsigned depth = 1; depth < 60; depth++) {
		shape_mix(depth, compare_here);
		assert_agreed();
		assert_true(compared.ours.count > depth);
	}
	assert_true(met(RH_ROW_SP));
	assert_true(met(RH_ROW_FP));
	assert_true(met(RH_ROW_END));
}

static void realigned_frames_are_rows_and_do_not_lose_the_tail(void **state)
{
	(void)state;
#if defined(__clang__)
	skip();
#endif
	shape_realigned(compare_here);
	assert_agreed();
	assert_true(met(RH_ROW_REALIGN));
	assert_true(met(RH_ROW_END));
	assert_int_equal(compared.fallbacks, 0);
}

static unsigned compared_in_callbacks, agreed_in_callbacks;

static int by_value(const void *a, const void *b)
{
	compare_here();
	compared_in_callbacks++;
	agreed_in_callbacks += compare_agreed();
	return *(const int *)a - *(const int *)b;
}

static void agrees_in_callbacks_of_libc(void **state)
{
	int values[] = {5, 3, 9, 1, 7, 2, 8}, key = 8;
	const unsigned count = sizeof(values) / sizeof(values[0]);

	(void)state;
	compared_in_callbacks = agreed_in_callbacks = 0;
	qsort(values, count, sizeof(values[0]), by_value);
	assert_non_null(bsearch(&key, values, count, sizeof(values[0]), by_value));
	assert_true(compared_in_callbacks > count);
	assert_int_equal(agreed_in_callbacks, compared_in_callbacks);
}

static struct stack limited;
static unsigned limit;

RH_KEEPS_FRAME __attribute__((noinline)) static void walk_limited(void)
{
	struct rh_frame from = RH_CALLER();
	struct rh_walker walker = {0};

	memset(&limited, 0, sizeof(limited));
	limited.count = rh_unwind(&walker, &from, limited.pcs, limit);
	assert_int_equal(walker.truncated, 0);
}

/* Both walks start at the same place: a loop that the compiler cannot unroll. */
static void (*volatile leaf)(void);

__attribute__((noinline)) static void call_leaf(void)
{
	leaf();
	__asm__ volatile("");
}

static void no_more_frames_than_asked_for_are_written(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		static struct stack whole;

		leaf = walk_limited;
		limit = i == 0 ? STACK_MAX : 3;
		shape_mix(30, call_leaf);
		if (i == 0)
			whole = limited;
		else
			assert_memory_equal(limited.pcs, whole.pcs, 3 * sizeof(whole.pcs[0]));
	}
	for (limit = 1; limit < 40; limit++) {
		shape_mix(30, call_leaf);
		assert_true(limited.count <= limit);
		if (limit <= 30)
			assert_int_equal(limited.count, limit);
		for (unsigned i = limit; i < STACK_MAX; i++)
			assert_int_equal(limited.pcs[i], 0);
	}
}

/* One return address, however the compiler unrolls the loop around it. */
__attribute__((noinline)) static uint64_t misses_of_a_walk(void)
{
	uint64_t before = rh_unwind_misses();

	shape_mix(30, call_leaf);
	return rh_unwind_misses() - before;
}

static void a_walk_over_known_code_looks_nothing_up(void **state)
{
	volatile unsigned i;

	(void)state;
	leaf = walk_limited;
	limit = STACK_MAX;
	rh_unwind_forget();
	for (i = 0; i < 3; i++) {
		uint64_t misses = misses_of_a_walk();

		if (i == 0)
			assert_true(misses > 20);
		else
			assert_int_equal(misses, 0);
	}
}

/* Assembly without call frame information that calls its argument. */
__asm__(".text\n"
	".type without_cfi, @function\n"
	"without_cfi:\n"
	"	pushq %rbp\n"
	"	xorl %ebp, %ebp\n"
	"	subq $32, %rsp\n"
	"	call *%rdi\n"
	"	addq $32, %rsp\n"
	"	popq %rbp\n"
	"	ret\n"
	".size without_cfi, . - without_cfi\n");
extern void without_cfi(callback next);

static void code_without_cfi_ends_the_stack(void **state)
{
	(void)state;
	without_cfi(compare_here);
	assert_int_equal(compared.ours.count, 1);
	assert_int_equal(compared.truncated, 1);
	assert_true(met(RH_ROW_LOST));
	assert_true(compared.ours.pcs[0] - (uintptr_t)without_cfi < 32);
}

/* The loader's entry, which has no call frame information, is where the stack of a library's constructors ends. */
static void the_loaders_entry_is_an_end_and_not_a_loss(void **state)
{
	extern void *__libc_stack_end;
	struct rh_walker walker = {0};
	struct rh_frame from;
	uint64_t pcs[8];

	(void)state;
	without_cfi(compare_here);
	from = (struct rh_frame){(uintptr_t)compared.ours.pcs[0], (uintptr_t)__libc_stack_end, 0};
	assert_int_equal(rh_unwind(&walker, &from, pcs, 8), 1);
	assert_int_equal(walker.truncated, 0);
	from.cfa -= 4096;
	assert_int_equal(rh_unwind(&walker, &from, pcs, 8), 1);
	assert_int_equal(walker.truncated, 1);
}

/* Call frame information that is wrong: the frame pointer holds rubbish where the rules need it. */
__asm__(".text\n"
	".type with_wrong_cfi, @function\n"
	"with_wrong_cfi:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa %rbp, 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	movq %rsi, %rbp\n"
	"	call *%rdi\n"
	"	popq %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size with_wrong_cfi, . - with_wrong_cfi\n");
extern void with_wrong_cfi(callback next, uintptr_t rbp);

static void a_rubbish_frame_pointer_ends_the_stack(void **state)
{
	const uintptr_t rubbish[] = {0, 8, 4096, 0x123456, UINTPTR_MAX, UINTPTR_MAX - 15, (uintptr_t)1 << 47, 0x7ffffffff000};

	(void)state;
	leaf = walk_limited;
	for (unsigned i = 0; i < sizeof(rubbish) / sizeof(rubbish[0]); i++) {
		struct rh_walker walker = {0};
		struct rh_frame from;
		uint64_t pcs[8];

		/* Only we: the others would crash. */
		with_wrong_cfi(compare_here, (uintptr_t)__builtin_frame_address(0));
		from = (struct rh_frame){(uintptr_t)compared.ours.pcs[0], (uintptr_t)__builtin_frame_address(0) - 4096, rubbish[i]};
		assert_int_equal(rh_unwind(&walker, &from, pcs, 8), 1);
		assert_int_equal(walker.truncated, 1);
	}
}

static void a_null_return_address_ends_the_stack(void **state)
{
	/* A frame whose rule is CFA = rbp + 16, on a stack made by hand. */
	uintptr_t words[8] = {0};
	struct rh_walker walker = {0};
	struct rh_frame from;
	uint64_t pcs[8];

	(void)state;
	with_wrong_cfi(compare_here, (uintptr_t)__builtin_frame_address(0));
	from = (struct rh_frame){(uintptr_t)compared.ours.pcs[0], (uintptr_t)&words[0], (uintptr_t)&words[2]};
	assert_int_equal(rh_unwind(&walker, &from, pcs, 8), 1);
	assert_int_equal(walker.truncated, 0);
	words[3] = (uintptr_t)compared.ours.pcs[0];
	words[2] = (uintptr_t)&words[4];
	assert_int_equal(rh_unwind(&walker, &from, pcs, 8), 2);
	assert_int_equal(walker.truncated, 0);
}

static void a_cycle_of_frame_pointers_ends(void **state)
{
	uintptr_t words[8] = {0};
	struct rh_walker walker = {0};
	struct rh_frame from;
	static uint64_t pcs[100000];

	(void)state;
	with_wrong_cfi(compare_here, (uintptr_t)__builtin_frame_address(0));
	from = (struct rh_frame){(uintptr_t)compared.ours.pcs[0], (uintptr_t)&words[0], (uintptr_t)&words[2]};
	words[2] = (uintptr_t)&words[2];
	words[3] = (uintptr_t)compared.ours.pcs[0];
	assert_in_range(rh_unwind(&walker, &from, pcs, 100000), 2, 100);
	assert_int_equal(walker.truncated, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_through_every_shape_of_frame),
		cmocka_unit_test(agrees_through_a_mix_of_all_shapes),
		cmocka_unit_test(realigned_frames_are_rows_and_do_not_lose_the_tail),
		cmocka_unit_test(agrees_in_callbacks_of_libc),
		cmocka_unit_test(no_more_frames_than_asked_for_are_written),
		cmocka_unit_test(a_walk_over_known_code_looks_nothing_up),
		cmocka_unit_test(code_without_cfi_ends_the_stack),
		cmocka_unit_test(the_loaders_entry_is_an_end_and_not_a_loss),
		cmocka_unit_test(a_rubbish_frame_pointer_ends_the_stack),
		cmocka_unit_test(a_null_return_address_ends_the_stack),
		cmocka_unit_test(a_cycle_of_frame_pointers_ends),
	};

	compare_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
