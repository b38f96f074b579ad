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

/* ---- Asking for the names of all frames at once ---- */

#define NO_QUESTION UINT32_MAX

static uint64_t question_address(const struct replay_world *world, const struct replay_frame *frame)
{
	/* A return address may be the first of another function: the call is before it. */
	return (frame->pc & ~RH_PC_EXACT) - replay_world_module(world, frame->module)->base - !(frame->pc & RH_PC_EXACT);
}

static const struct replay_world *sorted; /* for by_file */

static int by_file(const void *left, const void *right)
{
	const struct replay_module *a = replay_world_module(sorted, *(const uint32_t *)left);
	const struct replay_module *b = replay_world_module(sorted, *(const uint32_t *)right);
	int order = strcmp(a->path, b->path);

	if (!order && a->build_id_size != b->build_id_size)
		order = a->build_id_size < b->build_id_size ? -1 : 1;
	return order || !a->build_id_size ? order : memcmp(a->build_id, b->build_id, a->build_id_size);
}

static int by_address(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* One question a file, whichever processes mapped it and however often, but only where a frame is (used, by module). */
static bool number_questions(struct replay_names *names, const struct replay_world *world, const uint64_t *used)
{
	uint32_t *order = calloc((size_t)world->module_count + 1, sizeof *order), count = 0;
	const struct replay_module *last = NULL;

	if (!order)
		return false;
	for (uint32_t i = 0; i < world->module_count; i++)
		if (used[i])
			order[count++] = i;
	sorted = world;
	qsort(order, count, sizeof *order, by_file);
	names->questions = calloc((size_t)count + 1, sizeof *names->questions);
	for (uint32_t i = 0; i < count && names->questions; i++) {
		const struct replay_module *module = replay_world_module(world, order[i]);

		if (!last || by_file(&order[i - 1], &order[i]))
			names->questions[names->question_count++] = (struct symbols_question){
			    .path = module->path, .build_id = module->build_id, .build_id_size = module->build_id_size};
		last = module;
		names->question_of[order[i]] = (uint32_t)names->question_count - 1;
		names->questions[names->question_count - 1].count += used[order[i]];
	}
	free(order);
	return names->questions;
}

/* Each address of a file once, in order: neighbours have their debug information in one place. */
static bool collect_addresses(struct replay_names *names, const struct replay_world *world, uint64_t *addresses)
{
	const struct replay_stacks *stacks = &world->stacks;
	size_t *filled = calloc(names->question_count + 1, sizeof *filled);

	if (!filled)
		return false;
	for (size_t i = 0; i < names->question_count; i++) {
		names->questions[i].addresses = addresses;
		addresses += names->questions[i].count;
	}
	for (size_t i = 0; i < stacks->frame_count; i++) {
		const struct replay_frame *frame = &stacks->frames[i];
		uint32_t question = frame->module == REPLAY_NO_MODULE ? NO_QUESTION : names->question_of[frame->module];

		if (question != NO_QUESTION)
			((uint64_t *)names->questions[question].addresses)[filled[question]++] = question_address(world, frame);
	}
	free(filled);
	for (size_t i = 0; i < names->question_count; i++) {
		struct symbols_question *question = &names->questions[i];
		uint64_t *at = (uint64_t *)question->addresses;
		size_t kept = 0;

		qsort(at, question->count, sizeof *at, by_address);
		for (size_t k = 0; k < question->count; k++)
			if (!k || at[k] != at[k - 1])
				at[kept++] = at[k];
		question->count = kept;
	}
	return true;
}

static int ask(struct replay_names *names, const struct replay_world *world, const struct symbols_options *options, struct fault *fault)
{
	const struct replay_stacks *stacks = &world->stacks;
	uint64_t *used = calloc((size_t)world->module_count + 1, sizeof *used);
	size_t addresses = 0;
	bool enough = used;

	for (size_t i = 0; i < stacks->frame_count && enough; i++)
		if (stacks->frames[i].module != REPLAY_NO_MODULE)
			used[stacks->frames[i].module]++;
	enough = enough && number_questions(names, world, used);
	free(used);
	names->addresses = calloc(stacks->frame_count + 1, sizeof *names->addresses);
	enough = enough && names->addresses && collect_addresses(names, world, names->addresses);
	for (size_t i = 0; i < names->question_count; i++)
		addresses += names->questions[i].count;
	progress_begin(world->progress, "naming", "frames", addresses);
	enough = enough && symbols_ask(names->questions, names->question_count, options, NULL, &names->strings, world->progress);
	return enough ? 0 : fault_memory(fault);
}

const struct symbols_question *replay_names_question(const struct replay_names *names, uint32_t module)
{
	return names->wanted && names->question_of[module] != NO_QUESTION ? &names->questions[names->question_of[module]] : NULL;
}

/* The functions of a frame; returns how many. */
static size_t answer_of(const struct replay_names *names, const struct replay_world *world, const struct replay_frame *frame,
			const struct symbols_frame **found)
{
	static const struct symbols_frame unknown;
	const struct symbols_question *question =
	    frame->module == REPLAY_NO_MODULE ? NULL : replay_names_question(names, frame->module);

	*found = &unknown;
	if (!question)
		return 1;
	uint64_t address = question_address(world, frame);
	const uint64_t *at = bsearch(&address, question->addresses, question->count, sizeof *at, by_address);
	size_t number = (size_t)(at - question->addresses);

	*found = &question->frames[question->first[number]];
	return question->first[number + 1] - question->first[number];
}

static int name_frame(struct replay_names *names, const struct replay_world *world, uint32_t number, struct fault *fault)
{
	const struct symbols_frame *found;
	size_t count = answer_of(names, world, &world->stacks.frames[number], &found);

	names->first_location[number] = names->location_count;
	for (size_t i = 0; i < count; i++) {
		if (!VECTOR_ROOM(names->locations, names->location_capacity, names->location_count))
			return fault_memory(fault);
		names->locations[names->location_count++] = (struct replay_location){.function = found[i].function,
										     .linkage = found[i].linkage,
										     .file = found[i].file,
										     .line = found[i].line,
										     .frame = number,
										     .inlined = i + 1 < count,
										     .source = (uint8_t)found[i].source};
	}
	return 0;
}

/* ---- Whose a frame is ---- */

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
	names->wanted = options;
	names->question_of = malloc(((size_t)world->module_count + 1) * sizeof *names->question_of);
	names->first_location = calloc(stacks->frame_count + 1, sizeof *names->first_location);
	names->bt = calloc(stacks->node_count, sizeof *names->bt);
	names->call = malloc(stacks->node_count);
	if (!names->question_of || !names->first_location || !names->bt || !names->call)
		return fault_memory(fault);
	memset(names->question_of, 0xff, ((size_t)world->module_count + 1) * sizeof *names->question_of);
	names->node_count = stacks->node_count;
	memset(names->call, REPLAY_SAME_CALL, stacks->node_count);
	if (options && ask(names, world, options, fault))
		return -1;
	for (size_t i = 0; i < stacks->frame_count; i++)
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
	symbols_questions_free(names->questions, names->question_count);
	free(names->questions);
	free(names->addresses);
	free(names->question_of);
	symbols_strings_free(&names->strings);
	free(names->locations);
	free(names->first_location);
	free(names->backtraces);
	free(names->bt);
	free(names->call);
	memset(names, 0, sizeof *names);
}
