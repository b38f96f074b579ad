/* SPDX-License-Identifier: MIT
 *
 * Which allocations count. Frees are recorded always: the analyser drops those whose allocation was not.
 */
#ifndef RH_TRACKER_SAMPLER_H
#define RH_TRACKER_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

/* The session's share as a threshold below which a random 64-bit number must stay; UINT64_MAX lets all pass. */
static inline uint64_t rh_sampler_threshold(double rate)
{
	if (rate >= 1.0)
		return UINT64_MAX;
	return rate <= 0.0 ? 0 : (uint64_t)(rate * 18446744073709551616.0 /* 2^64 */);
}

/* One tracker's source of random numbers: xorshift64* (S. Vigna, "An experimental exploration of Marsaglia's xorshift generators,
 * scrambled", ACM TOMS 42(4), 2016). The state must not be 0. */
static inline uint64_t rh_sampler_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

static inline bool rh_sampler_takes(uint64_t *state, uint64_t threshold)
{
	return threshold == UINT64_MAX || rh_sampler_random(state) < threshold;
}

#endif
