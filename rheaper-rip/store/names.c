/* SPDX-License-Identifier: MIT
 *
 * Writes where it happened: modules, and what is behind the view backtraces.
 */
#include "config.h"

#include "store/tables.h"

#include <stdlib.h>

#define NS_PER_MS 1e6

/* NULL for no build id, or when memory is out. */
static char *hexadecimal(const uint8_t *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	char *text = size ? malloc(2 * size + 1) : NULL;

	if (!text)
		return NULL;
	for (size_t i = 0; i < size; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[2 * size] = '\0';
	return text;
}

static int put_modules(struct store *store, const struct replay_world *world, const struct replay_names *names)
{
	sqlite3_stmt *statement = store_prepare(store, "INSERT INTO modules VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
	int result = 0;

	for (uint32_t i = 0; i < world->module_count && !result; i++) {
		const struct replay_module *module = replay_world_module(world, i);
		const struct symbols_module *symbols = names->modules[i];
		char *build_id = hexadecimal(module->build_id, module->build_id_size);

		result = store_put(store, statement, module->unloaded == INT64_MAX ? "iittiiirxtt" : "iittiiirrtt", (int64_t)i + 1,
				   (int64_t)module->process + 1, module->path, build_id, (int64_t)module->base, (int64_t)module->start,
				   (int64_t)module->end, (double)module->loaded / NS_PER_MS, (double)module->unloaded / NS_PER_MS,
				   symbols ? symbols_debug_file(symbols) : NULL, symbols ? symbols_status(symbols) : "unused");
		free(build_id);
	}
	sqlite3_finalize(statement);
	return result;
}

static int put_locations(struct store *store, const struct replay_world *world, const struct replay_names *names)
{
	sqlite3_stmt *statement = store_prepare(store, "INSERT INTO locations VALUES(?, ?, ?, ?, ?, ?, ?)");
	int result = 0;

	for (size_t i = 0; i < names->location_count && !result; i++) {
		const struct replay_location *location = &names->locations[i];
		const struct replay_frame *frame = &world->stacks.frames[location->frame];
		const struct replay_module *module = frame->module == REPLAY_NO_MODULE ? NULL : replay_world_module(world, frame->module);

		result = store_put(store, statement, location->line ? "itittii" : "itzttii", (int64_t)i + 1, location->file,
				   (int64_t)location->line, location->function, module ? module->path : NULL,
				   (int64_t)(frame->pc & ~RH_PC_EXACT), (int64_t)location->inlined);
	}
	sqlite3_finalize(statement);
	return result;
}

static int put_stacks(struct store *store, const struct replay_world *world, const struct replay_names *names)
{
	sqlite3_stmt *frames = store_prepare(store, "INSERT INTO frames VALUES(?, ?, ?)");
	sqlite3_stmt *stacks = store_prepare(store, "INSERT INTO stacks VALUES(?, ?)");
	int result = frames && stacks ? 0 : -1;

	for (size_t i = 0; i < names->backtrace_count && !result; i++) {
		const struct replay_backtrace *backtrace = &names->backtraces[i];
		int64_t number = 0;

		result = store_put(store, stacks, "ii", (int64_t)i + 1, (int64_t)backtrace->user_frame);
		for (uint32_t node = backtrace->node; node != REPLAY_ROOT && !result; node = world->stacks.nodes[node].parent) {
			uint32_t frame = world->stacks.nodes[node].frame;

			for (size_t k = names->first_location[frame]; k < names->first_location[frame + 1] && !result; k++)
				result = store_put(store, frames, "iii", (int64_t)i + 1, number++, (int64_t)k + 1);
		}
	}
	sqlite3_finalize(frames);
	sqlite3_finalize(stacks);
	return result;
}

int store_names(struct store *store, const struct replay_world *world, const struct replay_names *names)
{
	return put_modules(store, world, names) || put_locations(store, world, names) || put_stacks(store, world, names) ? -1 : 0;
}
