/* SPDX-License-Identifier: MIT
 *
 * 3000 short-lived threads, eight at a time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *leak_one(void)
{
	return malloc(7103);
}

static void *job(void *a)
{
	void *x = malloc(7109), *y = malloc(7109);
	void *l = leak_one();
	free(y);
	free(x);
	return l ? a : a;
}

int main(void)
{
	for (int w = 0; w < 375; w++) {
		pthread_t t[8];
		for (int i = 0; i < 8; i++)
			if (pthread_create(&t[i], 0, job, 0))
				return 1;
		for (int i = 0; i < 8; i++)
			pthread_join(t[i], 0);
	}
	puts("ok");
	return 0;
}
