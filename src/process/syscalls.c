/* SPDX-License-Identifier: MIT
 *
 * Whether system calls are restricted. Apart from sandbox.c, so that whoever makes system calls need not know the tracker.
 */
#include "config.h"

#include "process/syscalls.h"

bool rh_sandboxed;
