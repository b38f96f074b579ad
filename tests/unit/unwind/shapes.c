/* SPDX-License-Identifier: MIT
 *
 * Frames of many forms.
 */
#include "unwind/shapes.h"

#include <alloca.h>
#include <string.h>

#if defined(__clang__)
#define PLAIN __attribute__((optnone, noinline))
#define OPTIMIZED __attribute__((noinline))
#else
#define PLAIN __attribute__((optimize("O0", "no-omit-frame-pointer"), noinline))
#define OPTIMIZED __attribute__((optimize("O2", "omit-frame-pointer"), noinline))
#endif

static __thread volatile unsigned sink;
static volatile unsigned amount = 40;

/* Something after the call, so that it is no tail call. */
#define AFTER() (sink++)

#define SHAPES(SUFFIX, ATTRIBUTE)                                                                                                          \
	ATTRIBUTE static void leafward_##SUFFIX(callback next)                                                                             \
	{                                                                                                                                  \
		next();                                                                                                                    \
		AFTER();                                                                                                                   \
	}                                                                                                                                  \
	ATTRIBUTE static void nested_##SUFFIX(callback next)                                                                               \
	{                                                                                                                                  \
		char array[200];                                                                                                           \
		memset(array, (int)sink, sizeof(array));                                                                                   \
		leafward_##SUFFIX(next);                                                                                                   \
		sink += (unsigned char)array[amount];                                                                                      \
	}                                                                                                                                  \
	ATTRIBUTE static void large_frame_##SUFFIX(callback next)                                                                          \
	{                                                                                                                                  \
		char array[100000];                                                                                                        \
		array[amount] = 1;                                                                                                         \
		__asm__ volatile("" : : "r"(array) : "memory");                                                                            \
		next();                                                                                                                    \
		sink += (unsigned char)array[amount];                                                                                      \
	}                                                                                                                                  \
	ATTRIBUTE static void alloca_##SUFFIX(callback next)                                                                               \
	{                                                                                                                                  \
		char *array = alloca(amount * 7);                                                                                          \
		memset(array, 1, amount);                                                                                                  \
		next();                                                                                                                    \
		sink += (unsigned char)array[amount - 1];                                                                                  \
	}                                                                                                                                  \
	ATTRIBUTE static void aligned_##SUFFIX(callback next)                                                                              \
	{                                                                                                                                  \
		char array[64] __attribute__((aligned(64)));                                                                               \
		__asm__ volatile("" : : "r"(array) : "memory");                                                                            \
		next();                                                                                                                    \
		__asm__ volatile("" : : "r"(array) : "memory");                                                                            \
	}                                                                                                                                  \
	ATTRIBUTE static unsigned many_##SUFFIX(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f, unsigned g,        \
						unsigned h, unsigned i, callback next)                                                     \
	{                                                                                                                                  \
		unsigned sum = a * b + c * d + e * f + g * h;                                                                              \
		next();                                                                                                                    \
		return sum + a + b + c + d + e + f + g + h + i;                                                                            \
	}                                                                                                                                  \
	ATTRIBUTE static void arguments_##SUFFIX(callback next)                                                                            \
	{                                                                                                                                  \
		sink += many_##SUFFIX(1, amount, 3, 4, 5, amount, 7, 8, 9, next);                                                          \
	}                                                                                                                                  \
	ATTRIBUTE static void uses_rbp_##SUFFIX(callback next)                                                                             \
	{                                                                                                                                  \
		unsigned a = amount, b = a + sink, c = b * 3, d = c ^ a, e = d + 5, f = e * a, g = f + b;                                  \
		leafward_##SUFFIX(next);                                                                                                   \
		sink += a + b + c + d + e + f + g;                                                                                         \
		leafward_##SUFFIX(sink == 1 ? next : nothing);                                                                             \
		sink += a ^ b ^ c ^ d ^ e ^ f ^ g;                                                                                         \
	}

static void nothing(void)
{
}

SHAPES(plain, PLAIN)
SHAPES(optimized, OPTIMIZED)

/* An aligned local, stack memory of unknown size and arguments on the stack: the old stack pointer must be kept in a slot. */
OPTIMIZED static void realigned(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f, unsigned g, callback next)
{
	char array[64] __attribute__((aligned(64)));
	char *more = alloca(a + b);

	__asm__ volatile("" : : "r"(array), "r"(more) : "memory");
	next();
	__asm__ volatile("" : : "r"(array), "r"(more) : "memory");
	sink += a + b + c + d + e + f + g;
}

OPTIMIZED void shape_realigned(callback next)
{
	realigned(amount, amount, 1, 2, 3, 4, 5, next);
	AFTER();
}

#define BOTH(NAME) {#NAME " plain", NAME##_plain}, {#NAME " optimized", NAME##_optimized}

const struct shape shapes[] = {
	BOTH(nested),   BOTH(large_frame), BOTH(alloca),
	BOTH(aligned),  BOTH(arguments),   BOTH(uses_rbp),
	{"realigned", shape_realigned},
};
const unsigned shape_count = sizeof(shapes) / sizeof(shapes[0]);

static __thread unsigned mix_depth;
static __thread callback mix_next;

OPTIMIZED static void mix_step(void)
{
	if (mix_depth == 0) {
		mix_next();
	} else {
		mix_depth--;
		shapes[mix_depth % shape_count].call(mix_step);
	}
	AFTER();
}

void shape_mix(unsigned depth, callback next)
{
	mix_depth = depth;
	mix_next = next;
	mix_step();
}
