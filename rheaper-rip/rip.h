/* SPDX-License-Identifier: MIT
 *
 * The main job: profile directories in, one database out.
 */
#ifndef RIP_H
#define RIP_H

#include "fault.h"
#include "progress.h"
#include "symbols/symbols.h"

#include <stdbool.h>
#include <stddef.h>

struct rip_options {
	const char *const *directories;
	size_t count;			       /* at least 1 */
	const char *database;		       /* made anew */
	bool force;			       /* replace a file that is there */
	const struct symbols_options *symbols; /* NULL: leave the names out */
	bool keep_going;		       /* leave out directories that cannot be read, with a warning */
	/* Each is told lines without their newlines; may be NULL. */
	void (*warn)(const char *text);	   /* everything that is odd but no failure */
	void (*account)(const char *text); /* at the end: what came of it */
	struct progress *progress;	   /* shown meanwhile; may be NULL */
};

/* 0, or -1 with fault filled. The database appears whole or not at all (output.h). */
int rip_run(const struct rip_options *options, struct fault *fault);

#endif
