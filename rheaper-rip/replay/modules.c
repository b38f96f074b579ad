/* SPDX-License-Identifier: MIT
 *
 * Builds the instances from the records, and looks addresses up in them.
 */
#include "config.h"

#include "replay/modules.h"

#include "vector.h"

#include <stdlib.h>
#include <string.h>

static bool same(const struct replay_module *module, const struct read_module *record)
{
	return module->base == record->base && module->start == record->start && module->end == record->end &&
	       !strcmp(module->path, record->path) && module->build_id_size == record->build_id_size &&
	       !memcmp(module->build_id, record->build_id, record->build_id_size);
}

/* The loaded module that a record repeats, or NULL; all others that lie in its place are gone without a word: they end here. */
static struct replay_module *make_room(struct replay_process_modules *modules, const struct read_module *record, int64_t time)
{
	struct replay_module *repeated = NULL;

	for (size_t i = 0; i < modules->count; i++) {
		struct replay_module *module = &modules->modules[i];

		if (module->unloaded != INT64_MAX)
			continue;
		if (record->unload ? module->start == record->start : module->start < record->end && record->start < module->end) {
			if (!record->unload && same(module, record))
				repeated = module;
			else
				module->unloaded = time;
		}
	}
	return repeated;
}

static int by_place(const void *left, const void *right)
{
	const struct replay_module *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->loaded < b->loaded ? -1 : a->loaded > b->loaded;
}

static int by_time(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* The times at which anything changed, each once. */
static int list_changes(struct replay_process_modules *modules, struct fault *fault)
{
	size_t kept = 0;

	modules->changes = malloc((2 * modules->count + 1) * sizeof *modules->changes);
	modules->highest = malloc((modules->count + 1) * sizeof *modules->highest);
	if (!modules->changes || !modules->highest)
		return fault_memory(fault);
	for (size_t i = 0; i < modules->count; i++) {
		modules->changes[modules->change_count++] = modules->modules[i].loaded;
		if (modules->modules[i].unloaded != INT64_MAX)
			modules->changes[modules->change_count++] = modules->modules[i].unloaded;
	}
	if (modules->change_count)
		qsort(modules->changes, modules->change_count, sizeof *modules->changes, by_time);
	for (size_t i = 0; i < modules->change_count; i++)
		if (!kept || modules->changes[kept - 1] != modules->changes[i])
			modules->changes[kept++] = modules->changes[i];
	modules->change_count = kept;
	return 0;
}

int replay_modules_build(struct replay_process_modules *modules, const struct read_profile *profile, uint32_t process, int64_t offset,
			 uint32_t first, struct fault *fault)
{
	uint32_t hint = 0;

	memset(modules, 0, sizeof *modules);
	modules->first = first;
	for (size_t i = 0; i < profile->module_count; i++) {
		const struct read_module *record = &profile->modules[i];
		int64_t time = record->time + offset < 0 ? 0 : record->time + offset;

		if (!record->unload && record->start >= record->end)
			continue;
		if (make_room(modules, record, time) || record->unload)
			continue;
		if (!VECTOR_ROOM(modules->modules, modules->capacity, modules->count))
			return fault_memory(fault);
		modules->modules[modules->count++] = (struct replay_module){.process = process,
									    .base = record->base,
									    .start = record->start,
									    .end = record->end,
									    .path = record->path,
									    .build_id = record->build_id,
									    .build_id_size = record->build_id_size,
									    .loaded = time,
									    .unloaded = INT64_MAX};
	}
	if (modules->count)
		qsort(modules->modules, modules->count, sizeof *modules->modules, by_place);
	if (list_changes(modules, fault))
		return -1;
	for (size_t i = 0; i < modules->count; i++) {
		struct replay_module *module = &modules->modules[i];

		module->from_epoch = replay_modules_epoch(modules, module->loaded, &hint);
		module->until_epoch = module->unloaded == INT64_MAX ? UINT32_MAX : replay_modules_epoch(modules, module->unloaded, &hint);
		modules->highest[i] = i && modules->highest[i - 1] > module->end ? modules->highest[i - 1] : module->end;
	}
	return 0;
}

void replay_modules_free(struct replay_process_modules *modules)
{
	free(modules->modules);
	free(modules->highest);
	free(modules->changes);
	memset(modules, 0, sizeof *modules);
}

uint32_t replay_modules_epoch(const struct replay_process_modules *modules, int64_t time, uint32_t *hint)
{
	size_t epoch = *hint, low = 0, high = modules->change_count;

	if (epoch <= high && (epoch == 0 || modules->changes[epoch - 1] <= time) && (epoch == high || time < modules->changes[epoch]))
		return *hint;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (modules->changes[middle] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return *hint = (uint32_t)low;
}

uint32_t replay_modules_at(const struct replay_process_modules *modules, uint64_t address, uint32_t epoch, uint32_t *until_epoch)
{
	size_t low = 0, high = modules->count;
	const struct replay_module *later = NULL;

	while (low < high) { /* the modules that start at or before the address */
		size_t middle = low + (high - low) / 2;

		if (modules->modules[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low && modules->highest[low - 1] > address; low--) {
		const struct replay_module *module = &modules->modules[low - 1];

		if (address >= module->end || epoch >= module->until_epoch)
			continue;
		if (epoch >= module->from_epoch) {
			later = module;
			break;
		}
		if (!later || module->from_epoch < later->from_epoch)
			later = module;
	}
	*until_epoch = later ? later->until_epoch : UINT32_MAX;
	return later ? modules->first + (uint32_t)(later - modules->modules) : REPLAY_NO_MODULE;
}
