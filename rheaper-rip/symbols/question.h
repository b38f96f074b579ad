/* SPDX-License-Identifier: MIT
 *
 * Names for many addresses of many modules. The files that give them are untrusted, and libraries read them that were not written for
 * that: so worker processes do it. One that crashes, loops or devours memory costs its module the names that it had not told yet; the
 * module is tried once more by its symbol tables alone, by the worker's successor.
 */
#ifndef SYMBOLS_QUESTION_H
#define SYMBOLS_QUESTION_H

#include "progress.h"
#include "symbols/strings.h"
#include "symbols/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOLS_FRAMES_MAX 64 /* functions of one place; deeper inlining loses its outermost */

/* One module's addresses, and the answer. */
struct symbols_question {
	/* The asker's, as for symbols_module and symbols_lookup. */
	const char *path;
	const void *build_id;
	size_t build_id_size;
	const uint64_t *addresses;
	size_t count;

	/* The answer; NULL and 0 before. Address i has the frames [first[i], first[i + 1]), at least one. */
	struct symbols_frame *frames;
	size_t *first; /* count + 1 of them */
	const char *status, *reason, *debug_file; /* as symbols_status, symbols_reason and symbols_debug_file tell; all strings are kept where the
						     asker said */
	size_t named[SYMBOLS_SOURCES];		  /* how many addresses whom owe the name of the function that was really called */

	/* While it is asked. */
	size_t frame_count, frame_room, answered;
	const char *reading; /* the file whose debug information the worker turned to last */
	const char *death;   /* how a worker died of it */
	bool no_dwarf;	     /* one did already */
};

/* What a worker may use before it is given up. 0: the usual. */
struct symbols_limits {
	unsigned cpu_seconds; /* without an answer; usually 60 */
	size_t memory;	      /* bytes of address space beyond what it began with; usually half of the machine's memory, and at least 1 GiB */
	unsigned workers;     /* at a time; usually one a processor when there is much to do, at most 4 */
};

/* Answers all questions, of which each must be about another file; strings of answers are kept in strings. limits and progress (which counts
 * addresses) may be NULL. When no process can be started the answers are empty, with that as the reason. False when memory is out;
 * symbols_questions_free, which frees the answers, in both cases. The caller must have no other threads, and no child that it did not wait for by its pid. */
bool symbols_ask(struct symbols_question *questions, size_t count, const struct symbols_options *options, const struct symbols_limits *limits,
		 struct symbols_strings *strings, struct progress *progress);

void symbols_questions_free(struct symbols_question *questions, size_t count);

#endif
