/* SPDX-License-Identifier: MIT
 *
 * The walk: from the caller's frame outward, one row a frame.
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

#if defined(__x86_64__)

/* A step outward larger than this is checked: larger frames are rare. */
#define NEAR (UINT64_C(1) << 20)

/* Checked steps a walk makes. Bounds what a cycle in damaged memory can cost. */
#define JUMPS_MAX 32

/* No code lies below: a null pc marks the end of many stacks. */
#define CODE_MIN UINT64_C(4096)
#define CODE_END (UINT64_C(1) << RH_CODE_BITS)

#define KERNEL_SIGSET_SIZE 8

/* The kernel reads the new set before it refuses the unknown `how` (sigprocmask(2): EFAULT, EINVAL). */
static bool is_readable(uintptr_t address)
{
	int saved_errno = errno;
	bool readable = rh_sys_extra(SYS_rt_sigprocmask, ~0, address, NULL, KERNEL_SIGSET_SIZE) == -1 && errno == EINVAL;

	errno = saved_errno;
	return readable;
}

/* Whether a walk may leave the neighbourhood and go on at this stack pointer. */
static __attribute__((cold, noinline)) bool may_jump(uintptr_t address, unsigned *jumps)
{
	return (address & 7) == 0 && (*jumps)++ < JUMPS_MAX && is_readable(address);
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

static inline bool is_near(uintptr_t address, uintptr_t cfa)
{
	return (address & 7) == 0 && address - cfa < NEAR;
}

static inline uintptr_t load(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

/* The steps that few frames need; apart from the walk, so that its state stays in registers. From the frame outward to the next one; sets
 * *exact where that one was interrupted. False: the stack ends here. */
static __attribute__((noinline, no_sanitize("address"))) bool step_rare(struct rh_walker *walker, struct rh_row row, struct rh_frame *frame,
									uint64_t *exact, unsigned *jumps)
{
	uintptr_t inner = frame->cfa;

	switch (row.kind) {
	case RH_ROW_REALIGN: {
		uintptr_t slot = frame->fp + (uintptr_t)(intptr_t)row.cfa_offset;

		if (!is_near(slot, inner) && !may_jump(slot, jumps))
			break;
		frame->cfa = load(slot);
		if (!is_near(frame->cfa - 8, inner) && !may_jump(frame->cfa - 8, jumps))
			break;
		frame->fp = load(frame->fp + (uintptr_t)(intptr_t)row.fp_offset);
		frame->pc = load(frame->cfa - 8);
		return true;
	}
	case RH_ROW_SIGNAL: {
		const ucontext_t *context = (const ucontext_t *)inner;

		frame->pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
		frame->fp = (uintptr_t)context->uc_mcontext.gregs[REG_RBP];
		frame->cfa = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
		*exact = RH_PC_EXACT;
		if (!may_jump(frame->cfa, jumps))
			break;
		return true;
	}
	case RH_ROW_HARD: {
		uint64_t next;

		if (rh_fallback(walker, frame, &next, 1, frame) == 0)
			return false; /* counted there */
		*exact = next & RH_PC_EXACT;
		if (!is_near(frame->cfa, inner) && !may_jump(frame->cfa, jumps))
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
	unsigned count = 0, jumps = 0;

	pcs[count++] = pc;
	while (count < max) {
		struct rh_row row = rh_row_of(code, epoch);

		if (__builtin_expect(row.kind == RH_ROW_SP, 1)) {
			cfa += (uintptr_t)(intptr_t)row.cfa_offset;
			pc = load(cfa - 8);
			if (row.fp_offset != RH_FP_KEPT)
				fp = load(cfa + (uintptr_t)(intptr_t)row.fp_offset);
		} else if (__builtin_expect(row.kind == RH_ROW_FP, 1)) {
			uintptr_t inner = cfa;

			cfa = fp + (uintptr_t)(intptr_t)row.cfa_offset;
			if (__builtin_expect(!is_near(cfa - 8, inner), 0) && !may_jump(cfa - 8, &jumps)) {
				walker->truncated++;
				break;
			}
			pc = load(cfa - 8);
			if (row.fp_offset != RH_FP_KEPT)
				fp = load(cfa + (uintptr_t)(intptr_t)row.fp_offset);
		} else if (row.kind == RH_ROW_END) {
			break;
		} else {
			struct rh_frame frame = {pc, cfa, fp};
			uint64_t exact = 0;

			if (!step_rare(walker, row, &frame, &exact, &jumps))
				break;
			pc = frame.pc;
			cfa = frame.cfa;
			fp = frame.fp;
			if (exact && pc >= CODE_MIN && pc < CODE_END) {
				pcs[count++] = pc | exact;
				code = pc;
				continue;
			}
		}
		if (__builtin_expect(pc - CODE_MIN >= CODE_END - CODE_MIN, 0)) {
			walker->truncated += pc >= CODE_END;
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
