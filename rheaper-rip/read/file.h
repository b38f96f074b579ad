/* SPDX-License-Identifier: MIT
 *
 * Reading at an offset, interruptions and short reads hidden. Files are read, not mapped: one that shrinks meanwhile gives a short
 * read instead of SIGBUS.
 */
#ifndef READ_FILE_H
#define READ_FILE_H

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

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
