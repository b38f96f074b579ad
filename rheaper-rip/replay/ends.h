/* SPDX-License-Identifier: MIT
 *
 * How allocations ended, by their number: an array that grows, in memory while it is small, else in a file without a name that is mapped,
 * so that the system can write out what is not needed for a while.
 */
#ifndef REPLAY_ENDS_H
#define REPLAY_ENDS_H

#include "fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum replay_ended { REPLAY_FREED = 0, REPLAY_REALLOCATED = 1, REPLAY_REUSED = 2, REPLAY_LIVE = 3 };

/* 12 bytes. */
struct replay_end {
	uint64_t packed; /* time << 3 | temporary << 2 | enum replay_ended; all ones: it is live */
	uint32_t thread; /* who ended it */
} __attribute__((packed));

struct replay_ends {
	struct replay_end *ends;
	size_t capacity;
	const char *neighbour; /* scratch.h */
	size_t mapped;	       /* bytes that are mapped from the file; 0: all is in memory */
	int fd;		       /* if mapped */
};

#define REPLAY_ENDS_IN_MEMORY ((size_t)64 << 20) /* bytes */

/* Makes room for `count` ends. 0, or -1 with fault filled. A zeroed struct with a neighbour, which must stay, is an empty array. */
int replay_ends_reserve(struct replay_ends *ends, size_t count, struct fault *fault);
void replay_ends_free(struct replay_ends *ends);

static inline enum replay_ended replay_end_how(const struct replay_end *end)
{
	return (enum replay_ended)(end->packed & 3);
}

static inline bool replay_end_temporary(const struct replay_end *end)
{
	return replay_end_how(end) != REPLAY_LIVE && (end->packed >> 2 & 1);
}

static inline int64_t replay_end_time(const struct replay_end *end)
{
	return (int64_t)(end->packed >> 3);
}

#endif
