/* SPDX-License-Identifier: MIT
 *
 * Which file lay behind an address at a time. A library may go and another, or the same, come at the same place: each stay is
 * an instance of its own.
 */
#ifndef REPLAY_MODULES_H
#define REPLAY_MODULES_H

#include "fault.h"
#include "read/profile.h"

#include <stddef.h>
#include <stdint.h>

#define REPLAY_NO_MODULE UINT32_MAX

struct replay_module {
	uint32_t process;
	uint64_t base, start, end;
	const char *path; /* owned by the profile */
	const uint8_t *build_id;
	size_t build_id_size;
	int64_t loaded, unloaded; /* ns; unloaded is INT64_MAX if it stayed */
	uint32_t from_epoch, until_epoch;
};

/* The modules of one process. An epoch is the time between two changes of the list: epoch 0 lies before the first change. */
struct replay_process_modules {
	struct replay_module *modules; /* by start, then by loaded */
	uint64_t *highest;	       /* of all ends up to here */
	size_t count, capacity;
	int64_t *changes; /* times; epoch n begins at changes[n - 1] */
	size_t change_count;
	uint32_t first; /* number of modules[0] over all processes */
};

/* From the records of a profile whose times are to be moved by offset ns. 0, or -1 with fault filled; to be freed in both cases. */
int replay_modules_build(struct replay_process_modules *modules, const struct read_profile *profile, uint32_t process, int64_t offset,
			 uint32_t first, struct fault *fault);
void replay_modules_free(struct replay_process_modules *modules);

/* The epoch of a time. *hint is an epoch near it. */
uint32_t replay_modules_epoch(const struct replay_process_modules *modules, int64_t time, uint32_t *hint);

/* The number over all processes of the module at an address in an epoch, or REPLAY_NO_MODULE. When none was known then, the next one that
 * was found there: a library allocates in its constructor, before anyone notices it. The answer holds until *until_epoch (exclusive). */
uint32_t replay_modules_at(const struct replay_process_modules *modules, uint64_t address, uint32_t epoch, uint32_t *until_epoch);

#endif
