/* SPDX-License-Identifier: MIT
 *
 * Each intercepted function leaves errno and the floating-point environment (rounding, exceptions, control words, MXCSR) as they were, also
 * when a chunk is written in between: a chunk holds one event here. */
#include <errno.h>
#include <fenv.h>
#include <limits.h>
#include <malloc.h>
#include <wchar.h>

#include "program.h"

static unsigned mxcsr(void)
{
	unsigned value = 0;

#ifdef __x86_64__
	__asm__ volatile("stmxcsr %0" : "=m"(value));
#endif
	return value;
}

static unsigned short x87(void)
{
	unsigned short value = 0;

#ifdef __x86_64__
	__asm__ volatile("fnstcw %0" : "=m"(value));
#endif
	return value;
}

static unsigned before_mxcsr;
static unsigned short before_x87;

static void before(void)
{
	fesetround(FE_UPWARD);
	feclearexcept(FE_ALL_EXCEPT);
	feraiseexcept(FE_INEXACT | FE_DIVBYZERO);
	before_mxcsr = mxcsr();
	before_x87 = x87();
	errno = 77;
}

static void after(const char *name)
{
	int error = errno;

	if (error != 77 || mxcsr() != before_mxcsr || x87() != before_x87 || fegetround() != FE_UPWARD ||
	    fetestexcept(FE_ALL_EXCEPT) != (FE_INEXACT | FE_DIVBYZERO)) {
		dprintf(2, "%s changed the environment: errno %d, mxcsr %x (was %x)\n", name, error, mxcsr(), before_mxcsr);
		_exit(99);
	}
}

#define UNTOUCHED(statement)       \
	do {                       \
		before();          \
		statement;         \
		after(#statement); \
	} while (0)

int main(void)
{
	char *text = NULL, *line = NULL, *path = NULL;
	size_t size = 0;
	wchar_t *wide = NULL;
	void *block = NULL;
	FILE *file = fopen("lines", "w+");

	CHECK(file && fputs("one\ntwo,three\n", file) >= 0);
	rewind(file);
	track(".", 0, 1);
	for (int i = 0; i < 50; i++) {
		UNTOUCHED(block = keep(malloc(100)));
		UNTOUCHED(block = keep(realloc(block, 100000)));
		UNTOUCHED(free(block));
		UNTOUCHED(block = keep(calloc(10, 10)));
		UNTOUCHED(block = keep(reallocarray(block, 20, 20)));
		UNTOUCHED(free(block));
		UNTOUCHED(CHECK(posix_memalign(&block, 64, 100) == 0));
		UNTOUCHED(CHECK(malloc_usable_size(block) >= 100));
		UNTOUCHED(free(block));
		UNTOUCHED(block = keep(aligned_alloc(64, 128)));
		UNTOUCHED(free(block));
		UNTOUCHED(block = keep(memalign(64, 128)));
		UNTOUCHED(free(block));
		UNTOUCHED(block = keep(valloc(10)));
		UNTOUCHED(free(block));
		UNTOUCHED(block = keep(pvalloc(10)));
		UNTOUCHED(free(block));
		UNTOUCHED(text = keep(strdup("text")));
		UNTOUCHED(free(text));
		UNTOUCHED(text = keep(strndup("text", 2)));
		UNTOUCHED(free(text));
		UNTOUCHED(wide = keep(wcsdup(L"text")));
		UNTOUCHED(free(wide));
		UNTOUCHED(CHECK(asprintf(&text, "%d", i) > 0));
		UNTOUCHED(free(text));
		UNTOUCHED(path = getcwd(NULL, 0));
		UNTOUCHED(free(path));
		UNTOUCHED(rheaper_mark("mark"));
		UNTOUCHED(rheaper_report_alloc(&size, 8));
		UNTOUCHED(rheaper_report_realloc(&size, &line, 16));
		UNTOUCHED(rheaper_report_free(&line));
	}
	UNTOUCHED(CHECK(getline(&line, &size, file) == 4));
	UNTOUCHED(CHECK(getdelim(&line, &size, ',', file) == 4));
	UNTOUCHED(CHECK((path = realpath(".", NULL)) != NULL));
	UNTOUCHED(rheaper_disable_tracking());
	UNTOUCHED(rheaper_tracking_enabled());
	puts("ok");
	return 0;
}
