/* SPDX-License-Identifier: MIT
 *
 * The walk out of signal handlers, alternate stacks and coroutines, and from every instruction that a signal can interrupt.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <cmocka.h>

#include "log/format.h"
#include "unwind/compare.h"
#include "unwind/rows.h"
#include "unwind/shapes.h"

static bool met(enum rh_row_kind kind)
{
	return compared.kinds & 1u << kind;
}

static void on_signal(int number)
{
	(void)number;
	compare_here();
}

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	assert_int_equal(sigaction(number, &action, NULL), 0);
}

static void raise_usr1(void)
{
	raise(SIGUSR1);
}

static unsigned exact_frames(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < compared.ours.count; i++)
		count += (compared.ours.pcs[i] & RH_PC_EXACT) != 0;
	return count;
}

static void agrees_from_a_handler_on_the_same_stack(void **state)
{
	(void)state;
	handle(SIGUSR1, on_signal, 0);
	shape_mix(20, raise_usr1);
	assert_agreed();
	assert_true(met(RH_ROW_SIGNAL));
	assert_true(met(RH_ROW_END));
	assert_int_equal(exact_frames(), 1);
	assert_int_equal(compared.truncated, 0);
}

static void with_alternate_stack(size_t size, bool is_static)
{
	/* Below the main stack, as mappings are, and in static memory. */
	static char memory[65536];
	stack_t stack = {.ss_size = size}, none = {.ss_flags = SS_DISABLE};

	stack.ss_sp = is_static ? memory : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	handle(SIGUSR1, on_signal, SA_ONSTACK);
	shape_mix(20, raise_usr1);
	assert_int_equal(sigaltstack(&none, NULL), 0);
	assert_agreed();
	assert_int_equal(exact_frames(), 1);
	assert_true(met(RH_ROW_END));
	assert_int_equal(compared.truncated, 0);
}

static void agrees_from_a_handler_on_an_alternate_stack(void **state)
{
	(void)state;
	with_alternate_stack(65536, false);
	with_alternate_stack(65536, true);
}

static void on_outer_signal(int number)
{
	(void)number;
	shape_mix(5, raise_usr1);
}

static void raise_usr2(void)
{
	raise(SIGUSR2);
}

static void agrees_from_a_handler_in_a_handler(void **state)
{
	(void)state;
	handle(SIGUSR1, on_signal, 0);
	handle(SIGUSR2, on_outer_signal, 0);
	shape_mix(20, raise_usr2);
	assert_agreed();
	assert_int_equal(exact_frames(), 2);
}

/* A function whose first instruction faults: at pc - 1 another function would be found. */
__asm__(".text\n"
	".type faults_at_once, @function\n"
	"before_faults:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined %rip\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	"faults_at_once:\n"
	"	.cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size faults_at_once, . - faults_at_once\n");
extern void faults_at_once(void);

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	compare_here();
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2; /* over ud2 */
}

static void an_interrupted_pc_is_looked_up_as_it_is(void **state)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	unsigned i = 0;

	(void)state;
	assert_int_equal(sigaction(SIGILL, &action, NULL), 0);
	shape_mix(3, faults_at_once);
	assert_agreed();
	assert_true(met(RH_ROW_END));
	while (i < compared.ours.count && compared.ours.pcs[i] != ((uintptr_t)faults_at_once | RH_PC_EXACT))
		i++;
	assert_true(i + 4 < compared.ours.count);
}

static void a_call_of_a_null_pointer_ends_the_stack(void **state)
{
	/* By hand: what the kernel leaves when a null function was called. */
	ucontext_t context = {0};
	struct rh_walker walker = {0};
	struct rh_frame from = {0, (uintptr_t)&context, 0};
	uint64_t pcs[8];

	(void)state;
	handle(SIGUSR1, on_signal, 0);
	raise_usr1();
	for (unsigned i = 1; i < compared.ours.count; i++) {
		if (compared.ours.pcs[i] & RH_PC_EXACT)
			from.pc = compared.ours.pcs[i - 1];
	}
	assert_true(from.pc != 0);
	context.uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)&context;
	assert_int_equal(rh_unwind(&walker, &from, pcs, 8), 1);
	context.uc_mcontext.gregs[REG_RSP] = 4096; /* interrupted while rsp was no stack */
	context.uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)raise_usr1;
	assert_int_equal(rh_unwind(&walker, &from, pcs, 8), 1);
	assert_int_equal(walker.truncated, 1);
}

/* Single steps: a trap after each instruction, and a comparison in its handler. */
static unsigned stepped, step_disagreed, step_undecided;
static uint64_t step_truncated;
static struct comparison first_disagreement;

static void on_trap(int number)
{
	int saved_errno = errno;

	(void)number;
	compare_here();
	stepped++;
	if (compare_undecided())
		step_undecided++;
	else
		step_truncated += compared.truncated;
	if (!compare_agreed() && !compare_undecided() && step_disagreed++ == 0)
		first_disagreement = compared;
	errno = saved_errno;
}

#define FLAG_FUNCTION(NAME, OPERATION)                                                                                                     \
	__asm__(".text\n"                                                                                                                  \
		".type " #NAME ", @function\n" #NAME ":\n"                                                                                 \
		"	.cfi_startproc\n"                                                                                                  \
		"	pushfq\n"                                                                                                          \
		"	.cfi_adjust_cfa_offset 8\n"                                                                                        \
		"	" OPERATION ", (%rsp)\n"                                                                                           \
		"	popfq\n"                                                                                                           \
		"	.cfi_adjust_cfa_offset -8\n"                                                                                       \
		"	ret\n"                                                                                                             \
		"	.cfi_endproc\n"                                                                                                    \
		".size " #NAME ", . - " #NAME "\n");                                                                                       \
	extern void NAME(void)

FLAG_FUNCTION(set_trap_flag, "orq $0x100");
FLAG_FUNCTION(clear_trap_flag, "andq $-0x101");

static void single_step(void (*call)(callback), callback next)
{
	handle(SIGTRAP, on_trap, 0);
	stepped = step_disagreed = step_undecided = 0;
	step_truncated = 0;
	set_trap_flag();
	call(next);
	clear_trap_flag();
	if (step_disagreed) {
		compared = first_disagreement;
		print_message("%u of %u steps\n", step_disagreed, stepped);
		assert_agreed();
	}
}

static void nothing(void)
{
}

static void agrees_at_every_instruction_of_every_shape(void **state)
{
	(void)state;
	for (unsigned i = 0; i < shape_count; i++) {
		single_step(shapes[i].call, nothing);
		assert_true(stepped > 10);
		assert_int_equal(step_truncated, 0);
		/* In the last two instructions of a realigned frame gcc's rule for rbp is not true any more. */
		assert_in_range(step_undecided, 0, 2);
	}
}

static void call_libc(callback next)
{
	char text[32], *end;

	next();
	assert_int_equal(strtol("  1234 ", &end, 10), 1234);
	memset(text, 'x', sizeof(text) - 1);
	text[31] = 0;
	assert_int_equal(strlen(text), 31);
	free(strdup(text));
}

static void agrees_at_every_instruction_through_the_plt_and_the_resolver(void **state)
{
	(void)state;
	single_step(call_libc, nothing);
	assert_true(stepped > 100);
	assert_int_equal(step_truncated, 0);
	assert_int_equal(step_undecided, 0);
}

static ucontext_t main_context, coroutine_context;
static unsigned coroutine_agreed, coroutine_kinds, coroutine_truncated;

static void in_coroutine(void)
{
	compare_here();
	coroutine_agreed += compare_agreed();
	coroutine_kinds |= compared.kinds;
	coroutine_truncated += (unsigned)compared.truncated;
	swapcontext(&coroutine_context, &main_context);
}

static void coroutine(void)
{
	shape_mix(10, in_coroutine);
	shape_mix(10, in_coroutine);
	raise_usr1();
	coroutine_agreed += compare_agreed();
}

static void agrees_in_coroutines_whose_stack_ends(void **state)
{
	char *stack = malloc(1 << 20);

	(void)state;
	handle(SIGUSR1, on_signal, 0);
	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = 1 << 20;
	coroutine_context.uc_link = &main_context;
	makecontext(&coroutine_context, coroutine, 0);
	for (unsigned i = 0; i < 3; i++)
		swapcontext(&main_context, &coroutine_context);
	free(stack);
	assert_int_equal(coroutine_agreed, 3);
	assert_true(coroutine_kinds & 1u << RH_ROW_END);
	assert_int_equal(coroutine_truncated, 0);
}

/* Switches to another stack, calls, and comes back; its rules find the old stack by rbp. */
__asm__(".text\n"
	".type on_other_stack, @function\n"
	"on_other_stack:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	movq %rdi, %rsp\n"
	"	call *%rsi\n"
	"	movq %rbp, %rsp\n"
	"	popq %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size on_other_stack, . - on_other_stack\n");
extern void on_other_stack(void *top, callback next);

static void other_stack(void)
{
	static char memory[1 << 18] __attribute__((aligned(16)));

	on_other_stack(memory + sizeof(memory), compare_here);
}

static void a_stack_that_continues_elsewhere_is_followed(void **state)
{
	(void)state;
	shape_mix(10, other_stack);
	assert_agreed();
	assert_true(compared.ours.count > 15);
	assert_int_equal(compared.truncated, 0);
}

static void the_vdso_has_rows(void **state)
{
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
	unsigned known = 0;

	(void)state;
	if (!vdso)
		skip();
	for (uintptr_t code = vdso; code < vdso + 4096; code += 16) {
		enum rh_row_kind kind = rh_row_make(code).kind;

		known += kind == RH_ROW_SP || kind == RH_ROW_FP;
	}
	assert_true(known > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_from_a_handler_on_the_same_stack),
		cmocka_unit_test(agrees_from_a_handler_on_an_alternate_stack),
		cmocka_unit_test(agrees_from_a_handler_in_a_handler),
		cmocka_unit_test(an_interrupted_pc_is_looked_up_as_it_is),
		cmocka_unit_test(a_call_of_a_null_pointer_ends_the_stack),
		cmocka_unit_test(agrees_at_every_instruction_of_every_shape),
		cmocka_unit_test(agrees_at_every_instruction_through_the_plt_and_the_resolver),
		cmocka_unit_test(agrees_in_coroutines_whose_stack_ends),
		cmocka_unit_test(a_stack_that_continues_elsewhere_is_followed),
		cmocka_unit_test(the_vdso_has_rows),
	};

	compare_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
