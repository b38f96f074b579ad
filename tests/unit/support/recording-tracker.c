/* SPDX-License-Identifier: MIT
 *
 * A tracker that keeps events in an array (recording-tracker.h).
 */
#include <stdlib.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "process/modules.h"
#include "process/peer.h"
#include "process/sandbox.h"
#include "tracker/start.h"
#include "recording-tracker.h"

union rh_gate rh_gate;
struct recorded recorded[RECORDED_MAX];
unsigned recorded_count, recorded_module_changes, recorded_sandboxes;
unsigned *recorded_exits;
uint64_t recorded_begins;

void recording_on(void)
{
	recorded_count = 0;
	recorded_module_changes = 0;
	rh_gate.session = RH_GATE_OFF + 1;
}

void recording_off(void)
{
	rh_gate.session = RH_GATE_OFF;
}

bool rh_start(void)
{
	recording_off();
	return false;
}

static void record(struct recorded event)
{
	if (recorded_count == RECORDED_MAX)
		abort();
	recorded[recorded_count++] = event;
}

void rh_event_alloc(void *block, size_t size, enum rh_call call, const struct rh_frame *caller)
{
	record((struct recorded){.kind = RECORDED_ALLOC, .block = block, .size = size, .argument = call, .caller = caller->pc});
}

void rh_event_free(void *block, enum rh_free how)
{
	struct recorded event = {.kind = RECORDED_FREE, .block = block, .argument = how};

	memcpy(event.content, block, sizeof event.content);
	record(event);
}

uint64_t rh_event_realloc_begin(void)
{
	return ++recorded_begins;
}

void rh_event_realloc(void *old, void *block, size_t size, enum rh_call call, uint64_t begin, const struct rh_frame *caller)
{
	record((struct recorded){.kind = RECORDED_REALLOC,
				 .block = block,
				 .old = old,
				 .size = size,
				 .argument = call,
				 .begin = begin,
				 .caller = caller->pc});
}

void rh_modules_changing(void)
{
}

void rh_modules_changed(void)
{
	recorded_module_changes++;
}

void rh_note_exit(void)
{
	if (recorded_exits)
		++*recorded_exits;
}

void rh_forked(void)
{
}

void rh_sandbox_prctl(int option, unsigned long mode)
{
	if (option == PR_SET_SECCOMP && mode != 0)
		recorded_sandboxes++;
}

void rh_sandbox_syscall(long number, long first, long second)
{
	if (number == SYS_seccomp && (first != SECCOMP_SET_MODE_STRICT || second == 0))
		recorded_sandboxes++;
	else if (number == SYS_prctl)
		rh_sandbox_prctl((int)first, (unsigned long)second);
}

/* No other copy of Rheaper is here. */
const struct rh_peer *rh_peer;
