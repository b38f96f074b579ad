/* SPDX-License-Identifier: MIT
 *
 * Two oracles for the walk: libunwind's cursor and libgcc's _Unwind_Backtrace. libunwind exports functions of libgcc's names too, so libgcc
 * is asked by dlopen.
 */
#include "unwind/compare.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unwind.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "log/format.h"
#include "unwind/rows.h"

__thread struct comparison compared;
static __thread struct rh_walker walker;

/* A walk with memory, and what a log of its differences would hold, outermost first. */
struct memory {
	struct rh_walker walker;
	uint64_t logged[4 * STACK_MAX];
	uint32_t depth;
};
static __thread struct memory *whole, *limited;

static _Unwind_Reason_Code (*libgcc_backtrace)(_Unwind_Trace_Fn, void *);
static _Unwind_Ptr (*libgcc_pc)(struct _Unwind_Context *, int *);
static _Unwind_Word (*libgcc_cfa)(struct _Unwind_Context *);

void compare_init(void)
{
	void *libgcc = dlopen("libgcc_s.so.1", RTLD_NOW);

	if (libgcc) {
		*(void **)&libgcc_backtrace = dlsym(libgcc, "_Unwind_Backtrace");
		*(void **)&libgcc_pc = dlsym(libgcc, "_Unwind_GetIPInfo");
		*(void **)&libgcc_cfa = dlsym(libgcc, "_Unwind_GetCFA");
	}
	if (!libgcc_backtrace || !libgcc_pc || !libgcc_cfa)
		abort();
	rh_unwind_init();
}

static void push(struct stack *stack, uint64_t pc)
{
	if (stack->count < STACK_MAX)
		stack->pcs[stack->count++] = pc;
}

static __attribute__((noinline)) void ask_libunwind(const struct rh_frame *from, struct stack *stack)
{
	unw_context_t context;
	unw_cursor_t cursor;
	bool found = false;

	stack->count = 0;
	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	do {
		unw_word_t pc, sp;

		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		unw_get_reg(&cursor, UNW_REG_SP, &sp);
		if (pc == 0)
			break;
		if (pc == from->pc && sp == from->cfa)
			found = true;
		if (found)
			push(stack, pc | (unw_is_signal_frame(&cursor) > 0 ? RH_PC_EXACT : 0));
	} while (unw_step(&cursor) > 0);
}

struct visit {
	const struct rh_frame *from;
	struct stack *stack;
	bool found;
};

static _Unwind_Reason_Code visit_frame(struct _Unwind_Context *context, void *argument)
{
	struct visit *visit = argument;
	int exact = 0;
	uint64_t pc = libgcc_pc(context, &exact);

	/* Here libgcc's CFA is that of the frame inward: the stack pointer of this one. */
	if (pc == visit->from->pc && libgcc_cfa(context) == visit->from->cfa)
		visit->found = true;
	if (visit->found && pc)
		push(visit->stack, pc | (exact ? RH_PC_EXACT : 0));
	return _URC_NO_REASON;
}

static __attribute__((noinline)) void ask_libgcc(const struct rh_frame *from, struct stack *stack)
{
	struct visit visit = {from, stack, false};

	stack->count = 0;
	libgcc_backtrace(visit_frame, &visit);
}

static struct memory *new_memory(uint32_t max)
{
	size_t size = sizeof(struct memory) + rh_walker_size(max);
	struct memory *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	rh_walker_equip(&memory->walker, memory + 1, max);
	return memory;
}

static __attribute__((noinline)) void walk_on(struct memory *memory, const struct rh_frame *from, struct stack *stack)
{
	struct rh_walker *w = &memory->walker;
	uint32_t same = rh_walk(w, from);

	if (same > memory->depth || same > w->depth)
		abort();
	for (uint32_t i = same; i < w->depth; i++)
		memory->logged[i] = rh_kept_pc(&w->kept[i]);
	memory->depth = w->depth;
	stack->count = 0;
	for (uint32_t i = w->depth; i > 0 && stack->count < w->max; i--)
		push(stack, memory->logged[i - 1]);
	if (stack->count != rh_walker_pcs(w) || memcmp(stack->pcs, w->pcs, stack->count * sizeof(w->pcs[0])) != 0)
		stack->count = 0; /* it was not the same after all */
}

__attribute__((noinline)) void compare_from(const struct rh_frame *from)
{
	struct stack *ours = &compared.ours;
	struct rh_walker before = walker;

	ours->count = rh_unwind(&walker, from, ours->pcs, STACK_MAX);
	compared.truncated = walker.truncated - before.truncated;
	compared.fallbacks = walker.fallbacks - before.fallbacks;
	compared.kinds = 0;
	for (unsigned i = 0; i < ours->count; i++) {
		bool exact = (ours->pcs[i] & RH_PC_EXACT) != 0;

		compared.kinds |= 1u << rh_row_of((uintptr_t)(ours->pcs[i] & ~RH_PC_EXACT) - !exact, rh_rows_epoch()).kind;
	}
	if (!limited) {
		whole = new_memory(STACK_MAX);
		limited = new_memory(LIMITED_MAX);
	}
	walk_on(whole, from, &compared.incremental);
	walk_on(limited, from, &compared.limited);
	ask_libunwind(from, &compared.libunwind);
	ask_libgcc(from, &compared.libgcc);
}

RH_KEEPS_FRAME __attribute__((noinline)) void compare_here(void)
{
	struct rh_frame from = RH_CALLER();

	compare_from(&from);
}

void compare_forget(void)
{
	rh_unwind_forget();
	unw_flush_cache(unw_local_addr_space, 0, 0);
}

static bool same(const struct stack *a, const struct stack *b)
{
	return a->count == b->count && memcmp(a->pcs, b->pcs, a->count * sizeof(a->pcs[0])) == 0;
}

bool compare_incremental_agreed(void)
{
	const struct stack *ours = &compared.ours, *few = &compared.limited;
	unsigned asked = ours->count < LIMITED_MAX ? ours->count : LIMITED_MAX;

	return same(ours, &compared.incremental) && few->count == asked && memcmp(few->pcs, ours->pcs, asked * sizeof(ours->pcs[0])) == 0;
}

bool compare_agreed(void)
{
	return compared.ours.count > 0 && compare_incremental_agreed() && same(&compared.ours, &compared.libunwind) && same(&compared.ours, &compared.libgcc);
}

bool compare_undecided(void)
{
	return compare_incremental_agreed() && !same(&compared.libunwind, &compared.libgcc) &&
	       (same(&compared.ours, &compared.libunwind) || same(&compared.ours, &compared.libgcc));
}

static void show(const char *who, const struct stack *stack)
{
	print_message("%-10s", who);
	for (unsigned i = 0; i < stack->count; i++) {
		Dl_info info = {0};

		dladdr((void *)(uintptr_t)(stack->pcs[i] & ~RH_PC_EXACT), &info);
		print_message(" %llx(%s)", (unsigned long long)stack->pcs[i], info.dli_sname ? info.dli_sname : "?");
	}
	print_message("\n");
}

void assert_agreed(void)
{
	if (!compare_agreed()) {
		show("rh_unwind", &compared.ours);
		show("libunwind", &compared.libunwind);
		show("libgcc", &compared.libgcc);
		show("increment.", &compared.incremental);
		show("limited", &compared.limited);
		fail();
	}
}

unsigned times_on_stack(void (*function)(void), unsigned size)
{
	unsigned times = 0;

	for (unsigned i = 0; i < compared.ours.count; i++)
		times += (compared.ours.pcs[i] & ~RH_PC_EXACT) - (uintptr_t)function < size;
	return times;
}
