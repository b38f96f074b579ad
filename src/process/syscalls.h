/* SPDX-License-Identifier: MIT
 *
 * The system calls that the library makes while the program runs. They go through syscall(2), not through the functions of the same
 * name: those are cancellation points (POSIX.1-2017, 2.9.5.2) and programs interpose them. errno is theirs to clobber; callers on the
 * event path save it.
 */
#ifndef RH_PROCESS_SYSCALLS_H
#define RH_PROCESS_SYSCALLS_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static inline int rh_sys_open(const char *path, int flags, mode_t mode)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NOCTTY, mode);
}

static inline ssize_t rh_sys_read(int fd, void *buffer, size_t size)
{
	return (ssize_t)syscall(SYS_read, fd, buffer, size);
}

static inline ssize_t rh_sys_write(int fd, const void *bytes, size_t size)
{
	return (ssize_t)syscall(SYS_write, fd, bytes, size);
}

static inline int rh_sys_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static inline void rh_sys_sleep(long nanoseconds)
{
	struct timespec pause = {nanoseconds / 1000000000, nanoseconds % 1000000000};

	syscall(SYS_nanosleep, &pause, NULL);
}

/* A set of all signals but those that the kernel never blocks; and the kernel's view of a mask: 64 bits. Raw, so that also the two
 * that the C library keeps for itself (cancellation, setuid) wait. */
static inline void rh_sys_sigmask(int how, const uint64_t *set, uint64_t *old)
{
	syscall(SYS_rt_sigprocmask, how, set, old, sizeof *set);
}

/* Reads a small file whole. Returns bytes read (at most size) or -1. */
static inline ssize_t rh_sys_read_file(const char *path, char *buffer, size_t size)
{
	size_t done = 0;
	ssize_t n = 0;
	int fd = rh_sys_open(path, O_RDONLY, 0);

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
