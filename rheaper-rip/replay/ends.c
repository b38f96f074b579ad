/* SPDX-License-Identifier: MIT
 *
 * Grows the array of ends.
 */
#include "config.h"

#include "replay/ends.h"

#include "scratch.h"
#include "vector.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Steps in which the file grows. */
#define STEP ((size_t)32 << 20)

static int map_more(struct replay_ends *ends, size_t count, struct fault *fault)
{
	size_t bytes = (count * sizeof *ends->ends / STEP + 1) * STEP;
	void *grown;
	int error;

	if (!ends->mapped && (ends->fd = scratch_open(ends->neighbour, fault)) < 0)
		return -1;
	/* The blocks must be there: a full disk would be told by SIGBUS otherwise. */
	do
		error = posix_fallocate(ends->fd, (off_t)ends->mapped, (off_t)(bytes - ends->mapped));
	while (error == EINTR);
	if (error)
		grown = MAP_FAILED;
	else if (ends->mapped)
		grown = mremap(ends->ends, ends->mapped, bytes, MREMAP_MAYMOVE);
	else
		grown = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ends->fd, 0);
	if (grown == MAP_FAILED) {
		errno = error ? error : errno;
		fault_errno(fault, ends->neighbour);
		if (!ends->mapped)
			close(ends->fd);
		return -1;
	}
	if (!ends->mapped) {
		memcpy(grown, ends->ends, ends->capacity * sizeof *ends->ends);
		free(ends->ends);
	}
	ends->ends = grown;
	ends->mapped = bytes;
	ends->capacity = bytes / sizeof *ends->ends;
	return 0;
}

int replay_ends_reserve(struct replay_ends *ends, size_t count, struct fault *fault)
{
	void *grown = ends->ends;

	if (count <= ends->capacity)
		return 0;
	if (ends->mapped || count > REPLAY_ENDS_IN_MEMORY / sizeof *ends->ends)
		return map_more(ends, count, fault);
	if (!vector_reserve(&grown, &ends->capacity, count, sizeof *ends->ends))
		return fault_memory(fault);
	ends->ends = grown;
	return 0;
}

void replay_ends_free(struct replay_ends *ends)
{
	if (ends->mapped) {
		munmap(ends->ends, ends->mapped);
		close(ends->fd);
	} else {
		free(ends->ends);
	}
	memset(ends, 0, sizeof *ends);
}
