/* SPDX-License-Identifier: MIT
 *
 * The walk: from the caller's frame outward, one row a frame; and the steps that few frames need.
 *
 * A stack pointer row adds a positive offset to an address on the running stack, which is mapped up to the outermost frame. Only where an
 * address comes out of memory or a register (rbp, a realigned frame, a signal's context) it is checked before it is followed: it must grow
 * and stay near, else be readable, as it is when a coroutine or an alternate stack ends and the walk goes on elsewhere.
 */
#include "unwind/unwind.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include "log/format.h"
#include "process/syscalls.h"
#include "unwind/fallback.h"
#include "unwind/find.h"
#include "unwind/rows.h"
#include "unwind/step.h"

#if defined(__x86_64__)

/* Checked steps a walk makes. Bounds what a cycle in damaged memory can cost. */
#define JUMPS_MAX 32

#define KERNEL_SIGSET_SIZE 8

/* The kernel reads the new set before it refuses the unknown `how` (sigprocmask(2): EFAULT, EINVAL). */
static bool is_readable(uintptr_t address)
{
	int saved_errno = errno;
	bool readable = rh_sys_extra(SYS_rt_sigprocmask, ~0, address, NULL, KERNEL_SIGSET_SIZE) == -1 && errno == EINVAL;

	errno = saved_errno;
	return readable;
}

__attribute__((cold, noinline)) bool rh_may_jump(uintptr_t address, unsigned *jumps)
{
	return (address & 7) == 0 && (*jumps)++ < JUMPS_MAX && is_readable(address);
}

__attribute__((cold, noinline)) bool rh_reach(struct rh_walker *walker, uintptr_t cfa, uintptr_t address, uintptr_t *limit)
{
	const uintptr_t begin = (cfa - 8) & ~(uintptr_t)(RH_PAGE - 1);

	if (rh_sandboxed) { /* nobody to ask; that few programs are as odd as that must do */
		*limit = UINTPTR_MAX;
		return true;
	}
	if (address - walker->stack_low < walker->stack_high - walker->stack_low) { /* back in the range, from further in */
		walker->stack_low = begin;
		*limit = walker->stack_high;
		return true;
	}
	if ((address & 7) != 0 || !is_readable(address))
		return false;
	if (*limit != walker->stack_high)
		walker->stack_low = begin;
	*limit = walker->stack_high = (address | (RH_PAGE - 1)) + 1;
	return true;
}

/* The stack pointer that the process began with (glibc). */
extern void *__libc_stack_end __attribute__((weak));

/* What the loader's entry may have pushed before it called. */
#define ENTRY_FRAME 64

/* Whether this is the frame of the process's entry, which in the loader has no call frame information: nothing was lost. */
static bool is_entry(uintptr_t cfa)
{
	return &__libc_stack_end && cfa - ((uintptr_t)__libc_stack_end - ENTRY_FRAME) <= 2 * ENTRY_FRAME;
}

__attribute__((noinline, no_sanitize("address"))) bool rh_step_rare(struct rh_walker *walker, struct rh_row row, struct rh_step *step,
								    unsigned *jumps)
{
	uintptr_t inner = step->frame.cfa;

	step->exact = 0;
	switch (row.kind) {
	case RH_ROW_REALIGN: {
		uintptr_t slot = step->frame.fp + (uintptr_t)(intptr_t)row.cfa_offset;

		if (!rh_is_near(slot, inner) && !rh_may_jump(slot, jumps))
			break;
		step->frame.cfa = rh_load(slot);
		if (!rh_is_near(step->frame.cfa - 8, inner) && !rh_may_jump(step->frame.cfa - 8, jumps))
			break;
		step->fp_slot = step->frame.fp + (uintptr_t)(intptr_t)row.fp_offset;
		step->frame.fp = rh_load(step->fp_slot);
		step->frame.pc = rh_load(step->frame.cfa - 8);
		return true;
	}
	case RH_ROW_SIGNAL: {
		const ucontext_t *context = (const ucontext_t *)inner;

		step->frame.pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
		step->frame.fp = (uintptr_t)context->uc_mcontext.gregs[REG_RBP];
		step->frame.cfa = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
		step->fp_slot = (uintptr_t)&context->uc_mcontext.gregs[REG_RBP];
		step->exact = RH_PC_EXACT;
		if (!rh_may_jump(step->frame.cfa, jumps))
			break;
		return true;
	}
	case RH_ROW_HARD: {
		uint64_t next;

		if (rh_fallback(walker, &step->frame, &next, 1, &step->frame) == 0)
			return false; /* counted there */
		step->fp_slot = RH_FP_IN_REGISTER;
		step->exact = next & RH_PC_EXACT;
		if (!rh_is_near(step->frame.cfa, inner) && !rh_may_jump(step->frame.cfa, jumps))
			break;
		return true;
	}
	case RH_ROW_LOST:
		if (is_entry(inner))
			return false;
		break;
	}
	walker->truncated++;
	return false;
}

__attribute__((no_sanitize("address"))) unsigned rh_unwind(struct rh_walker *walker, const struct rh_frame *from, uint64_t *pcs,
							   unsigned max)
{
	const uint64_t epoch = rh_rows_epoch();
	uintptr_t pc = from->pc, cfa = from->cfa, fp = from->fp;
	/* A call may be the last instruction of its function: the caller is where the call is, before the return address. */
	uintptr_t code = pc - 1;
	uintptr_t limit = rh_reach_begin(walker, cfa);
	unsigned count = 0, jumps = 0;

	pcs[count++] = pc;
	while (count < max) {
		struct rh_row row = rh_row_of(code, epoch);

		if (__builtin_expect(row.kind == RH_ROW_SP, 1)) {
			cfa += (uintptr_t)(intptr_t)row.cfa_offset;
			if (__builtin_expect(cfa - 8 >= limit, 0) && !rh_reach(walker, from->cfa, cfa - 8, &limit)) {
				walker->truncated++;
				break;
			}
			pc = rh_load(cfa - 8);
			if (row.fp_offset != RH_FP_KEPT)
				fp = rh_load(cfa + (uintptr_t)(intptr_t)row.fp_offset);
		} else if (__builtin_expect(row.kind == RH_ROW_FP, 1)) {
			uintptr_t inner = cfa;

			cfa = fp + (uintptr_t)(intptr_t)row.cfa_offset;
			if (__builtin_expect(!rh_is_near(cfa - 8, inner), 0)) {
				if (!rh_may_jump(cfa - 8, &jumps)) {
					walker->truncated++;
					break;
				}
				limit = ((cfa - 8) | (RH_PAGE - 1)) + 1;
			} else if (__builtin_expect(cfa - 8 >= limit, 0) && !rh_reach(walker, from->cfa, cfa - 8, &limit)) {
				walker->truncated++;
				break;
			}
			pc = rh_load(cfa - 8);
			if (row.fp_offset != RH_FP_KEPT)
				fp = rh_load(cfa + (uintptr_t)(intptr_t)row.fp_offset);
		} else if (row.kind == RH_ROW_END) {
			break;
		} else {
			struct rh_step step = {.frame = {pc, cfa, fp}};

			if (!rh_step_rare(walker, row, &step, &jumps))
				break;
			pc = step.frame.pc;
			cfa = step.frame.cfa;
			fp = step.frame.fp;
			limit = ((cfa - 8) | (RH_PAGE - 1)) + 1;
			if (step.exact && rh_is_code(pc)) {
				pcs[count++] = pc | step.exact;
				code = pc;
				continue;
			}
		}
		if (__builtin_expect(!rh_is_code(pc), 0)) {
			walker->truncated += pc >= RH_CODE_END;
			break;
		}
		pcs[count++] = pc;
		code = pc - 1;
	}
	return count;
}

void rh_unwind_init(void)
{
	rh_find_init();
}

void rh_unwind_forget(void)
{
	rh_rows_forget();
	rh_fallback_forget();
}

void rh_unwind_doubt(void)
{
	rh_rows_doubt();
	rh_fallback_forget();
}

void rh_unwind_trust(bool entirely)
{
	rh_fallback_forget();
	rh_rows_trust(entirely);
}

uint64_t rh_unwind_misses(void)
{
	return rh_rows_misses();
}

#else

unsigned rh_unwind(struct rh_walker *walker, const struct rh_frame *from, uint64_t *pcs, unsigned max)
{
	struct rh_frame last;

	pcs[0] = from->pc;
	return max == 1 ? 1 : 1 + rh_fallback(walker, from, pcs + 1, max - 1, &last);
}

void rh_unwind_init(void)
{
}

void rh_unwind_forget(void)
{
	rh_fallback_forget();
}

void rh_unwind_doubt(void)
{
	rh_fallback_forget();
}

void rh_unwind_trust(bool entirely)
{
	(void)entirely;
	rh_fallback_forget();
}

/* Nothing is looked up by us: assume that each call of this finds something new. */
uint64_t rh_unwind_misses(void)
{
	static uint64_t calls;

	return __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
}

#endif

void rh_walker_release(struct rh_walker *walker)
{
	rh_fallback_release(walker);
}
