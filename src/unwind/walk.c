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
#include "unwind/fallback.h"
#include "unwind/find.h"
#include "unwind/rows.h"

#if defined(__x86_64__)

/* A step outward larger than this is checked: larger frames are rare. */
#define NEAR (UINT64_C(1) << 20)

/* Checked steps a walk makes. Bounds what a cycle in damaged memory can cost. */
#define JUMPS_MAX 32

/* No code lies below: a null pc marks the end of many stacks. */
#define CODE_MIN 4096

#define KERNEL_SIGSET_SIZE 8

/* The kernel reads the new set before it refuses the unknown `how` (sigprocmask(2): EFAULT, EINVAL). */
static bool is_readable(uintptr_t address)
{
	int saved_errno = errno;
	bool readable = syscall(SYS_rt_sigprocmask, ~0, address, NULL, KERNEL_SIGSET_SIZE) == -1 && errno == EINVAL;

	errno = saved_errno;
	return readable;
}

/* Whether a walk may leave the neighbourhood and go on at this stack pointer. */
static __attribute__((cold, noinline)) bool may_jump(uintptr_t address, unsigned *jumps)
{
	return (address & 7) == 0 && (*jumps)++ < JUMPS_MAX && is_readable(address);
}

static inline bool is_near(uintptr_t address, uintptr_t cfa)
{
	return (address & 7) == 0 && address - cfa < NEAR;
}

static inline uintptr_t load(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

__attribute__((no_sanitize("address"))) unsigned rh_unwind(struct rh_walker *walker, const struct rh_frame *from, uint64_t *pcs,
							  unsigned max)
{
	uint64_t epoch = rh_rows_epoch();
	struct rh_frame frame = *from;
	unsigned count = 0, jumps = 0;
	uint64_t exact = 0;

	for (;;) {
		struct rh_row row;
		uintptr_t cfa;

		pcs[count++] = frame.pc | exact;
		if (count == max)
			return count;
		/* A call may be the last instruction of its function: the caller is where the call is, before the return address. */
		row = rh_row_of(exact ? frame.pc : frame.pc - 1, epoch);
		exact = 0;

		if (__builtin_expect(row.kind == RH_ROW_SP, 1)) {
			cfa = frame.cfa + (uintptr_t)(intptr_t)row.cfa_offset;
			if (row.fp_offset != RH_FP_KEPT)
				frame.fp = load(cfa + (uintptr_t)(intptr_t)row.fp_offset);
			frame.pc = load(cfa - 8);
		} else if (row.kind == RH_ROW_FP) {
			cfa = frame.fp + (uintptr_t)(intptr_t)row.cfa_offset;
			if (__builtin_expect(!is_near(cfa - 8, frame.cfa), 0) && !may_jump(cfa - 8, &jumps))
				goto lost;
			if (row.fp_offset != RH_FP_KEPT)
				frame.fp = load(cfa + (uintptr_t)(intptr_t)row.fp_offset);
			frame.pc = load(cfa - 8);
		} else if (row.kind == RH_ROW_REALIGN) {
			uintptr_t slot = frame.fp + (uintptr_t)(intptr_t)row.cfa_offset;
			uintptr_t saved = frame.fp + (uintptr_t)(intptr_t)row.fp_offset;

			if (!is_near(slot, frame.cfa) && !may_jump(slot, &jumps))
				goto lost;
			cfa = load(slot);
			if (!is_near(cfa - 8, frame.cfa) && !may_jump(cfa - 8, &jumps))
				goto lost;
			frame.fp = load(saved);
			frame.pc = load(cfa - 8);
		} else if (row.kind == RH_ROW_SIGNAL) {
			const ucontext_t *context = (const ucontext_t *)frame.cfa;

			frame.pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
			frame.fp = (uintptr_t)context->uc_mcontext.gregs[REG_RBP];
			cfa = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
			exact = RH_PC_EXACT;
			if (!may_jump(cfa, &jumps))
				goto lost;
		} else if (row.kind == RH_ROW_HARD) {
			uint64_t next = 0;

			if (rh_fallback(walker, &frame, &next, 1, &frame) == 0)
				return count;
			exact = next & RH_PC_EXACT;
			cfa = frame.cfa;
			if (!is_near(cfa, from->cfa) && !may_jump(cfa, &jumps))
				goto lost;
		} else if (row.kind == RH_ROW_END) {
			return count;
		} else {
			goto lost;
		}
		frame.cfa = cfa;
		if (__builtin_expect(frame.pc - CODE_MIN >= (UINT64_C(1) << RH_CODE_BITS) - CODE_MIN, 0)) {
			if (frame.pc < CODE_MIN)
				return count;
			goto lost;
		}
	}
lost:
	walker->truncated++;
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
