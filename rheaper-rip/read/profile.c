/* SPDX-License-Identifier: MIT
 *
 * Opens a profile and frees it.
 */
#include "config.h"

#include "read/profile.h"

#include "read/survey.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_directory(struct read_profile *profile, const char *directory, struct fault *fault)
{
	char *path;
	struct stat st;
	int result;

	if (stat(directory, &st))
		return fault_errno(fault, directory);
	if (!S_ISDIR(st.st_mode))
		return fault_set(fault, directory, FAULT_NOWHERE, "not a profile: not a directory");
	if (asprintf(&path, "%s/%s", directory, RH_FILE_MANIFEST) < 0)
		return fault_memory(fault);
	if (access(path, F_OK) && errno == ENOENT)
		result = fault_set(fault, directory, FAULT_NOWHERE, "not a profile: it has no file %s", RH_FILE_MANIFEST);
	else
		result = read_manifest_load(&profile->manifest, path, fault);
	free(path);
	return result;
}

static int start_clock(struct read_profile *profile, struct fault *fault)
{
	const char *kind = read_manifest_text(&profile->manifest, "clock");
	struct read_clock *clock = &profile->clock;

	if (!kind || (strcmp(kind, "monotonic") && strcmp(kind, "tsc")))
		return fault_set(fault, profile->directory, FAULT_NOWHERE, "the manifest names no clock that is known here: %.40s",
				 kind ? kind : "none at all");
	clock->tsc = !strcmp(kind, "tsc");
	clock->start_ticks = read_manifest_number(&profile->manifest, "start_ticks", 0);
	clock->start_monotonic = read_manifest_number(&profile->manifest, "start_monotonic", 0);
	if (read_manifest_find(&profile->manifest, "start_ticks") && !read_clock_add(clock, clock->start_ticks, clock->start_monotonic))
		return fault_memory(fault);
	if (read_manifest_find(&profile->manifest, "end_ticks") && read_manifest_find(&profile->manifest, "end_monotonic") &&
	    !read_clock_add(clock, read_manifest_number(&profile->manifest, "end_ticks", 0),
			    read_manifest_number(&profile->manifest, "end_monotonic", 0)))
		return fault_memory(fault);
	return 0;
}

int read_profile_read(struct read_profile *profile, const char *directory, struct progress *progress, struct fault *fault)
{
	memset(profile, 0, sizeof *profile);
	profile->directory = strdup(directory);
	if (!profile->directory)
		return fault_memory(fault);
	for (size_t n = strlen(directory); n > 1 && profile->directory[n - 1] == '/'; n--)
		profile->directory[n - 1] = '\0';
	if (open_directory(profile, profile->directory, fault) || start_clock(profile, fault) ||
	    read_chunks_find(&profile->chunks, profile->directory, fault))
		return -1;
	return read_survey(profile, progress, fault);
}

static void keep_it(void *node)
{
	(void)node; /* owned by profile->threads */
}

void read_profile_close(struct read_profile *profile)
{
	tdestroy(profile->thread_tree, keep_it);
	for (size_t i = 0; i < profile->thread_count; i++) {
		free(profile->threads[i]->name);
		free(profile->threads[i]);
	}
	for (size_t i = 0; i < profile->mark_count; i++)
		free(profile->marks[i].name);
	for (size_t i = 0; i < profile->module_count; i++) {
		free(profile->modules[i].path);
		free(profile->modules[i].build_id);
	}
	free(profile->threads);
	free(profile->marks);
	free(profile->rss);
	free(profile->modules);
	read_clock_free(&profile->clock);
	read_chunks_free(&profile->chunks);
	read_manifest_free(&profile->manifest);
	free(profile->directory);
	memset(profile, 0, sizeof *profile);
}

bool read_profile_truncated(const struct read_profile *profile)
{
	return profile->chunks.damaged || profile->chunks.cut || !profile->chunks.rings;
}
