/* SPDX-License-Identifier: MIT
 *
 * Calls each function of the allocator, whichever that is, and says in which file the block's malloc lies; checks what it gets. */
#include <dlfcn.h>
#include <malloc.h>

#include "program.h"

#define ROUNDS 50

/* The file of the allocator, by a function that only that one has. */
static const char *home(void)
{
	static const char *const names[] = {"tc_malloc", "mallctl", "mi_malloc"};
	Dl_info info;

	for (int i = 0; i < 3; i++)
		if (dladdr(dlsym(RTLD_DEFAULT, names[i]), &info))
			return info.dli_fname;
	return "the C library";
}

int main(void)
{
	void *p;

	for (int i = 0; i < ROUNDS; i++) {
		p = keep(malloc(8009));
		CHECK(p);
		if (i >= 10)
			free(p);
		p = keep(calloc(1, 8011));
		CHECK(p && ((char *)p)[8010] == 0 && malloc_usable_size(p) >= 8011);
		free(p);
		p = keep(realloc(keep(malloc(10)), 8017));
		CHECK(p && malloc_usable_size(p) >= 8017);
		free(p);
		CHECK(posix_memalign(&p, 256, 8039) == 0 && (uintptr_t)p % 256 == 0);
		free(p);
		p = keep(aligned_alloc(64, 8064));
		CHECK(p && (uintptr_t)p % 64 == 0);
		free(p);
		p = keep(memalign(128, 8053));
		CHECK(p && (uintptr_t)p % 128 == 0);
		free(p);
	}
	puts(home());
	return 0;
}
