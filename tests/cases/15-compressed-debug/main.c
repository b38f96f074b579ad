/* SPDX-License-Identifier: MIT
 *
 * Debug sections compressed with zlib. */
#include <stdio.h>
#include <stdlib.h>

static __attribute__((noinline)) void *take_here(size_t n)
{
	void *p = malloc(n); /* TAKE */
	*(volatile char *)p = 1;
	return p;
}

__attribute__((noinline)) void *hand_over(size_t n)
{
	void *p = take_here(n); /* HAND */
	*(volatile char *)p = 2;
	return p;
}

int main(void)
{
	for (int i = 0; i < 27; i++) {
		void *p = hand_over(7789);
		if (i < 9)
			free(p);
	}
	puts("ok");
	return 0;
}
