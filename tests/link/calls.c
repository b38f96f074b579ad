/* SPDX-License-Identifier: MIT
 *
 * Each function that Rheaper intercepts, called from a function that is named after it. check.py knows how often. Everything is freed. */
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include <rheaper.h>

#define SITE __attribute__((noinline, used)) static void

/* What the compiler cannot see through. */
static void *volatile kept, *volatile none;
static volatile size_t large = SIZE_MAX / 2;
static const char *volatile text = "some text that is copied";
static const wchar_t *volatile wide = L"wide text";
static FILE *lines;

static void end(void *block)
{
	kept = block;
	free(kept);
}

SITE from_malloc(void)
{
	for (int i = 0; i < 3; i++)
		end(malloc(100));
	kept = malloc(large);
	end(NULL);
}

SITE from_calloc(void)
{
	end(calloc(3, 7));
	kept = calloc(large, 3);
}

SITE from_realloc(void)
{
	kept = realloc(none, 10);
	kept = realloc(kept, 100000);
	if (realloc(kept, large))
		abort();
	end(realloc(kept, 0)); /* nothing, or a new block: allocators differ */
}

SITE from_reallocarray(void)
{
	kept = reallocarray(none, 10, 10);
	if (reallocarray(kept, large, 3))
		abort();
	kept = reallocarray(kept, 20, 10);
	end(kept);
}

SITE from_posix_memalign(void)
{
	void *block = NULL;

	if (posix_memalign(&block, 3, 10) != EINVAL || posix_memalign(&block, 64, 10) != 0)
		abort();
	end(block);
}

SITE from_aligned(void)
{
	end(aligned_alloc(64, 128));
	end(memalign(64, 100));
	end(valloc(100));
	end(pvalloc(100));
}

SITE from_strings(void)
{
	end(strdup(text));
	end(strndup(text, 4));
	end(wcsdup(wide));
}

SITE from_vasprintf(const char *format, ...)
{
	va_list arguments;
	char *result;

	va_start(arguments, format);
	if (vasprintf(&result, format, arguments) < 0)
		abort();
	va_end(arguments);
	end(result);
}

SITE from_asprintf(void)
{
	char *result;

	if (asprintf(&result, "%s", text) < 0)
		abort();
	end(result);
	if (asprintf(&result, "%2000s", text) != 2000)
		abort();
	end(result);
}

/* Three lines: the block is made by the first, stays for the second and grows for the third. */
SITE from_getline(void)
{
	char *line = NULL;
	size_t size = 0;

	if (getline(&line, &size, lines) != 4 || getline(&line, &size, lines) != 4 || getline(&line, &size, lines) != 1001)
		abort();
	end(line);
}

SITE from_getdelim(void)
{
	char *line = NULL;
	size_t size = 0;

	if (getdelim(&line, &size, ';', lines) != 4)
		abort();
	end(line);
}

SITE from_paths(void)
{
	char buffer[4096];

	end(realpath("/usr/../usr", NULL));
	end(getcwd(NULL, 0));
	end(getcwd(NULL, 5000));
	if (!realpath("/usr", buffer) || !getcwd(buffer, sizeof buffer) || realpath("/does not exist", NULL))
		abort();
}

SITE from_others(void)
{
	end(canonicalize_file_name("/usr/../usr"));
	end(get_current_dir_name());
	end(tempnam("/tmp", "name"));
}

static FILE *make_lines(void)
{
	FILE *file = tmpfile();

	if (!file)
		abort();
	fprintf(file, "one\ntwo\n%1000d\nabc;def", 1);
	rewind(file);
	setvbuf(file, NULL, _IONBF, 0);
	return file;
}

int main(int argc, char **argv)
{
	lines = make_lines();
	if (argc != 2)
		return 2;
	rheaper_config config = RHEAPER_CONFIG_INIT;
	config.profile_dir = argv[1];
	if (rheaper_enable_tracking(&config, NULL, 0) != 0)
		return 3;
	from_malloc();
	from_calloc();
	from_realloc();
	from_reallocarray();
	from_posix_memalign();
	from_aligned();
	from_strings();
	from_vasprintf("%d and %s", 3, text);
	from_asprintf();
	from_getline();
	from_getdelim();
	from_paths();
	from_others();
	if (rheaper_disable_tracking() != 0)
		return 4;
	fclose(lines);
	return 0;
}
