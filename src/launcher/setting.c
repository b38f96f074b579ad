/* SPDX-License-Identifier: MIT
 *
 * The environment of the program.
 */
#include "config.h"

#include "launcher/setting.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/environment.h"

#define DEBUG_LIBRARY "libc_malloc_debug.so.0"

/* Limits of rheaper.h. */
static bool is_in_range(const struct rh_environment *e)
{
	const rheaper_config *config = &e->config;

	return config->max_stack_depth >= 1 && config->max_stack_depth <= 4096 && config->max_trackers >= 1 &&
	       config->max_trackers <= 4096 && config->tracker_event_buffer_size >= 1 && config->tracker_event_buffer_size <= 65536;
}

bool setting_put(const char *option, const char *name, const char *value)
{
	static struct rh_environment taken = {.config = RHEAPER_CONFIG_INIT};
	const char *bad;
	char *string;

	if (asprintf(&string, "%s=%s", name, value) < 0) {
		fputs("rheaper: out of memory\n", stderr);
		return false;
	}
	if (rh_environment_take(&taken, string, &bad) || !is_in_range(&taken)) {
		fprintf(stderr, "rheaper: %s %s: not a valid value\n", option, value);
		free(string);
		return false;
	}
	putenv(string); /* which keeps it */
	return true;
}

/* The directory of this program's file, with a slash. */
static bool own_directory(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		slash[1] = '\0';
	return slash != NULL;
}

const char *setting_library(const char *name, char *path, size_t size)
{
	char file[2 * PATH_MAX], directory[PATH_MAX];

	*path = '\0';
	if (own_directory(directory, sizeof directory)) {
		snprintf(file, sizeof file, "%s" LIBRARY_FROM_HERE "/%s", directory, name);
		if (!realpath(file, path))
			*path = '\0';
	}
	if (!*path)
		snprintf(path, size, LIBRARY_DIRECTORY "/%s", name);
	if (access(path, R_OK) != 0) {
		fprintf(stderr, "rheaper: %s: %s\n", path, strerror(errno));
		return NULL;
	}
	if (strpbrk(path, " :")) { /* ld.so(8), LD_PRELOAD */
		fprintf(stderr, "rheaper: %s: the loader takes no library from a path with a space or a colon\n", path);
		return NULL;
	}
	return path;
}

const char *setting_debug_library(void)
{
	void *handle;

	if (strtoul(gnu_get_libc_version() + 2, NULL, 10) < 34)
		return ""; /* 2.33 and before call hooks themselves */
	handle = dlopen(DEBUG_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
	if (!handle) {
		fprintf(stderr, "rheaper: %s is not installed, and without it nobody calls malloc hooks; leave out --hooks\n", DEBUG_LIBRARY);
		return NULL;
	}
	dlclose(handle);
	return DEBUG_LIBRARY;
}

bool setting_preload(const char *libraries)
{
	const char *before = getenv("LD_PRELOAD");
	char *string;

	if (asprintf(&string, "LD_PRELOAD=%s%s%s", libraries, before && *before ? ":" : "", before ? before : "") < 0) {
		fputs("rheaper: out of memory\n", stderr);
		return false;
	}
	putenv(string);
	return true;
}

const char *setting_beside(const char *name, char *path, size_t size)
{
	if (own_directory(path, size) && strlen(path) + strlen(name) < size && access(strcat(path, name), X_OK) == 0)
		return path;
	return name;
}
