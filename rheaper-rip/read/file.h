/* SPDX-License-Identifier: MIT
 *
 * Opening and reading at an offset, interruptions and short reads hidden. Files are read, not mapped: one that shrinks meanwhile gives a
 * short read instead of SIGBUS.
 */
#ifndef READ_FILE_H
#define READ_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

/* A descriptor to read from, or -1 with errno set. Does not wait for a FIFO's other end; whether it is a regular file is for the caller to
 * see. */
static inline int read_file_open(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* Where data begins again at or after `offset`, holes passed over (lseek(2), SEEK_DATA); `offset` itself where the file system does not
 * tell, `size` when only a hole is left. */
static inline uint64_t read_file_data(int fd, uint64_t offset, uint64_t size)
{
	off_t data = lseek(fd, (off_t)offset, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? size : offset;
	return (uint64_t)data < size ? (uint64_t)data : size;
}

/* Bytes read, fewer than size only at the end of the file; -1 with errno set. */
static inline ssize_t read_file_at(int fd, void *buffer, size_t size, uint64_t offset)
{
	size_t have = 0;

	while (have < size) {
		ssize_t got = pread(fd, (char *)buffer + have, size - have, (off_t)(offset + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

#endif
