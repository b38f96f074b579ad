/* SPDX-License-Identifier: MIT
 *
 * Names frames and numbers backtraces.
 */
#include "config.h"

#include "replay/names.h"

#include "log/format.h"
#include "vector.h"

#include <stdlib.h>
#include <string.h>

#define INLINED_MAX 64 /* functions of one frame; deeper inlining loses its outermost */

static const char *const cxx_libraries[] = {"libstdc++", "libc++", NULL};
static const char *const own_libraries[] = {"librheaper", NULL};

/* Files that are not the user's: by how their names begin. */
static const char *const system_libraries[] = {"libc.so",     "libc-2.",     "ld-linux",     "ld-2.",	    "ld.so",
					       "libpthread",  "libstdc++",   "libc++",	     "librheaper",  "libtcmalloc",
					       "libjemalloc", "libmimalloc", "libc_malloc_", "libgcc_s.so", NULL};

static bool is_one_of(const struct replay_module *module, const char *const *list)
{
	const char *name;

	if (!module)
		return false;
	name = strrchr(module->path, '/');
	name = name ? name + 1 : module->path;
	for (; *list; list++)
		if (!strncmp(name, *list, strlen(*list)))
			return true;
	return false;
}

static struct symbols_module *symbols_of(struct replay_names *names, const struct replay_module *module, uint32_t number)
{
	if (!names->modules[number])
		names->modules[number] = symbols_module(names->symbols, module->path, module->build_id, module->build_id_size);
	return names->modules[number];
}

static int name_frame(struct replay_names *names, const struct replay_world *world, uint32_t number, struct fault *fault)
{
	const struct replay_frame *frame = &world->stacks.frames[number];
	const struct replay_module *module = frame->module == REPLAY_NO_MODULE ? NULL : replay_world_module(world, frame->module);
	struct symbols_frame found[INLINED_MAX] = {{0}};
	size_t count = 1;

	if (module && names->symbols) {
		uint64_t pc = frame->pc & ~RH_PC_EXACT;
		struct symbols_module *symbols = symbols_of(names, module, frame->module);

		if (!symbols)
			return fault_memory(fault);
		count = symbols_lookup(symbols, pc - module->base - !(frame->pc & RH_PC_EXACT), found, INLINED_MAX);
	}
	names->first_location[number] = names->location_count;
	for (size_t i = 0; i < count; i++) {
		if (!VECTOR_ROOM(names->locations, names->location_capacity, names->location_count))
			return fault_memory(fault);
		names->locations[names->location_count++] = (struct replay_location){.function = found[i].function,
										     .linkage = found[i].linkage,
										     .file = found[i].file,
										     .line = found[i].line,
										     .frame = number,
										     .inlined = i + 1 < count};
	}
	return 0;
}

/* The call that a function of ours stands for: __wrap_NAME, where NAME may be one that the C library's headers make of it (__strdup,
 * __asprintf_chk). */
static uint8_t wrapped_call(const char *name)
{
	static const char *const calls[] = RH_CALL_NAMES;
	size_t length;

	while (*name == '_')
		name++;
	length = strlen(name);
	if (length > 4 && !strcmp(name + length - 4, "_chk"))
		length -= 4;
	for (uint8_t call = 0; call < RH_CALLS; call++)
		if (strlen(calls[call]) == length && !strncmp(calls[call], name, length))
			return call;
	return RH_CALL_OTHER;
}

/* A copy of Rheaper that is linked into the program passes calls on when a preloaded one records. Its functions lie in its library or, with debug information,
 * show one of its inner functions inlined. */
static bool is_ours(const struct replay_names *names, const struct replay_world *world, uint32_t number)
{
	const struct replay_location *inner = &names->locations[names->first_location[number]];

	return is_one_of(replay_world_module(world, world->stacks.frames[number].module), own_libraries) ||
	       (inner->inlined && inner->function && !strncmp(inner->function, "rh_", 3));
}

/* The call that a frame tells when it is innermost and an operator new of the C++ library, or a function of ours, else REPLAY_SAME_CALL. */
static uint8_t call_of(const struct replay_names *names, const struct replay_world *world, uint32_t number)
{
	const struct replay_frame *frame = &world->stacks.frames[number];
	const struct replay_location *called = &names->locations[names->first_location[number + 1] - 1];
	const char *name = called->linkage ? called->linkage : called->function;
	bool aligned;

	if (!name || frame->module == REPLAY_NO_MODULE)
		return REPLAY_SAME_CALL;
	if (!strncmp(name, "__wrap_", 7) && is_ours(names, world, number))
		return wrapped_call(name + 7);
	/* Itanium C++ ABI, 5.1.3: nw is operator new, na operator new[]; m or j the size's type behind it. */
	if ((strncmp(name, "_Znw", 4) && strncmp(name, "_Zna", 4)) ||
	    !(is_one_of(replay_world_module(world, frame->module), cxx_libraries) || is_ours(names, world, number)))
		return REPLAY_SAME_CALL;
	aligned = strstr(name, "St11align_val_t");
	if (name[3] == 'w')
		return aligned ? RH_CALL_NEW_ALIGNED : RH_CALL_NEW;
	return aligned ? RH_CALL_NEW_ARRAY_ALIGNED : RH_CALL_NEW_ARRAY;
}

static uint32_t user_frame(const struct replay_names *names, const struct replay_world *world, uint32_t node)
{
	uint32_t number = 0;

	for (; node != REPLAY_ROOT; node = world->stacks.nodes[node].parent) {
		uint32_t frame = world->stacks.nodes[node].frame, module = world->stacks.frames[frame].module;

		if (module != REPLAY_NO_MODULE && !is_one_of(replay_world_module(world, module), system_libraries))
			return number;
		number += (uint32_t)(names->first_location[frame + 1] - names->first_location[frame]);
	}
	return 0;
}

/* Drops the innermost frames that are operators, and gives what is left its number. */
static int number_stack(struct replay_names *names, const struct replay_world *world, uint32_t node, struct fault *fault)
{
	const struct replay_node *nodes = world->stacks.nodes;
	uint32_t folded = node;

	names->call[node] = REPLAY_SAME_CALL;
	while (folded != REPLAY_ROOT && nodes[folded].parent != REPLAY_ROOT) {
		uint8_t call = call_of(names, world, nodes[folded].frame);

		if (call == REPLAY_SAME_CALL)
			break;
		names->call[node] = call; /* the outermost of them is what the program called */
		folded = nodes[folded].parent;
	}
	if (!names->bt[folded]) {
		if (!VECTOR_ROOM(names->backtraces, names->backtrace_capacity, names->backtrace_count))
			return fault_memory(fault);
		names->backtraces[names->backtrace_count++] = (struct replay_backtrace){folded, user_frame(names, world, folded)};
		names->bt[folded] = (uint32_t)names->backtrace_count;
	}
	names->bt[node] = names->bt[folded];
	return 0;
}

int replay_names_find(struct replay_names *names, const struct replay_world *world, const uint8_t *used,
		      const struct symbols_options *options, struct fault *fault)
{
	const struct replay_stacks *stacks = &world->stacks;

	memset(names, 0, sizeof *names);
	names->modules = calloc((size_t)world->module_count + 1, sizeof(struct symbols_module *));
	names->first_location = calloc(stacks->frame_count + 1, sizeof *names->first_location);
	names->bt = calloc(stacks->node_count, sizeof *names->bt);
	names->call = malloc(stacks->node_count);
	if (options)
		names->symbols = symbols_new(options);
	if (!names->modules || !names->first_location || !names->bt || !names->call || (options && !names->symbols))
		return fault_memory(fault);
	names->node_count = stacks->node_count;
	memset(names->call, REPLAY_SAME_CALL, stacks->node_count);
	progress_begin(world->progress, "naming", "frames", stacks->frame_count);
	for (size_t i = 0; i < stacks->frame_count; i++, progress_add(world->progress, 1))
		if (name_frame(names, world, (uint32_t)i, fault))
			return -1;
	names->first_location[stacks->frame_count] = names->location_count;
	for (size_t i = 0; i < stacks->node_count; i++)
		if (used[i] && number_stack(names, world, (uint32_t)i, fault))
			return -1;
	return 0;
}

void replay_names_free(struct replay_names *names)
{
	if (names->symbols)
		symbols_free(names->symbols);
	free(names->modules);
	free(names->locations);
	free(names->first_location);
	free(names->backtraces);
	free(names->bt);
	free(names->call);
	memset(names, 0, sizeof *names);
}
