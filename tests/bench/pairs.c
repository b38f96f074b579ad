/* SPDX-License-Identifier: MIT
 *
 * pairs N K DEPTH THREADS: each thread makes N pairs of malloc and free, K blocks live, at that call depth.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static long N = 1000000, K = 1000, D = 5, T = 1;
static volatile long sink;
static long work(uint64_t seed)
{
	void **ring = calloc(K, sizeof(void *));
	uint64_t s = seed;
	long pos = 0, sum = 0;
	for (long i = 0; i < N; i++) {
		s = s * 6364136223846793005ull + 1442695040888963407ull;
		size_t sz = 16 + ((s >> 33) % 497);
		free(ring[pos]);
		char *p = malloc(sz);
		p[0] = (char)i;
		sum += p[0];
		ring[pos] = p;
		if (++pos == K)
			pos = 0;
	}
	for (long i = 0; i < K; i++)
		free(ring[i]);
	free(ring);
	return sum;
}
__attribute__((noinline, noclone)) static long rec(long d, uint64_t seed)
{
	long r;
	if (d <= 0)
		r = work(seed);
	else
		r = rec(d - 1, seed ^ (uint64_t)d);
	sink += r; /* work after the call: no tail call */
	return r + d;
}
static void *thr(void *a)
{
	return (void *)rec(D, (uint64_t)(uintptr_t)a);
}
int main(int c, char **v)
{
	void *volatile first = malloc(1); /* recording begins here, before the clock starts */

	free(first);
	if (c > 1)
		N = atol(v[1]);
	if (c > 2)
		K = atol(v[2]);
	if (c > 3)
		D = atol(v[3]);
	if (c > 4)
		T = atol(v[4]);
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	if (T <= 1)
		thr((void *)1);
	else {
		pthread_t t[256];
		for (long i = 0; i < T; i++)
			pthread_create(&t[i], 0, thr, (void *)(i + 1));
		for (long i = 0; i < T; i++)
			pthread_join(t[i], 0);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	double s = (b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) * 1e-9;
	fprintf(stderr, "pairs N=%ld K=%ld D=%ld T=%ld inner=%.6f events=%ld ns/event/thread=%.2f\n", N, K, D, T, s, 2 * N * T,
		s * 1e9 / (2.0 * N));
	return 0;
}
