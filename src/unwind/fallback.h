/* SPDX-License-Identifier: MIT
 *
 * The walk by libunwind: for frames that a row cannot express, and for machines that have no rows. Only in the shared library.
 */
#ifndef RH_FALLBACK_H
#define RH_FALLBACK_H

#include <stdint.h>

#include "unwind/unwind.h"

/* The frames outward of `at`, which is on the running thread's stack: at most max of them to pcs, as rh_unwind writes them, and the last
 * one's registers to *last. Returns how many; 0 and a larger walker->truncated when it cannot be done, 0 alone at the end of the stack.
 * Keeps errno. Async-signal-safe, but for the loader's lock and libunwind's, under which signals are blocked. */
unsigned rh_fallback(struct rh_walker *walker, const struct rh_frame *at, uint64_t *pcs, unsigned max, struct rh_frame *last);

#if defined(RH_PRELOADED)
/* Loads libunwind for the use of this library alone: as one of its needed libraries it would lend its _Unwind_ functions to a program that looks for
 * libgcc's. Until then, and if it is not there, rh_fallback fails. Not on the event path: at the start. */
void rh_fallback_load(void);
#endif

/* Drops what libunwind has learnt about code. */
void rh_fallback_forget(void);

void rh_fallback_release(struct rh_walker *walker);

#endif
