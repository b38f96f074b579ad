/* SPDX-License-Identifier: MIT
 *
 * The program writes to every byte that malloc_usable_size grants. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	for (int i = 0; i < 64; i++) {
		unsigned char *p = malloc(7877), *q = malloc(7877);
		size_t u = malloc_usable_size(p), v = malloc_usable_size(q);
		if (u < 7877 || v < 7877)
			return 1;
		memset(p, 0xAA, u);
		memset(q, 0xBB, v); /* allowed: usable means usable */
		for (size_t j = 0; j < u; j++)
			if (p[j] != 0xAA)
				return 2;
		p = realloc(p, 7879);
		for (int j = 0; j < 7877; j++)
			if (p[j] != 0xAA)
				return 3;
		free(p);
		if (i % 2)
			free(q);
	}
	if (malloc_usable_size(NULL) != 0)
		return 4;
	puts("ok");
	return 0;
}
