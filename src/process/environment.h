/* SPDX-License-Identifier: MIT
 *
 * What the environment asks for: the RHEAPER_ variables (rheaper(1)), read once in a process, as it was started.
 *
 * The first allocation may come before `environ` exists (a preinit array, an IFUNC resolver), so the strings are read from where the kernel put them: behind
 * argc and argv at __libc_stack_end (System V ABI, AMD64 supplement, 3.4.1). Programs that set their title overwrite that place later.
 */
#ifndef RH_PROCESS_ENVIRONMENT_H
#define RH_PROCESS_ENVIRONMENT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "rheaper.h"

struct rh_environment {
	bool enable;          /* RHEAPER_ENABLE=1: track from the first event on */
	bool follow;          /* RHEAPER_FOLLOW_FORK: a forked child of a tracked process is tracked; the default */
	bool quiet;           /* RHEAPER_QUIET=1: no closing line */
	bool no_arguments;    /* RHEAPER_NO_CMDLINE=1: the command line is not kept */
	int toggle_signal;    /* RHEAPER_TOGGLE_SIGNAL, 0: none */
	int unwinder;         /* RHEAPER_UNWINDER: an enum rh_unwinder, or -1: as configured */
	int64_t launched;     /* RHEAPER_LAUNCHED: the process that `rheaper` became, whose closing line is wanted; 0: none */
	rheaper_config config;
	char profile_dir[PATH_MAX];
};

/* Fills in what the variables say, defaults elsewhere. A set-uid program (AT_SECURE) gets the defaults, with follow off. If a value is bad, returns its
 * variable's name, else NULL; the value is in *value then. Async-signal-safe. */
const char *rh_environment_read(struct rh_environment *environment, const char **value);

/* Takes up one string NAME=VALUE of them; others are ignored. Result as above. */
const char *rh_environment_take(struct rh_environment *environment, const char *string, const char **value);

#endif
