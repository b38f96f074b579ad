/* SPDX-License-Identifier: MIT
 *
 * Allocations before main and after it: static constructors and destructors, atexit, destructor functions. */
#include <cstdio>
#include <cstdlib>

static void *kept[10];

struct Late {
	void *a;
	Late() : a(malloc(7177))
	{
	}
	~Late()
	{
		free(a);
		(void)!malloc(7187);
		void *t = malloc(7193);
		free(t);
	}
};

static Late late; /* static destructor */

extern "C" void bye(void)
{
	for (int i = 0; i < 4; i++)
		free(kept[i]);
	for (int i = 0; i < 11; i++) {
		void *p = malloc(7207);
		if (i < 5)
			free(p);
	}
}

__attribute__((destructor)) static void fini(void)
{
	for (int i = 0; i < 3; i++)
		(void)!malloc(7211);
}

int main()
{
	atexit(bye);
	for (int i = 0; i < 10; i++)
		kept[i] = malloc(7213);
	puts("ok");
	return 0;
}
