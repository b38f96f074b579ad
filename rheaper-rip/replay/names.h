/* SPDX-License-Identifier: MIT
 *
 * What the stacks are called: the functions behind each frame, and the backtraces that people see. The C++ library's own operator new
 * is no frame of interest when it is innermost: it is dropped, and says that the call was `new`.
 */
#ifndef REPLAY_NAMES_H
#define REPLAY_NAMES_H

#include "fault.h"
#include "replay/world.h"
#include "symbols/question.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One function of a frame: inlined ones first, the one that really was called last. */
struct replay_location {
	const char *function, *file; /* NULL: unknown. Owned by strings. */
	const char *linkage;	     /* NULL: the same as function */
	unsigned line;		     /* 0: unknown */
	uint32_t frame;
	bool inlined; /* into the next one */
	uint8_t source; /* enum symbols_source */
};

struct replay_backtrace {
	uint32_t node;
	uint32_t
	    user_frame; /* number, inlined ones counted, of the innermost frame outside libc, the C++ library and the allocator; else 0 */
};

#define REPLAY_SAME_CALL UINT8_MAX

struct replay_names {
	bool wanted; /* symbols were */
	struct symbols_strings strings;
	struct symbols_question *questions; /* one a file, answered */
	size_t question_count;
	uint64_t *addresses;   /* that the questions are about */
	uint32_t *question_of; /* by number of a module over all processes; UINT32_MAX: nothing was looked up in it */
	struct replay_location *locations;
	size_t location_count, location_capacity;
	size_t *first_location;		     /* by frame: its locations are [first_location[frame], first_location[frame + 1]) */
	struct replay_backtrace *backtraces; /* number n is bt n + 1 */
	size_t backtrace_count, backtrace_capacity;
	size_t node_count;
	uint32_t *bt;  /* by node; 0: no allocation has that stack */
	uint8_t *call; /* by node: enum rh_call that the dropped frames tell, or REPLAY_SAME_CALL */
};

/* Names all frames, and numbers the backtraces of the nodes where `used` is 1. options NULL: leaves out symbols. 0, or -1 with fault
 * filled; to be freed in both cases. */
int replay_names_find(struct replay_names *names, const struct replay_world *world, const uint8_t *used,
		      const struct symbols_options *options, struct fault *fault);

/* The search for names in a module's file; NULL when there was none. */
const struct symbols_question *replay_names_question(const struct replay_names *names, uint32_t module);

void replay_names_free(struct replay_names *names);

#endif
