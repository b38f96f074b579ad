/* SPDX-License-Identifier: MIT
 *
 * realloc as malloc, growing, shrinking, failing and freeing. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grow(void *p, size_t n)
{
	return realloc(p, n);
}

volatile size_t absurd = SIZE_MAX / 2;

int main(void)
{
	for (int i = 0; i < 12; i++) {
		char *p = grow(NULL, 7459); /* acts as malloc */
		memset(p, 7, 7459);
		char *wall = malloc(7477); /* makes in-place growth unlikely */
		p = grow(p, 70001);	   /* bigger, content kept */
		for (int j = 0; j < 7459; j++)
			if (p[j] != 7)
				return 1;
		p = grow(p, 7481); /* smaller, mostly in place */
		if (grow(p, absurd))
			return 2; /* fails: p stays alive */
		if (p[7458] != 7)
			return 3;
		if (i < 5)
			free(p); /* closes the 7481 row */
		else if (i < 9)
			free(grow(p, 0)); /* frees; some allocators give a new block then, glibc's gives NULL */
		free(wall);
	}
	puts("ok");
	return 0;
}
