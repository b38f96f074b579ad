/* SPDX-License-Identifier: MIT
 *
 * What an event's time is read from. CLOCK_MONOTONIC orders events of different threads rightly: the vDSO reads it with an ordered
 * time stamp counter where the kernel trusts that, and asks the kernel elsewhere.
 */
#ifndef RH_TRACKER_CLOCK_H
#define RH_TRACKER_CLOCK_H

#include <stdint.h>
#include <time.h>

#define RH_CLOCK_NAME "monotonic"

static inline uint64_t rh_clock_read(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Ticks, as the log counts them: here nanoseconds. */
static inline uint64_t rh_clock_now(void)
{
	return rh_clock_read(CLOCK_MONOTONIC);
}

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t rh_clock_monotonic(void)
{
	return rh_clock_read(CLOCK_MONOTONIC);
}

#endif
