/* SPDX-License-Identifier: MIT
 *
 * The system calls that the library makes while the program runs. Not through the C library's functions of the same names: those are cancellation
 * points (POSIX.1-2017, 2.9.5.2), and programs interpose them. errno is theirs to clobber; callers on the event path save it.
 *
 * A sandboxed program (process/sandbox.h) must not see more than openat, write, close, mmap and munmap of us. All else is an extra: rh_sys_extra fails
 * then, and its callers do without.
 */
#ifndef RH_PROCESS_SYSCALLS_H
#define RH_PROCESS_SYSCALLS_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "process/sandbox.h"

static inline long rh_sys_result(long result)
{
	if ((unsigned long)result < (unsigned long)-4095)
		return result;
	errno = (int)-result;
	return -1;
}

#if defined(__x86_64__)
/* System V ABI, AMD64 supplement, A.2.1. */
static inline long rh_sys_raw(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return rh_sys_result(result);
}
#else
static inline long rh_sys_raw(long number, long a, long b, long c, long d, long e, long f)
{
	return syscall(number, a, b, c, d, e, f);
}
#endif

/* A system call with up to six arguments: its result, or -1 and errno. */
#define rh_sys(...) RH_SYS_PAD(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define RH_SYS_PAD(number, a, b, c, d, e, f, ...)                                                                              \
	rh_sys_raw((long)(number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* The same, but EPERM in a sandbox. */
#define rh_sys_extra(...) (__builtin_expect(rh_sandboxed, 0) ? rh_sys_result(-EPERM) : rh_sys(__VA_ARGS__))

static inline int rh_sys_open(const char *path, int flags, mode_t mode)
{
	return (int)rh_sys(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NOCTTY, mode);
}

static inline ssize_t rh_sys_write(int fd, const void *bytes, size_t size)
{
	return (ssize_t)rh_sys(SYS_write, fd, bytes, size);
}

static inline int rh_sys_close(int fd)
{
	return (int)rh_sys(SYS_close, fd);
}

static inline ssize_t rh_sys_read(int fd, void *buffer, size_t size)
{
	return (ssize_t)rh_sys_extra(SYS_read, fd, buffer, size);
}

/* Sleeps; in a sandbox, does something else for about as long. */
static inline void rh_sys_sleep(long nanoseconds)
{
	struct timespec pause = {nanoseconds / 1000000000, nanoseconds % 1000000000};

	if (rh_sys_extra(SYS_nanosleep, &pause, NULL) != 0 && errno == EPERM)
		for (volatile long i = 0; i < nanoseconds / 4; i++)
			;
}

/* The signals that may have to wait: all but those that the thread's own doing brings. Blocked, these would kill (signal(7)), and a handler of theirs may be
 * what makes memory accessible that we are given. */
#define RH_BIT(number) (UINT64_C(1) << ((number)-1))
#define RH_SIGNALS_THAT_WAIT                                                                                                   \
	(~(RH_BIT(SIGSEGV) | RH_BIT(SIGBUS) | RH_BIT(SIGFPE) | RH_BIT(SIGILL) | RH_BIT(SIGTRAP) | RH_BIT(SIGSYS)))

/* Sets the thread's signal mask as the kernel sees it: 64 bits, those that the C library keeps for itself (cancellation, setuid) among them. Where that
 * cannot be done all seem to have been blocked before. */
static inline bool rh_sys_sigmask(int how, const uint64_t *set, uint64_t *old)
{
	if (rh_sys_extra(SYS_rt_sigprocmask, how, set, old, sizeof *set) == 0)
		return true;
	if (old)
		*old = UINT64_MAX;
	return false;
}

/* Reads a small file whole. Returns bytes read (at most size) or -1. */
static inline ssize_t rh_sys_read_file(const char *path, char *buffer, size_t size)
{
	size_t done = 0;
	ssize_t n = 0;
	int fd = rh_sandboxed ? -1 : rh_sys_open(path, O_RDONLY, 0);

	if (fd < 0)
		return -1;
	while (done < size) {
		n = rh_sys_read(fd, buffer + done, size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	rh_sys_close(fd);
	return n < 0 && !done ? -1 : (ssize_t)done;
}

#endif
