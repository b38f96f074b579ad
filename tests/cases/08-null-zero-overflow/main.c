/* SPDX-License-Identifier: MIT
 *
 * free(NULL), blocks of zero bytes, sizes that overflow. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

volatile size_t big = SIZE_MAX / 4, half = SIZE_MAX / 2;

static void *zero(void)
{
	return malloc(0);
}

static void *czero(void)
{
	return calloc(0, 7487);
}

static void *cn(void)
{
	return calloc(3, 2497);
}

int main(void)
{
	void *z[7];
	for (int i = 0; i < 7; i++)
		z[i] = zero();
	for (int i = 0; i < 7; i++)
		for (int j = 0; j < i; j++)
			if (z[i] && z[i] == z[j])
				return 1;
	for (int i = 0; i < 5; i++) {
		free(czero());
	}
	for (int i = 0; i < 1000; i++)
		free(NULL);
	errno = 0;
	if (calloc(big, 8) || (errno != ENOMEM && errno != 0)) /* 0: not every allocator says why */
		return 2;
	errno = 0;
	if (malloc(half + 5) || (errno != ENOMEM && errno != 0))
		return 3;
	for (int i = 0; i < 4; i++) {
		unsigned char *c = cn();
		for (int j = 0; j < 7491; j++)
			if (c[j])
				return 4;
		if (i)
			free(c);
	}
	for (int i = 0; i < 3; i++)
		free(z[i]);
	puts("ok");
	return 0;
}
