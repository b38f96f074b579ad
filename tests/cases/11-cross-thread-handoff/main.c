/* SPDX-License-Identifier: MIT
 *
 * One thread allocates 20000 blocks, another frees them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 20000, R = 256 };
static void *ring[R];
static int head, tail;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;

static void *maker(void *a)
{
	for (int i = 0; i < N; i++) {
		void *p = malloc(7589);
		pthread_mutex_lock(&m);
		while (head - tail == R)
			pthread_cond_wait(&cv, &m);
		ring[head++ % R] = p;
		pthread_cond_broadcast(&cv);
		pthread_mutex_unlock(&m);
	}
	return a;
}

static void *eater(void *a)
{
	for (int i = 0; i < N; i++) {
		pthread_mutex_lock(&m);
		while (head == tail)
			pthread_cond_wait(&cv, &m);
		void *p = ring[tail++ % R];
		pthread_cond_broadcast(&cv);
		pthread_mutex_unlock(&m);
		free(p);
	}
	return a;
}

int main(void)
{
	pthread_t a, b;
	pthread_create(&a, 0, maker, 0);
	pthread_create(&b, 0, eater, 0);
	pthread_join(a, 0);
	pthread_join(b, 0);
	puts("ok");
	return 0;
}
