/* SPDX-License-Identifier: MIT
 *
 * The part of chain.c that lies in another file.
 */
#include "place.h"

static inline __attribute__((always_inline)) int inner(int n)
{
	PLACE(in_inner);
	return n * 3;
}

__attribute__((noinline)) int from_header(int n)
{
	PLACE(in_header);
	return n + 7;
}
