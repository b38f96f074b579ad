/* SPDX-License-Identifier: MIT
 *
 * The first and the last allocations of a process: in the resolvers of IFUNCs, in the preinit array, in constructors; in destructors of the program and of
 * a library that ends after it. With LIBRARY defined it is that library. */
#include <malloc.h>

#include "program.h"

#ifdef LIBRARY

/* The resolver runs while the loader relocates this library: before it relocates any that is preloaded. */
static void *before_relocation, *freed_later, *grown_later;

static int answer(void)
{
	return 42;
}

static int (*resolve_library(void))(void)
{
	before_relocation = keep(malloc(5003));
	freed_later = keep(calloc(1, 5009));
	grown_later = keep(malloc(5011));
	memcpy(grown_later, "content", 8);
	free(keep(malloc(5021)));
	return answer;
}

int library_answer(void) __attribute__((ifunc("resolve_library")));

void library_check(void);
void library_check(void)
{
	char *grown = keep(realloc(grown_later, 5023));

	CHECK(before_relocation && freed_later && grown);
	CHECK(strcmp(grown, "content") == 0);
	CHECK(malloc_usable_size(before_relocation) >= 5003);
	free(freed_later);
	free(grown);
}

static __attribute__((constructor(101))) void begin_library(void)
{
	keep(malloc(5039));
}

static __attribute__((destructor(101))) void end_library(void)
{
	free(keep(malloc(5051)));
	keep(malloc(5059));
}

#else

int library_answer(void);
void library_check(void);

static int own_answer(void)
{
	return 43;
}

static int (*resolve_own(void))(void)
{
	keep(malloc(5077));
	return own_answer;
}

int program_answer(void) __attribute__((ifunc("resolve_own")));

static void before_everything(void)
{
	free(keep(malloc(5081)));
}
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = before_everything;

static __attribute__((constructor(101))) void begin(void)
{
	keep(malloc(5087));
}

static __attribute__((destructor(101))) void end(void)
{
	keep(malloc(5099));
}

int main(void)
{
	CHECK(library_answer() == 42);
	CHECK(program_answer() == 43);
	library_check();
	puts("ok");
	return 0;
}

#endif
