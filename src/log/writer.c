/* SPDX-License-Identifier: MIT
 *
 * From ring to file.
 */
#include "config.h"

#include "log/writer.h"

#include <signal.h>
#include <sys/resource.h>

#include "process/path.h"
#include "process/syscalls.h"

/* The spill descriptor lives up here, out of the way of programs that count their own from 0 and of closefrom(3). */
#define HIGH_DESCRIPTOR 1000

#define SIGNAL_BIT(number) (UINT64_C(1) << ((number)-1))

/* Opens a log file of ours for appending: one that is not there yet if *inode is 0, else that very file. */
static int open_log(const struct rh_writer *writer, const char *name, uint64_t *inode, off_t *size, char *scratch)
{
	struct rh_text text = rh_text(scratch, RH_PATH_SCRATCH);
	struct stat status;
	int flags = O_WRONLY | O_APPEND | O_NOFOLLOW, fd;

	rh_text_add(&text, writer->directory);
	rh_text_add(&text, "/");
	rh_text_add(&text, name);
	fd = rh_sys_open(scratch, *inode ? flags : flags | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return -1;
	*size = -1;
	if (rh_sandboxed) { /* nothing more can be asked: the name must do */
		*inode = *inode ? *inode : UINT64_MAX;
		return fd;
	}
	if (fstat(fd, &status) < 0 || status.st_dev != writer->device ||
	    (*inode && *inode != UINT64_MAX && status.st_ino != *inode)) {
		rh_sys_close(fd);
		return -1;
	}
	if (!*inode) {
		*inode = status.st_ino;
		fchmod(fd, 0600); /* whatever the umask: the next open must succeed */
	}
	*size = status.st_size;
	return fd;
}

/* Writes all of it, or takes back what it wrote if the file's size before is given (not -1). */
static bool write_whole(int fd, const void *bytes, size_t size, off_t size_before)
{
	const char *p = bytes;
	size_t left = size;

	while (left) {
		ssize_t n = rh_sys_write(fd, p, left);

		if (n > 0) {
			p += n;
			left -= (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			if (left != size && size_before >= 0)
				(void)!ftruncate(fd, size_before);
			return false;
		}
	}
	return true;
}

static bool exceeds_limit(int fd, size_t size)
{
	struct {
		uint64_t soft, hard;
	} limit; /* prlimit(2): struct rlimit64 */
	struct stat status;

	if (rh_sys_extra(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) != 0 || fstat(fd, &status) < 0)
		return true;
	return (uint64_t)status.st_size + size > limit.soft;
}

/* RLIMIT_FSIZE: the kernel sends SIGXFSZ to the writing thread. It waits while we write, and is consumed afterwards. If the program has one pending,
 * for the thread or for the process, nobody could tell which of them is ours: then a write that would bring one is not begun. */
static bool write_guarded(int fd, const void *bytes, size_t size, off_t size_before)
{
	uint64_t mine = SIGNAL_BIT(SIGXFSZ), before, pending = 0;
	bool done;

	if (!rh_sys_sigmask(SIG_BLOCK, &mine, &before))
		return write_whole(fd, bytes, size, -1);
	rh_sys_extra(SYS_rt_sigpending, &pending, sizeof pending);
	done = !(pending & mine && exceeds_limit(fd, size)) && write_whole(fd, bytes, size, size_before);
	if (!done && !(pending & mine)) {
		struct timespec at_once = {0, 0};

		rh_sys_extra(SYS_rt_sigtimedwait, &mine, NULL, &at_once, sizeof mine);
	}
	if (!(before & mine))
		rh_sys_sigmask(SIG_SETMASK, &before, NULL);
	return done;
}

void rh_writer_begin(struct rh_writer *writer)
{
	static char scratch[RH_PATH_SCRATCH]; /* one caller at a time */
	struct stat status;
	off_t size;
	int fd;

	writer->spill = -1;
	writer->spill_inode = 0;
	writer->device = stat(writer->directory, &status) == 0 ? status.st_dev : 0;
	fd = open_log(writer, RH_FILE_SPILL, &writer->spill_inode, &size, scratch);
	if (fd < 0)
		return;
	writer->spill = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
	if (writer->spill < 0)
		writer->spill = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR / 8); /* a low RLIMIT_NOFILE */
	if (writer->spill < 0)
		writer->spill = fd;
	else
		rh_sys_close(fd);
}

/* Is the spill descriptor still what we opened? */
static bool spill_is_ours(const struct rh_writer *writer)
{
	struct stat status;

	return writer->spill >= 0 && !rh_sandboxed && fstat(writer->spill, &status) == 0 && status.st_dev == writer->device &&
	       status.st_ino == writer->spill_inode;
}

void rh_writer_end(struct rh_writer *writer)
{
	if (spill_is_ours(writer))
		rh_sys_close(writer->spill);
	writer->spill = -1;
}

bool rh_writer_append(struct rh_writer *writer, const struct rh_chunk *chunk, uint64_t *inode, char *scratch)
{
	char name[RH_FILE_NAME_MAX];
	struct rh_text text = rh_text(name, sizeof name);
	size_t bytes = chunk->header_size + chunk->length;
	bool done = false;
	off_t size;
	int fd;

	rh_text_add(&text, RH_FILE_LOG_PREFIX);
	rh_text_number(&text, chunk->stream);
	fd = open_log(writer, name, inode, &size, scratch);
	if (fd >= 0) {
		done = write_guarded(fd, chunk, bytes, size);
		rh_sys_close(fd);
	} else if (spill_is_ours(writer)) {
		/* Streams share this file: O_APPEND keeps their chunks apart, and a torn one stays, for the reader to step over. */
		done = write_guarded(writer->spill, chunk, bytes, -1);
	}
	return done;
}
