/* SPDX-License-Identifier: MIT
 *
 * Which clock, and pairs of readings by which a reader converts its ticks.
 */
#include "config.h"

#include "tracker/clock.h"

#include <string.h>
#include <sys/prctl.h>

#include "process/syscalls.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

bool rh_clock_tsc;

#if defined(__x86_64__)

#define CPUID_EXTENDED 0x80000001u
#define EDX_RDTSCP (1u << 27)
#define CPUID_POWER 0x80000007u
#define EDX_INVARIANT_TSC (1u << 8)

static bool is_trusted(void)
{
	unsigned a, b, c, d;
	char source[16];
	ssize_t n;
	int access = 0;

	if (!__get_cpuid(CPUID_EXTENDED, &a, &b, &c, &d) || !(d & EDX_RDTSCP) || !__get_cpuid(CPUID_POWER, &a, &b, &c, &d) ||
	    !(d & EDX_INVARIANT_TSC))
		return false;
	if (prctl(PR_GET_TSC, &access) == 0 && access != PR_TSC_ENABLE)
		return false;
	n = rh_sys_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
	return n == 4 && memcmp(source, "tsc\n", 4) == 0;
}

#else

static bool is_trusted(void)
{
	return false;
}

#endif

void rh_clock_choose(void)
{
	static bool chosen;

	if (!chosen)
		rh_clock_tsc = is_trusted();
	chosen = true;
}

/* Readings of a pair that lie further apart were interrupted: some µs. */
#define APART_MAX 500 /* ticks */
#define TRIES 4

struct rh_instant rh_clock_instant(void)
{
	struct rh_instant instant = {0, 0};
	uint64_t best = UINT64_MAX;

	if (!rh_clock_tsc) {
		instant.ticks = instant.monotonic = rh_clock_read(CLOCK_MONOTONIC);
		return instant;
	}
	for (int i = 0; i < TRIES && best > APART_MAX; i++) {
		uint64_t before = rh_clock_now(), monotonic = rh_clock_read(CLOCK_MONOTONIC), after = rh_clock_now();

		if (after - before < best) {
			best = after - before;
			instant = (struct rh_instant){before + best / 2, monotonic};
		}
	}
	return instant;
}
