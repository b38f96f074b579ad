/* SPDX-License-Identifier: MIT
 *
 * plugins FIRST SECOND ROUNDS: loads two libraries in turn, so that they come to lie at the same address, and has each allocate. */
#include <dlfcn.h>
#include <link.h>

#include "program.h"

/* What the libraries call; they are not linked with Rheaper themselves. Its frame stands between. */
__attribute__((visibility("default"), noinline)) void *wrapped_malloc(size_t size)
{
	void *block = keep(malloc(size));

	return keep(block);
}

static uintptr_t once(const char *path, const char *function)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *(*call)(void);
	struct link_map *map;
	uintptr_t base;

	CHECK(library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
	base = map->l_addr;
	*(void **)&call = dlsym(library, function);
	CHECK(call);
	free(call());
	CHECK(dlclose(library) == 0);
	return base;
}

int main(int argc, char **argv)
{
	int rounds, same = 0;

	CHECK(argc == 4);
	rounds = atoi(argv[3]);
	track(".", 0, 0);
	for (int i = 0; i < rounds; i++)
		same += once(argv[1], "first_plugin") == once(argv[2], "second_plugin");
	untrack();
	printf("same=%d\n", same);
	return 0;
}
