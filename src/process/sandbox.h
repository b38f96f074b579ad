/* SPDX-License-Identifier: MIT
 *
 * Programs that lock themselves up (seccomp(2)). A filter is not told what a profiler needs, so when one is seen coming the library prepares and from
 * then on makes no system call but openat, write, close, mmap and munmap. Strict mode allows none of those, nor the time stamp counter that the clock
 * reads: recording stops, and what would have been recorded is counted.
 */
#ifndef RH_PROCESS_SANDBOX_H
#define RH_PROCESS_SANDBOX_H

#include <stdbool.h>

/* A filter was, or is about to be, installed. Never goes back. */
extern bool rh_sandboxed __attribute__((visibility("hidden")));

/* For the front-ends: called before prctl(2) and syscall(2) with what they are about to do. Cheap unless that is seccomp. */
void rh_sandbox_prctl(int option, unsigned long mode);
void rh_sandbox_syscall(long number, long first, long second);

#endif
