/* SPDX-License-Identifier: MIT
 *
 * The beginning of a process, as far as the tracker is concerned: the first event finds the gate undecided and asks.
 */
#ifndef RH_TRACKER_START_H
#define RH_TRACKER_START_H

#include <stdbool.h>

#include "process/environment.h"

/* What the environment said, valid after rh_start or rh_start_reading. */
extern struct rh_environment rh_environment __attribute__((visibility("hidden")));

/* Reads the environment, once in a process image; says a bad value on standard error. False then. */
bool rh_start_reading(void);

/* In the child of _Fork, whose handlers nobody runs (session.h). */
void rh_forked(void);

/* The process ends in order, by exit or _exit: noted in the profile. Events may still come. Also from a signal handler. */
void rh_note_exit(void);

/* Says where the profile is, at the end of the process that `rheaper` became; once, and not if that was not wanted. Also from a signal handler. */
void rh_say_closing_line(void);
bool rh_closing_line_due(void);

#endif
