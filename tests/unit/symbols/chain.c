/* SPDX-License-Identifier: MIT
 *
 * Three functions, two of them inlined, in two files; and one that nobody outside can see.
 */
#include "chain.h"

static inline __attribute__((always_inline)) int middle(int n)
{
	int before = n + 1;

	return inner(before) + 1; /* middle calls inner */
}

__attribute__((noinline)) int outer(int n)
{
	PLACE(in_outer);
	int found = middle(n); /* outer calls middle */

	return found * 2;
}

static __attribute__((noinline)) int hidden(int n)
{
	PLACE(in_hidden);
	return n - 1;
}

int main(int argc, char **argv)
{
	(void)argv;
	return outer(argc) + hidden(argc) + from_header(argc);
}
