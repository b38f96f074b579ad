/* SPDX-License-Identifier: MIT
 *
 * No DWARF at all. */
#include <stdio.h>
#include <stdlib.h>

static __attribute__((noinline)) void *hidden_static(void)
{
	void *p = malloc(7753);
	*(volatile char *)p = 1;
	return p;
}

__attribute__((noinline)) void *visible_global(void)
{
	void *p = hidden_static();
	*(volatile char *)p = 2;
	return p;
}

int main(void)
{
	for (int i = 0; i < 44; i++) {
		void *p = visible_global();
		if (i < 11)
			free(p);
	}
	puts("ok");
	return 0;
}
