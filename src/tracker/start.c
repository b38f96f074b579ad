/* SPDX-License-Identifier: MIT
 *
 * Who begins to record without having called the API: a process that was started with RHEAPER_ENABLE=1, and the forked child of one that
 * records. Both are found at their first event, because the gate still reads 0: in a new process, and again in a child.
 */
#include "config.h"

#include "tracker/start.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "process/floating.h"
#include "process/path.h"
#include "process/peer.h"
#include "process/say.h"
#include "process/syscalls.h"
#include "tracker/session.h"
#include "tracker/tracker.h"

struct rh_environment rh_environment;

static bool read_already; /* inherited by forked children: there the strings may be gone */

/* Switches over at the signal that RHEAPER_TOGGLE_SIGNAL names. */
static void toggle(int number)
{
	rheaper_config config = rh_environment.config;

	(void)number;
	if (rheaper_tracking_enabled())
		rheaper_disable_tracking();
	else
		rheaper_enable_tracking(&config, NULL, 0);
}

bool rh_start_reading(void)
{
	const char *bad, *value;
	uint32_t held;

	if (read_already)
		return true;
	read_already = true;
	rh_peer_find();
	if (rh_peer)
		return true; /* it reads the environment itself */
	rh_say_begin();
	held = rh_floating_hold();
	bad = rh_environment_read(&rh_environment, &value);
	rh_floating_release(held);
	if (!bad && rh_environment.unwinder >= 0 && !rh_unwind_choose((enum rh_unwinder)rh_environment.unwinder)) {
		bad = "RHEAPER_UNWINDER"; /* not in this library */
		value = "libunwind";
	}
	if (bad) {
		rh_environment.enable = false;
		rh_say("not recording: ", bad, "=", value, ": not a valid value", NULL);
		return false;
	}
	if (!rh_environment.follow && rh_environment.launched && rh_environment.launched != getpid())
		rh_environment.enable = false; /* a program that the launched one has started */
	if (rh_environment.toggle_signal) {
		struct sigaction action;

		memset(&action, 0, sizeof action);
		action.sa_handler = toggle;
		action.sa_flags = SA_RESTART | SA_ONSTACK;
		sigaction(rh_environment.toggle_signal, &action, NULL);
	}
	return true;
}

/* Tracking on, as the environment or a parent has it; said if it fails. */
static void enable(const rheaper_config *config)
{
	int error = rheaper_enable_tracking(config, NULL, 0);

	if (error && error != RHEAPER_ERROR_ALREADY_ENABLED && error != RHEAPER_ERROR_BUSY)
		rh_say("not recording: ", *config->profile_dir ? config->profile_dir : ".", ": ", rheaper_strerror(error), NULL);
}

/* Nobody asked for tracking: the gate is off until somebody does. */
static void stay_off(void)
{
	uint32_t undecided = RH_GATE_UNDECIDED;

	__atomic_compare_exchange_n(&rh_gate.session, &undecided, RH_GATE_OFF, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* How long a thread waits for another one's decision: a second in all. */
#define DECISION_PAUSE 20000 /* ns */
#define DECISION_PAUSES 50000

bool rh_start(void)
{
	const uint32_t me = rh_sandboxed ? rh_thread_mark() : rh_thread_id();
	uint32_t decider = 0;
	int saved = errno;

	/* Two threads may come here at once, in a program without an early allocation: the second waits for the first one's decision, so that its events are not
	 * lost; but not for long, and not in a signal handler that interrupts the first. */
	if (!__atomic_compare_exchange_n(&rh_gate.decider, &decider, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		for (int i = 0; i < DECISION_PAUSES && decider != me; i++) {
			if (__atomic_load_n(&rh_gate.session, __ATOMIC_ACQUIRE) != RH_GATE_UNDECIDED)
				break;
			rh_sys_sleep(DECISION_PAUSE);
		}
	} else if (rh_session.recording) {
		if (rh_environment.follow)
			rh_follow();
	} else if (!read_already && rh_start_reading() && rh_environment.enable) {
		enable(&rh_environment.config);
	}
	stay_off();
	errno = saved;
	return __atomic_load_n(&rh_gate.session, __ATOMIC_RELAXED) > RH_GATE_OFF;
}
