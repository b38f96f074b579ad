/* SPDX-License-Identifier: MIT
 *
 * The program's floating-point environment (C11, 7.6): our few computations must neither raise its flags nor, where it has unmasked exceptions, its signal.
 * fenv.h would need libm. The computations stand in functions of their own between hold and release, which the compiler must not inline.
 */
#ifndef RH_PROCESS_FLOATING_H
#define RH_PROCESS_FLOATING_H

#include <stdint.h>

#if defined(__x86_64__)

/* All exceptions masked, none raised, round to nearest (Intel SDM 1, 10.2.3). double is computed with SSE alone. */
#define RH_MXCSR_PLAIN 0x1f80

static inline uint32_t rh_floating_hold(void)
{
	uint32_t held, plain = RH_MXCSR_PLAIN;

	__asm__ volatile("stmxcsr %0\n\tldmxcsr %1" : "=m"(held) : "m"(plain) : "memory");
	return held;
}

static inline void rh_floating_release(uint32_t held)
{
	__asm__ volatile("ldmxcsr %0" : : "m"(held) : "memory");
}

#else

static inline uint32_t rh_floating_hold(void)
{
	return 0;
}

static inline void rh_floating_release(uint32_t held)
{
	(void)held;
}

#endif

#endif
