/* SPDX-License-Identifier: MIT
 *
 * The allocations in the order of time, on their way from the first pass over the events to the second: so that those are merged and their
 * stacks are found once only. Some ten bytes each, in a file without a name once they are more than a buffer holds.
 */
#ifndef REPLAY_SPOOL_H
#define REPLAY_SPOOL_H

#include "fault.h"

#include <stddef.h>
#include <stdint.h>

struct replay_entry {
	int64_t time; /* ns; does not decrease */
	uint64_t address, size;
	uint32_t stack, thread, process;
	uint8_t how; /* enum rh_call */
};

struct replay_spool {
	const char *neighbour; /* scratch.h */
	int fd;		       /* -1: all is in the buffer */
	uint8_t *buffer;
	size_t used, next;	 /* bytes in the buffer; where reading goes on */
	uint64_t written, taken; /* bytes of the file */
	struct replay_entry last;
};

/* 0, or -1 with fault filled, as all functions here; to be freed in every case. neighbour must stay. */
int replay_spool_start(struct replay_spool *spool, const char *neighbour, struct fault *fault);
void replay_spool_free(struct replay_spool *spool);

int replay_spool_add(struct replay_spool *spool, const struct replay_entry *entry, struct fault *fault);

/* After the last was added, and before the first is read. */
int replay_spool_turn(struct replay_spool *spool, struct fault *fault);

/* 1 with the next entry in spool->last, or 0 at the end. */
int replay_spool_next(struct replay_spool *spool, struct fault *fault);

#endif
