/* SPDX-License-Identifier: MIT
 *
 * libunwind, kept away from the program: it runs on a stack of its own, because it needs 16 KB of it when cold, with all signals blocked,
 * because it takes locks.
 *
 * The static archive does without: Debian's libunwind.a is not position-independent, and its fast path crashes in static programs. Libtool
 * defines PIC for the objects of the shared library.
 */
#include "unwind/fallback.h"

#include <stdbool.h>
#include <stddef.h>

#if defined(PIC)

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log/format.h"
#include "process/syscalls.h"

#define STACK_SIZE (64 * 1024)
#define GUARD_SIZE (64 * 1024) /* below the stack; whole pages on every machine */
#define MAPPING_SIZE (GUARD_SIZE + STACK_SIZE)

/* The kernel's signal set, which is smaller than libc's. */
#define KERNEL_SIGSET_SIZE 8

/* Frames that libunwind goes through to reach the one asked for: our own, and those that were walked already. */
#define APPROACH_MAX 100000

#if defined(RH_PRELOADED)
#include <dlfcn.h>

#define LIBUNWIND "libunwind.so.8"
#define TEXT(name) #name
#define NAME(name) TEXT(name) /* unw_step is a macro: _ULx86_64_step */

static struct {
	void *handle; /* set last */
	__typeof__(&unw_init_local) init_local;
	__typeof__(&unw_step) step;
	__typeof__(&unw_get_reg) get_reg;
	__typeof__(&unw_is_signal_frame) is_signal_frame;
	__typeof__(&unw_flush_cache) flush_cache;
	unw_addr_space_t *local_addr_space;
	int (*getcontext)(unw_context_t *context);
} libunwind;

#define FIND(member, name) ((*(void **)&libunwind.member = dlsym(handle, NAME(name))) != NULL)

void rh_fallback_load(void)
{
	void *handle = dlopen(LIBUNWIND, RTLD_NOW | RTLD_LOCAL);

	if (handle && FIND(init_local, unw_init_local) && FIND(step, unw_step) && FIND(get_reg, unw_get_reg) &&
	    FIND(is_signal_frame, unw_is_signal_frame) && FIND(flush_cache, unw_flush_cache) &&
	    FIND(local_addr_space, unw_local_addr_space) && FIND(getcontext, unw_tdep_getcontext))
		__atomic_store_n(&libunwind.handle, handle, __ATOMIC_RELEASE);
}

static bool is_loaded(void)
{
	return __atomic_load_n(&libunwind.handle, __ATOMIC_ACQUIRE) != NULL;
}

#undef unw_init_local
#undef unw_step
#undef unw_get_reg
#undef unw_is_signal_frame
#undef unw_flush_cache
#undef unw_local_addr_space
#undef unw_getcontext
#define unw_init_local libunwind.init_local
#define unw_step libunwind.step
#define unw_get_reg libunwind.get_reg
#define unw_is_signal_frame libunwind.is_signal_frame
#define unw_flush_cache libunwind.flush_cache
#define unw_local_addr_space (*libunwind.local_addr_space)
#define unw_getcontext libunwind.getcontext
#else
static bool is_loaded(void)
{
	return true;
}
#endif

/* What goes to the private stack and comes back. Lies at the top of that stack. */
struct job {
	unw_context_t context;
	struct rh_frame at;
	struct rh_frame *last;
	uint64_t *pcs;
	unsigned max;
	unsigned count;
	bool failed;
};

static struct rh_frame frame_of(unw_cursor_t *cursor)
{
	unw_word_t pc = 0, sp = 0, fp = 0;

	unw_get_reg(cursor, UNW_REG_IP, &pc);
	unw_get_reg(cursor, UNW_REG_SP, &sp);
#if defined(__x86_64__)
	unw_get_reg(cursor, UNW_X86_64_RBP, &fp);
#endif
	return (struct rh_frame){pc, sp, fp};
}

static bool is_frame(const struct rh_frame *frame, const struct rh_frame *wanted)
{
	return frame->pc == wanted->pc && (wanted->cfa == 0 || frame->cfa == wanted->cfa);
}

/* One frame outward, as unw_step says it. On x86-64 libunwind calls the interrupted frame a signal frame, on other machines the frame
 * inward of it, the trampoline. */
static int step(unw_cursor_t *cursor, bool *interrupted)
{
	int result;

#if defined(__x86_64__)
	result = unw_step(cursor);
	*interrupted = result > 0 && unw_is_signal_frame(cursor) > 0;
#else
	*interrupted = unw_is_signal_frame(cursor) > 0;
	result = unw_step(cursor);
#endif
	return result;
}

/* How often code was forgotten, and how often libunwind had been told when it was last used. It is told late: its flush is not safe in
 * signal handlers, and who never gets here leaves the program's own use of libunwind alone. */
static unsigned forgotten, told;

static void tell_libunwind(void)
{
	unsigned now = __atomic_load_n(&forgotten, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(&told, __ATOMIC_RELAXED) == now)
		return;
	unw_flush_cache(unw_local_addr_space, 0, 0);
	__atomic_store_n(&told, now, __ATOMIC_RELEASE);
}

static void walk(struct job *job)
{
	unw_cursor_t cursor;
	struct rh_frame frame;
	unsigned approach = 0;

	job->failed = true;
	tell_libunwind();
	if (unw_init_local(&cursor, &job->context) < 0)
		return;
	do {
		if (approach++ == APPROACH_MAX || unw_step(&cursor) <= 0)
			return;
		frame = frame_of(&cursor);
	} while (!is_frame(&frame, &job->at));

	while (job->count < job->max) {
		bool interrupted;
		int stepped = step(&cursor, &interrupted);

		if (stepped <= 0) {
			job->failed = stepped < 0;
			return;
		}
		frame = frame_of(&cursor);
		if (frame.pc == 0)
			break;
		*job->last = frame;
		job->pcs[job->count++] = frame.pc | (interrupted ? RH_PC_EXACT : 0);
	}
	job->failed = false;
}

static bool map_stack(struct rh_walker *walker)
{
	char *mapping;

	if (walker->private_stack)
		return true;
	mapping = mmap(NULL, MAPPING_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mapping == MAP_FAILED)
		return false;
	if (mprotect(mapping + GUARD_SIZE, STACK_SIZE, PROT_READ | PROT_WRITE) != 0) {
		munmap(mapping, MAPPING_SIZE);
		return false;
	}
	walker->private_stack = mapping;
	return true;
}

/* Calls walk(job) with the stack pointer just below the job. */
#if defined(__x86_64__)
RH_KEEPS_FRAME static void walk_below(struct job *job)
{
	/* rbx outlives the call. This function's own frame is found by rbp: the last operand makes sure of it. */
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %%rdi, %%rsp\n\t"
			 "andq $-16, %%rsp\n\t"
			 "call *%%rax\n\t"
			 "movq %%rbx, %%rsp"
			 : "+D"(job)
			 : "a"(walk), "m"(*(void **)__builtin_frame_address(0))
			 : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
			   "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}
#else
/* No switch is written for this machine: the walk takes the running stack. */
static void walk_below(struct job *job)
{
	walk(job);
}
#endif

static bool block_signals(uint64_t *before)
{
	uint64_t all = RH_SIGNALS_THAT_WAIT;

	return rh_sys_extra(SYS_rt_sigprocmask, SIG_SETMASK, &all, before, KERNEL_SIGSET_SIZE) == 0;
}

/* libunwind's cache has a lock. Who forks while another thread is inside finds it locked for ever in the child, so the child does without:
 * it sees that users were counted by another process. */
static pid_t user_pid;
static unsigned users;

static bool enter_libunwind(void)
{
	pid_t pid = (pid_t)rh_sys_extra(SYS_getpid), before = __atomic_load_n(&user_pid, __ATOMIC_RELAXED);

	if (before != pid) {
		if (__atomic_load_n(&users, __ATOMIC_RELAXED) != 0)
			return false;
		__atomic_compare_exchange_n(&user_pid, &before, pid, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
	__atomic_fetch_add(&users, 1, __ATOMIC_ACQUIRE);
	return true;
}

static void leave_libunwind(void)
{
	__atomic_fetch_sub(&users, 1, __ATOMIC_RELEASE);
}

__attribute__((noinline)) unsigned rh_fallback(struct rh_walker *walker, const struct rh_frame *at, uint64_t *pcs, unsigned max,
					       struct rh_frame *last)
{
	int saved_errno = errno;
	unsigned count = 0;
	bool done = false;
	uint64_t mask;

	/* Blocked from before the first use of the walker's stack: a handler that walks with the same walker must not map it too. */
	if (is_loaded() && block_signals(&mask)) {
		if (map_stack(walker) && enter_libunwind()) {
			struct job *job = (struct job *)((char *)walker->private_stack + MAPPING_SIZE - (sizeof(*job) + 63) / 64 * 64);

			job->at = *at;
			job->last = last;
			job->pcs = pcs;
			job->max = max;
			job->count = 0;
			unw_getcontext(&job->context);
			walk_below(job);
			count = job->count;
			done = !job->failed;
			walker->fallbacks++;
			leave_libunwind();
		}
		rh_sys_extra(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, KERNEL_SIGSET_SIZE);
	}
	if (!done)
		walker->truncated++;
	errno = saved_errno;
	return count;
}

void rh_fallback_forget(void)
{
	__atomic_fetch_add(&forgotten, 1, __ATOMIC_RELEASE);
}

void rh_fallback_release(struct rh_walker *walker)
{
	if (walker->private_stack)
		munmap(walker->private_stack, MAPPING_SIZE);
	walker->private_stack = NULL;
}

#else

unsigned rh_fallback(struct rh_walker *walker, const struct rh_frame *at, uint64_t *pcs, unsigned max, struct rh_frame *last)
{
	(void)at;
	(void)pcs;
	(void)max;
	(void)last;
	walker->truncated++;
	return 0;
}

void rh_fallback_forget(void)
{
}

void rh_fallback_release(struct rh_walker *walker)
{
	(void)walker;
}

#endif
