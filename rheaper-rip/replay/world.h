/* SPDX-License-Identifier: MIT
 *
 * The profiles that make one database: on one time line, which begins with the earliest of them, and with numbers that are unique
 * over all of them.
 */
#ifndef REPLAY_WORLD_H
#define REPLAY_WORLD_H

#include "fault.h"
#include "progress.h"
#include "read/profile.h"
#include "replay/modules.h"
#include "replay/stacks.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum replay_life { REPLAY_UNKNOWN, REPLAY_DISABLED, REPLAY_EXITED, REPLAY_EXECED, REPLAY_KILLED };

struct replay_process {
	struct read_profile profile;
	int64_t offset;	       /* ns from the world's beginning to this profile's */
	uint32_t first_thread; /* number of its thread 0 */
	enum replay_life ended;
	const struct replay_process *parent; /* if its profile is one of those given, else NULL */
	double weight;			     /* how many allocations one that was recorded stands for, whatever its size; */
	double interval;		     /* or, if not 0, mean bytes between two samples: see replay_weight */
	struct replay_process_modules modules;
	struct replay_frame_cache cache;
};

struct replay_world {
	struct replay_process *processes;
	size_t count;
	struct replay_stacks stacks;
	uint32_t thread_count, module_count;
	uint64_t events;	   /* in all profiles */
	int64_t end;		   /* ns: when the last of them ended */
	bool sampled;		   /* not all that happened was recorded */
	struct progress *progress; /* may be NULL */
};

/* Opens profiles: start with room for so many, add each, settle. 0, or -1 with fault filled; to be closed in every case. A profile that
 * could not be added leaves the world as it was. */
int replay_world_start(struct replay_world *world, size_t capacity, struct progress *progress, struct fault *fault);
int replay_world_add(struct replay_world *world, const char *directory, struct fault *fault);
int replay_world_settle(struct replay_world *world, struct fault *fault);
void replay_world_close(struct replay_world *world);

/* How many allocations of `size` bytes one that was recorded stands for: one by the probability that it was recorded. So sums of weights and of
 * weighted sizes are right on the average. By bytes that is the probability that a Poisson process with one point in `interval` bytes has a
 * point in size bytes, of which there is at least one. */
static inline double replay_weight(const struct replay_process *process, uint64_t size)
{
	if (__builtin_expect(process->interval == 0, 1))
		return process->weight;
	return -1 / expm1(-(double)(size ? size : 1) / process->interval);
}

/* A module by its number, and the process of a thread. */
const struct replay_module *replay_world_module(const struct replay_world *world, uint32_t number);
const struct read_thread *replay_world_thread(const struct replay_world *world, uint32_t number, uint32_t *process);

#endif
