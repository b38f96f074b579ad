/* SPDX-License-Identifier: MIT
 *
 * manystacks N DEPTH: N walks down a random tree of calls, one malloc at the bottom; half of the blocks are freed at the end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static uint64_t s = 88172645463325252ull;
static inline uint64_t rnd(void)
{
	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return s;
}
static volatile long sink;
static void *go(int d, uint64_t r);
#define F(n)                                                                    \
	__attribute__((noinline, noclone)) static void *f##n(int d, uint64_t r) \
	{                                                                       \
		void *p;                                                        \
		if (d <= 0)                                                     \
			p = malloc(16 + (r & 255));                             \
		else if (r & 8) {                                               \
			p = go(d - 1, r >> 4);                                  \
			sink += n;                                              \
		} else {                                                        \
			p = go(d - 1, (r >> 4) ^ 1);                            \
			sink -= n;                                              \
		}                                                               \
		sink++;                                                         \
		return p;                                                       \
	}
F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) __attribute__((noinline, noclone)) static void *go(int d, uint64_t r)
{
	void *p;
	switch (r & 7) {
	case 0:
		p = f0(d, r);
		break;
	case 1:
		p = f1(d, r);
		break;
	case 2:
		p = f2(d, r);
		break;
	case 3:
		p = f3(d, r);
		break;
	case 4:
		p = f4(d, r);
		break;
	case 5:
		p = f5(d, r);
		break;
	case 6:
		p = f6(d, r);
		break;
	default:
		p = f7(d, r);
	}
	sink++;
	return p;
}
int main(int c, char **v)
{
	void *volatile first = malloc(1); /* recording begins here, before the clock starts */

	free(first);
	long n = c > 1 ? atol(v[1]) : 300000;
	int depth = c > 2 ? atoi(v[2]) : 8;
	void **ps = malloc(n * sizeof *ps);
	for (long i = 0; i < n; i++)
		ps[i] = go(depth, rnd());
	for (long i = 0; i < n; i += 2)
		free(ps[i]);
	fprintf(stderr, "manystacks n=%ld depth=%d events=%ld\n", n, depth, n + n / 2);
	return 0;
}
