/* SPDX-License-Identifier: MIT
 *
 * Each thread's note of the C library's function that is at work for the program (intercept.h).
 */
#include "config.h"

#include "capture/intercept.h"

_Thread_local struct rh_outer rh_outer;
