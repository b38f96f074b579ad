/* SPDX-License-Identifier: MIT
 *
 * What happens to an event: the interface between the capture front-ends and the tracker.
 *
 * A front-end asks rh_tracking() first and goes straight to the backend when it is false. All functions here are async-signal-safe, keep
 * errno, take no lock in the usual case and never call malloc.
 */
#ifndef RH_TRACKER_H
#define RH_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log/format.h"
#include "unwind/unwind.h"

/* The switch. A page of its own, MADV_WIPEONFORK: a child of fork, _Fork or clone reads zeros, so it never takes its parent's session for its own, whatever handlers ran. */
#define RH_GATE_SIZE 4096
union rh_gate {
	struct {
		uint32_t session; /* RH_GATE_UNDECIDED, RH_GATE_OFF, or the running session's number */
		uint32_t alive;   /* 1 since the first enable of this very process */
		uint32_t lock;    /* thread id of who is in enable or disable, 0: nobody */
		uint32_t decider; /* thread id of who was the first to ask rh_start */
	};
	char page[RH_GATE_SIZE];
};
extern union rh_gate rh_gate __attribute__((visibility("hidden")));

enum {
	RH_GATE_UNDECIDED = 0, /* nobody has asked yet: a new process, or the child of a fork. The first event calls rh_start. */
	RH_GATE_OFF = 1
};

/* Decides whether this process records from now on, and says so. Async-signal-safe; keeps errno. */
bool rh_start(void) __attribute__((cold));

static inline bool rh_tracking(void)
{
	uint32_t session = __atomic_load_n(&rh_gate.session, __ATOMIC_RELAXED);

	if (__builtin_expect(session == RH_GATE_OFF, 1))
		return false;
	return session != RH_GATE_UNDECIDED || rh_start();
}

/* A block came to life: call after the allocator returned it. block is not NULL; size as asked for. */
void rh_event_alloc(void *block, size_t size, enum rh_call call, const struct rh_frame *caller);

/* A block is about to end: call before the allocator gets it. block is not NULL. */
void rh_event_free(void *block, enum rh_free how);

/* A realloc of a block is about to run: the time before it, to be handed to rh_event_realloc. */
uint64_t rh_event_realloc_begin(void);

/* It succeeded: old ended at begin, block lives from now on. Not called when it failed. old and block are not NULL. */
void rh_event_realloc(void *old, void *block, size_t size, enum rh_call call, uint64_t begin, const struct rh_frame *caller);

#endif
