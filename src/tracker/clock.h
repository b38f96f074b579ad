/* SPDX-License-Identifier: MIT
 *
 * What an event's time is read from. Two lives of a block in two threads must be ordered rightly: the end of the one, stamped before the
 * allocator gets it, lies before the beginning of the other, stamped after the allocator gave it out.
 *
 * Where the kernel trusts the time stamp counter (it is its own clock source, and counts at one rate in all processors), that is read
 * directly. While there are threads by rdtscp, which waits until all earlier loads have been done, so that the later stamp cannot be
 * taken before the block was seen; and earlier stores of the same thread have no part in it (Intel SDM, RDTSCP; AMD64 manual vol. 3). A
 * process with one thread has no one to be compared with: rdtsc, at half the cost. Elsewhere CLOCK_MONOTONIC, which the vDSO orders alike.
 */
#ifndef RH_TRACKER_CLOCK_H
#define RH_TRACKER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>) /* glibc 2.32 */
#include <sys/single_threaded.h>
#define RH_SINGLE_THREADED __libc_single_threaded
#endif
#endif
#endif
#if !defined(RH_SINGLE_THREADED)
#define RH_SINGLE_THREADED 0
#endif

/* A tick is 2^RH_TICK_SHIFT counts, some 5 ns: most differences between events fit into one byte, while a block needs several times as
 * long to get from one processor to another. */
#define RH_TICK_SHIFT 4

/* Chosen by rh_clock_choose, once in the life of a process: the time stamp counter, not CLOCK_MONOTONIC. */
extern bool rh_clock_tsc __attribute__((visibility("hidden")));

void rh_clock_choose(void);

/* As the manifest calls it (log/format.h). */
static inline const char *rh_clock_name(void)
{
	return rh_clock_tsc ? "tsc" : "monotonic";
}

static inline uint64_t rh_clock_read(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Ticks, as the log counts them: nanoseconds, or of the time stamp counter. */
static inline uint64_t rh_clock_now(void)
{
#if defined(__x86_64__)
	if (__builtin_expect(rh_clock_tsc, 1)) {
		unsigned processor;

		return (RH_SINGLE_THREADED ? __rdtsc() : __rdtscp(&processor)) >> RH_TICK_SHIFT;
	}
#endif
	return rh_clock_read(CLOCK_MONOTONIC);
}

/* One instant by both clocks. */
struct rh_instant {
	uint64_t ticks;
	uint64_t monotonic; /* CLOCK_MONOTONIC, ns */
};

struct rh_instant rh_clock_instant(void);

#endif
