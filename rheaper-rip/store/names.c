/* SPDX-License-Identifier: MIT
 *
 * Writes where it happened: modules, and what is behind the view backtraces.
 */
#include "config.h"

#include "store/source.h"
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
		const struct symbols_question *question = replay_names_question(names, i);
		char *build_id = hexadecimal(module->build_id, module->build_id_size);

		result = store_put(store, statement, module->unloaded == INT64_MAX ? "iittiiirxtt" : "iittiiirrtt", (int64_t)i + 1,
				   (int64_t)module->process + 1, module->path, build_id, (int64_t)module->base, (int64_t)module->start,
				   (int64_t)module->end, (double)module->loaded / NS_PER_MS, (double)module->unloaded / NS_PER_MS,
				   question ? question->debug_file : NULL, question ? question->status : "unused");
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

static int put_stacks(struct store *store, const struct replay_names *names)
{
	sqlite3_stmt *statement = store_prepare(store, "INSERT INTO stacks VALUES(?, ?)");
	int result = 0;

	for (size_t i = 0; i < names->backtrace_count && !result; i++)
		result = store_put(store, statement, "ii", (int64_t)i + 1, (int64_t)names->backtraces[i].user_frame);
	sqlite3_finalize(statement);
	return result;
}

/* On the way through all frames of all backtraces. */
struct walk {
	const struct replay_node *nodes;
	const struct replay_names *names;
	size_t backtrace;     /* bt */
	uint32_t node;	      /* of which the locations up to `end` come next */
	size_t location, end; /* number of the present one + 1 */
	int64_t number;
};

static int next_frame(void *context)
{
	struct walk *walk = context;

	walk->number++;
	while (walk->location == walk->end) {
		uint32_t frame;

		while (walk->node == REPLAY_ROOT) {
			if (walk->backtrace == walk->names->backtrace_count)
				return 0;
			walk->node = walk->names->backtraces[walk->backtrace++].node;
			walk->number = 0;
		}
		frame = walk->nodes[walk->node].frame;
		walk->location = walk->names->first_location[frame];
		walk->end = walk->names->first_location[frame + 1];
		walk->node = walk->nodes[walk->node].parent;
	}
	walk->location++;
	return 1;
}

static void give_frame(void *context, sqlite3_context *result, int number)
{
	const struct walk *walk = context;

	sqlite3_result_int64(result, number == 0   ? (sqlite3_int64)walk->backtrace
				     : number == 1 ? walk->number
						   : (sqlite3_int64)walk->location);
}

static int put_frames(struct store *store, const struct replay_world *world, const struct replay_names *names)
{
	struct walk walk = {.nodes = world->stacks.nodes, .names = names, .node = REPLAY_ROOT};
	struct store_source source = {"bt, frame_no, location", NULL, next_frame, give_frame, &walk};

	return store_fill(store, "frames", &source);
}

int store_names(struct store *store, const struct replay_world *world, const struct replay_names *names)
{
	return put_modules(store, world, names) || put_locations(store, world, names) || put_stacks(store, names) ||
		       put_frames(store, world, names)
		   ? -1
		   : 0;
}
