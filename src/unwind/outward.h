/* SPDX-License-Identifier: MIT
 *
 * Leaves out frames between a front-end and the program that it speaks for.
 */
#ifndef RH_UNWIND_OUTWARD_H
#define RH_UNWIND_OUTWARD_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind.h"

/* Moves *frame outward until its pc is `pc`, over a few frames at most. False, with *frame as it was: it is not among them. Signal-safe as rh_unwind. */
bool rh_unwind_outward(struct rh_frame *frame, uintptr_t pc);

#endif
