/* SPDX-License-Identifier: MIT
 *
 * The program that is to be started: which file it is, and whether a preloaded library can record it.
 */
#ifndef RH_LAUNCHER_PROGRAM_H
#define RH_LAUNCHER_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* Where a name leads to, as execvp(3) has it: a name without a slash is looked for in PATH. Returns 0 and an allocated path, else an errno:
 * ENOENT, or what the nearest candidate failed with. */
int program_find(const char *name, char **path);

/* What is wrong with a program, for a person: one sentence, and what to do instead or "". */
struct program_fault {
	char reason[PATH_MAX + 256];
	const char *advice;
};

/* Whether it can be recorded through LD_PRELOAD. For a script that is its interpreter's matter. False: *fault says why not; a file that cannot be
 * judged (unreadable, or of no known kind) is left to the kernel's verdict. */
bool program_is_recordable(const char *path, struct program_fault *fault);

#endif
