/* SPDX-License-Identifier: MIT
 *
 * A library of one function, whose name and size of block the compiler's command line gives: two of them differ in nothing else. */
#include <stdlib.h>

extern void *wrapped_malloc(size_t size);

void *FUNCTION(void)
{
	char *block = wrapped_malloc(SIZE);

	*block = 1;
	return block;
}
