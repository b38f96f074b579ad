/* SPDX-License-Identifier: MIT
 *
 * The profiles that make one database: on one time line, which begins with the earliest of them, and with numbers that are unique
 * over all of them.
 */
#ifndef REPLAY_WORLD_H
#define REPLAY_WORLD_H

#include "fault.h"
#include "read/profile.h"
#include "replay/modules.h"
#include "replay/stacks.h"

#include <stddef.h>
#include <stdint.h>

struct replay_process {
	struct read_profile profile;
	int64_t offset;	       /* ns from the world's beginning to this profile's */
	uint32_t first_thread; /* number of its thread 0 */
	double weight;	       /* how many allocations one that was recorded stands for */
	struct replay_process_modules modules;
	struct replay_frame_cache *cache;
};

struct replay_world {
	struct replay_process *processes;
	size_t count;
	struct replay_stacks stacks;
	uint32_t thread_count, module_count;
	uint64_t events; /* in all profiles */
	int64_t end;	 /* ns: when the last of them ended */
	bool sampled;	 /* some weight is not 1 */
};

/* Opens the profiles in `directories`. 0, or -1 with fault filled; to be closed in both cases. */
int replay_world_open(struct replay_world *world, const char *const *directories, size_t count, struct fault *fault);
void replay_world_close(struct replay_world *world);

/* A module by its number, and the process of a thread. */
const struct replay_module *replay_world_module(const struct replay_world *world, uint32_t number);
const struct read_thread *replay_world_thread(const struct replay_world *world, uint32_t number, uint32_t *process);

#endif
