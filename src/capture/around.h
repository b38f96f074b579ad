/* SPDX-License-Identifier: MIT
 *
 * What a preloaded library has to know of beside the allocator: code that goes away and processes that end in a hurry.
 */
#ifndef RH_CAPTURE_AROUND_H
#define RH_CAPTURE_AROUND_H

/* Looks up the C library's functions. Once; before that the functions here look for themselves when they are called. */
void rh_around_begin(void);

#endif
