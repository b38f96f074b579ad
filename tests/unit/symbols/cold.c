/* SPDX-License-Identifier: MIT
 *
 * A function whose unlikely half the compiler moves to a section of its own.
 */
#include "place.h"

__attribute__((cold, noinline)) void complain(const char *what)
{
	__asm__ volatile("" : : "r"(what));
}

__attribute__((noinline)) int work(int n)
{
	PLACE(in_hot);
	if (n > 1000) {
		complain("much");
		PLACE(in_cold);
		complain("too much");
	}
	return n * 2;
}

int main(int argc, char **argv)
{
	(void)argv;
	return work(argc);
}
