/* SPDX-License-Identifier: MIT
 *
 * A file that appears whole or not at all. It grows beside its target, under the name <target>.tmp-<pid>, and takes the target's name when
 * it is complete and on disk.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "fault.h"

#include <stdbool.h>

struct output {
	const char *target;
	char *temporary; /* what is written meanwhile */
	bool force;	 /* replace a file that is there */
};

/* Makes the temporary file, empty. Refuses a target that is there, unless forced, and a directory. target must stay. One output at a time:
 * see output_unfinished. 0, or -1 with fault filled; to be closed in both cases. */
int output_start(struct output *output, const char *target, bool force, struct fault *fault);

/* Gives the finished file its name, for good. 0, or -1 with fault filled. */
int output_publish(struct output *output, struct fault *fault);

/* Removes what has not been published. */
void output_close(struct output *output);

/* The file under construction, to be unlinked by a signal handler that ends the process; NULL while there is none. */
extern const char *volatile output_unfinished;

#endif
