/* SPDX-License-Identifier: MIT
 *
 * A tracker for tests of the capture layer: it keeps the events in an array. It stands in for src/tracker in the link; one thread only.
 */
#ifndef RECORDING_TRACKER_H
#define RECORDING_TRACKER_H

#include "tracker/tracker.h"

enum recorded_kind { RECORDED_ALLOC, RECORDED_FREE, RECORDED_REALLOC };

struct recorded {
	enum recorded_kind kind;
	void *block, *old;   /* of a free: block */
	size_t size;
	unsigned argument;   /* enum rh_call or enum rh_free */
	uintptr_t caller;    /* frame 0; 0 for a free */
	uint64_t begin;      /* of a realloc: what rh_event_realloc_begin returned */
	uint64_t content[2]; /* of a free: what the block began with: an allocator that has it already writes there */
};

#define RECORDED_MAX 64
extern struct recorded recorded[RECORDED_MAX];
extern unsigned recorded_count;
extern unsigned recorded_module_changes;
extern unsigned recorded_sandboxes; /* seccomp filters that were seen coming */
extern unsigned *recorded_exits; /* NULL, or where ends of the process are counted: shared memory, to be seen from outside */
extern uint64_t recorded_begins; /* calls of rh_event_realloc_begin so far */

/* Forgets all and records from now on. */
void recording_on(void);
void recording_off(void);

#endif
