/* SPDX-License-Identifier: MIT
 *
 * The profile directory and its manifest (format.h). Not on the event path: called by enable and disable only, one caller at a time.
 */
#ifndef RH_LOG_DIRECTORY_H
#define RH_LOG_DIRECTORY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "rheaper.h"

/* Longest file name in a profile, with the slash before it. */
#define RH_FILE_NAME_MAX 32

/* Bytes that the path of a file in a profile may take. */
#define RH_PATH_SCRATCH (PATH_MAX + RH_FILE_NAME_MAX)

/* Makes the next unused rip-<pid>[.n] below parent (NULL or "": the current directory), mode 0700, and stores its absolute path.
 * size must be at least RH_FILE_NAME_MAX more than what the path may need. Returns 0 or an enum rheaper_error. */
int rh_directory_make(const char *parent, char *path, size_t size);

/* Removes a profile that could not be started: its files and itself. */
void rh_directory_remove(const char *path);

/* What the manifest says about the session; the process speaks for itself. */
struct rh_manifest {
	const char *frontend;
	const char *backend;
	const char *clock;
	uint64_t start_ticks, start_monotonic, start_realtime;
	int64_t parent;          /* process id: the parent's, or of the nearest ancestor that records */
	const char *parent_profile; /* that ancestor's profile, or NULL */
	const rheaper_config *config;
	bool no_arguments;       /* of the command line, keep only the program's name */
};

/* Writes the manifest. Returns 0 or an enum rheaper_error. */
int rh_manifest_write(const char *directory, const struct rh_manifest *manifest);

/* Appends that tracking was switched off in order. Best effort. */
void rh_manifest_end(const char *directory, uint64_t end_ticks, uint64_t end_monotonic);

#endif
