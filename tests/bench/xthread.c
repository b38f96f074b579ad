/* SPDX-License-Identifier: MIT
 *
 * xthread N P BATCH: P producers allocate, P consumers free; each pair has a bounded queue of batches.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { CAP = 16 };
struct q {
	pthread_mutex_t m;
	pthread_cond_t ne, nf;
	void **slot[CAP];
	int n, h;
};
static long N = 1000000, P = 1, B = 256;
static void push(struct q *q, void **b)
{
	pthread_mutex_lock(&q->m);
	while (q->n == CAP)
		pthread_cond_wait(&q->nf, &q->m);
	q->slot[(q->h + q->n++) % CAP] = b;
	pthread_cond_signal(&q->ne);
	pthread_mutex_unlock(&q->m);
}
static void **pop(struct q *q)
{
	pthread_mutex_lock(&q->m);
	while (!q->n)
		pthread_cond_wait(&q->ne, &q->m);
	void **b = q->slot[q->h];
	q->h = (q->h + 1) % CAP;
	q->n--;
	pthread_cond_signal(&q->nf);
	pthread_mutex_unlock(&q->m);
	return b;
}
static void *prod(void *a)
{
	struct q *q = a;
	uint64_t s = (uintptr_t)a;
	for (long i = 0; i < N / B; i++) {
		void **b = malloc(B * sizeof *b);
		for (long j = 0; j < B; j++) {
			s = s * 6364136223846793005ull + 1;
			b[j] = malloc(16 + ((s >> 33) % 497));
			*(char *)b[j] = 1;
		}
		push(q, b);
	}
	push(q, NULL);
	return 0;
}
static void *cons(void *a)
{
	struct q *q = a;
	void **b;
	while ((b = pop(q))) {
		for (long j = 0; j < B; j++)
			free(b[j]);
		free(b);
	}
	return 0;
}
int main(int c, char **v)
{
	void *volatile first = malloc(1); /* recording begins here, before the clock starts */

	free(first);
	if (c > 1)
		N = atol(v[1]);
	if (c > 2)
		P = atol(v[2]);
	if (c > 3)
		B = atol(v[3]);
	static struct q q[64];
	pthread_t t[128];
	for (long i = 0; i < P; i++) {
		pthread_mutex_init(&q[i].m, 0);
		pthread_cond_init(&q[i].ne, 0);
		pthread_cond_init(&q[i].nf, 0);
		pthread_create(&t[2 * i], 0, prod, &q[i]);
		pthread_create(&t[2 * i + 1], 0, cons, &q[i]);
	}
	for (long i = 0; i < 2 * P; i++)
		pthread_join(t[i], 0);
	fprintf(stderr, "xthread events=%ld\n", 2 * P * (N / B) * (B + 1));
	return 0;
}
