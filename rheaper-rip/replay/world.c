/* SPDX-License-Identifier: MIT
 *
 * Opens several profiles as one.
 */
#include "config.h"

#include "replay/world.h"

#include "replay/live.h"
#include "replay/lives.h"

#include <stdlib.h>
#include <string.h>

#define TIME_LINE_MAX (INT64_C(1) << 58) /* ns between the starts of two profiles: more is nonsense */

static const char *boot_of(const struct replay_process *process)
{
	const char *boot = read_manifest_text(&process->profile.manifest, "boot_id");

	return boot ? boot : "";
}

static uint64_t number_of(const struct replay_process *process, const char *key)
{
	return read_manifest_number(&process->profile.manifest, key, 0);
}

/* Places the processes on the time line: by CLOCK_MONOTONIC within one boot of one machine, which no one sets; else by the wall clock. */
static void place(struct replay_world *world)
{
	const struct replay_process *first = &world->processes[0];

	for (size_t i = 1; i < world->count; i++)
		if (number_of(&world->processes[i], "start_realtime") < number_of(first, "start_realtime"))
			first = &world->processes[i];
	for (size_t i = 0; i < world->count; i++) {
		struct replay_process *process = &world->processes[i];
		const char *key = *boot_of(first) && !strcmp(boot_of(first), boot_of(process)) ? "start_monotonic" : "start_realtime";
		uint64_t mine = number_of(process, key), base = number_of(first, key);

		process->offset = mine <= base ? 0 : mine - base > (uint64_t)TIME_LINE_MAX ? TIME_LINE_MAX : (int64_t)(mine - base);
		if (process->offset + process->profile.end > world->end)
			world->end = process->offset + process->profile.end;
	}
}

static int number(struct replay_world *world, struct fault *fault)
{
	for (size_t i = 0; i < world->count; i++) {
		struct replay_process *process = &world->processes[i];
		double rate = read_manifest_real(&process->profile.manifest, "sample_rate", 1);
		uint64_t interval = number_of(process, "sample_interval");

		process->weight = rate > 0 && rate < 1 ? 1 / rate : 1;
		process->interval = interval > 1 ? (double)interval : 0; /* each byte: everything */
		world->sampled |= process->weight != 1 || process->interval != 0;
		world->events += process->profile.events;
		process->first_thread = world->thread_count;
		if (process->profile.thread_count > READ_NO_THREAD - 1 - (size_t)world->thread_count)
			return fault_set(fault, process->profile.directory, FAULT_NOWHERE, "too many threads");
		world->thread_count += (uint32_t)process->profile.thread_count;
		if (replay_modules_build(&process->modules, &process->profile, (uint32_t)i, process->offset, world->module_count, fault))
			return -1;
		if (process->modules.count > REPLAY_NO_MODULE - 1 - (size_t)world->module_count)
			return fault_set(fault, process->profile.directory, FAULT_NOWHERE, "too many modules");
		world->module_count += (uint32_t)process->modules.count;
	}
	return 0;
}

int replay_world_start(struct replay_world *world, size_t capacity, struct progress *progress, struct fault *fault)
{
	memset(world, 0, sizeof *world);
	world->progress = progress;
	if (capacity >= 1u << (REPLAY_HEAP_BITS - 1))
		return fault_set(fault, "profiles", FAULT_NOWHERE, "%zu are too many at once", capacity);
	world->processes = calloc(capacity, sizeof *world->processes);
	if (!world->processes || !replay_stacks_init(&world->stacks))
		return fault_memory(fault);
	return 0;
}

int replay_world_add(struct replay_world *world, const char *directory, struct fault *fault)
{
	struct replay_process *process = &world->processes[world->count];

	if (read_profile_read(&process->profile, directory, world->progress, fault)) {
		read_profile_close(&process->profile);
		return -1;
	}
	world->count++;
	return 0;
}

int replay_world_settle(struct replay_world *world, struct fault *fault)
{
	place(world);
	if (!replay_lives_find(world))
		return fault_memory(fault);
	return number(world, fault);
}

void replay_world_close(struct replay_world *world)
{
	for (size_t i = 0; i < world->count; i++) {
		replay_modules_free(&world->processes[i].modules);
		read_profile_close(&world->processes[i].profile);
		replay_frame_cache_free(&world->processes[i].cache);
	}
	free(world->processes);
	replay_stacks_free(&world->stacks);
	memset(world, 0, sizeof *world);
}

const struct replay_module *replay_world_module(const struct replay_world *world, uint32_t number)
{
	for (size_t low = 0, high = world->count; low < high;) {
		size_t middle = low + (high - low) / 2;
		const struct replay_process_modules *modules = &world->processes[middle].modules;

		if (number < modules->first)
			high = middle;
		else if (number - modules->first >= modules->count)
			low = middle + 1;
		else
			return &modules->modules[number - modules->first];
	}
	return NULL;
}

const struct read_thread *replay_world_thread(const struct replay_world *world, uint32_t number, uint32_t *process)
{
	for (size_t low = 0, high = world->count; low < high;) {
		size_t middle = low + (high - low) / 2;
		const struct replay_process *candidate = &world->processes[middle];

		if (number < candidate->first_thread) {
			high = middle;
		} else if (number - candidate->first_thread >= candidate->profile.thread_count) {
			low = middle + 1;
		} else {
			*process = (uint32_t)middle;
			return candidate->profile.threads[number - candidate->first_thread];
		}
	}
	return NULL;
}
