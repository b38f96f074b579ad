/* SPDX-License-Identifier: MIT
 *
 * A library that differs from others by its function's name and its size of block only (-DFUNCTION, -DSIZE). */
#include <stdlib.h>

void *FUNCTION(void)
{
	char *block = malloc(SIZE);

	*(char *volatile *)&block = block;
	return block;
}
