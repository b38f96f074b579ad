/* SPDX-License-Identifier: MIT
 *
 * Exceptions thrown through frames that own blocks, caught, thrown again. */
#include <cstdio>
#include <cstdlib>

struct Guard {
	void *p;
	Guard() : p(malloc(7247))
	{
	}
	~Guard()
	{
		free(p);
	}
};

struct Big {
	char b[64];
};

__attribute__((noinline)) static void thrower(int d)
{
	Guard g;
	if (d == 0)
		throw Big();
	thrower(d - 1);
}

__attribute__((noinline)) static void *after_catch()
{
	return malloc(7253);
}

__attribute__((noinline)) static void rethrower()
{
	try {
		thrower(4);
	} catch (...) {
		Guard g;
		throw;
	}
}

int main()
{
	int caught = 0;
	for (int i = 0; i < 500; i++) {
		try {
			rethrower();
		} catch (Big &) {
			caught++;
		}
		(void)after_catch();
	}
	if (caught == 500)
		puts("ok");
	return 0;
}
