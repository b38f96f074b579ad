/* SPDX-License-Identifier: MIT
 *
 * The tree of DIEs becomes two flat arrays: functions, each knowing the one it is inlined into, and disjoint address segments that lead
 * to the innermost function. Names and call sites are read only for the few functions that a lookup meets.
 */
#include "config.h"

#include "symbols/dwarf-unit.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"

/* Real trees are some dozens deep; this keeps a crafted one from the end of our stack. */
#define TREE_DEPTH 1000

#define NO_PARENT UINT32_MAX

struct symbols_function {
	Dwarf_Off die;
	uint32_t parent; /* what it is inlined into; NO_PARENT: it really is called */
	bool named;	 /* the fields below are valid */
	uint32_t call_line;
	uint64_t call_file;
	const char *function, *linkage;
};

struct walk {
	struct symbols_unit *unit;
	const struct symbols_unit_context *context;
	struct symbols_die_bases bases;
	bool no_memory;
};

/* ---- The tree ---- */

static bool is_in_place(Dwarf_Half tag)
{
	return tag == DW_TAG_inlined_subroutine;
}

/* What may contain functions with code. Classes: lambdas and local classes have theirs inside. */
static bool is_scope(Dwarf_Half tag)
{
	switch (tag) {
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type: /* Rust */
	case DW_TAG_module:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_subprogram:
		return true;
	default:
		return false;
	}
}

static bool has_attribute(Dwarf_Debug debug, Dwarf_Die die, Dwarf_Half attribute)
{
	Dwarf_Bool has = 0;

	return DWARF_CALL(debug, dwarf_hasattr, die, attribute, &has) && has;
}

/* Adds a function if it has code; its index, or NO_PARENT when it was not added. */
static uint32_t add_function(struct walk *walk, Dwarf_Die die, uint32_t parent)
{
	struct symbols_unit *unit = walk->unit;

	if (unit->function_count == unit->function_room) {
		size_t room = unit->function_room ? unit->function_room * 2 : 64;
		struct symbols_function *functions = room < NO_PARENT ? reallocarray(unit->functions, room, sizeof *functions) : NULL;

		if (!functions) {
			walk->no_memory = true;
			return NO_PARENT;
		}
		unit->functions = functions;
		unit->function_room = room;
	}
	uint32_t index = (uint32_t)unit->function_count;
	struct symbols_function *function = &unit->functions[index];

	*function = (struct symbols_function){.parent = parent};
	switch (symbols_die_ranges(unit->debug.self, die, &walk->bases, walk->context->lowest, &unit->segments, index)) {
	case SYMBOLS_DIE_NO_MEMORY:
		walk->no_memory = true;
		return NO_PARENT;
	case SYMBOLS_DIE_NO_CODE:
		return NO_PARENT;
	case SYMBOLS_DIE_HAS_CODE:
		break;
	}
	if (!DWARF_CALL(unit->debug.self, dwarf_dieoffset, die, &function->die))
		function->die = 0;
	unit->function_count++;
	return index;
}

static void walk_children(struct walk *walk, Dwarf_Die die, uint32_t parent, unsigned depth);

static void visit(struct walk *walk, Dwarf_Die die, uint32_t parent, unsigned depth)
{
	Dwarf_Debug debug = walk->unit->debug.self;
	Dwarf_Half tag;

	if (!DWARF_CALL(debug, dwarf_tag, die, &tag))
		return;
	bool descend = is_scope(tag);

	if (tag == DW_TAG_subprogram || is_in_place(tag)) {
		uint32_t function = add_function(walk, die, is_in_place(tag) ? parent : NO_PARENT);

		/* Without code of its own a function may still hold lambdas that have some; a mere declaration never does. */
		descend = function != NO_PARENT || (tag == DW_TAG_subprogram && !has_attribute(debug, die, DW_AT_declaration));
		parent = function;
	}
	if (descend)
		walk_children(walk, die, parent, depth + 1);
}

static void walk_children(struct walk *walk, Dwarf_Die die, uint32_t parent, unsigned depth)
{
	Dwarf_Debug debug = walk->unit->debug.self;
	Dwarf_Die child, next;

	if (depth > TREE_DEPTH || !DWARF_CALL(debug, dwarf_child, die, &child))
		return;
	for (bool more = true; more; child = next) {
		visit(walk, child, parent, depth);
		more = !walk->no_memory && dwarf_compat_sibling(debug, child, &next);
		dwarf_dealloc_die(child);
	}
}

static void load_lines(struct symbols_unit *unit, const struct symbols_unit_context *context, Dwarf_Die die)
{
	uint64_t offset;

	if (symbols_die_offset(context->debug.self, die, DW_AT_stmt_list, &offset)) {
		const char *comp_dir = symbols_die_string(context->debug.self, die, DW_AT_comp_dir);

		unit->lines = symbols_lines_read(&context->sections, offset, comp_dir, context->lowest);
	}
}

void symbols_unit_load(struct symbols_unit *unit, const struct symbols_unit_context *context, const struct symbols_unit_split *split)
{
	struct walk walk = {.unit = unit, .context = context};
	Dwarf_Die die, whole;
	Dwarf_Addr low;

	unit->loaded = true;
	unit->debug = split ? split->debug : context->debug;
	if (!DWARF_CALL(context->debug.self, dwarf_offdie_b, context->debug.self, unit->die, 1, &die))
		return;
	load_lines(unit, context, die);
	if (DWARF_CALL(context->debug.self, dwarf_lowpc, die, &low))
		walk.bases.address = low;
	if (!split) {
		walk.bases.lists = context->lists;
		symbols_lists_set_base(&walk.bases.lists, context->debug.self, die);
		walk_children(&walk, die, NO_PARENT, 0);
	} else if (DWARF_CALL(split->debug.self, dwarf_offdie_b, split->debug.self, split->die, 1, &whole)) {
		walk.bases.ranges = split->ranges_base;
		walk.bases.lists = split->lists;
		symbols_lists_set_base(&walk.bases.lists, split->debug.self, whole);
		walk_children(&walk, whole, NO_PARENT, 0);
		dwarf_dealloc_die(whole);
	}
	dwarf_dealloc_die(die);
	if (walk.no_memory)
		symbols_intervals_free(&unit->segments); /* half of the inlined functions would be wrong names for the rest */
	else
		symbols_intervals_flatten(&unit->segments);
}

void symbols_unit_unload(struct symbols_unit *unit)
{
	free(unit->functions);
	symbols_intervals_free(&unit->segments);
	symbols_lines_free(unit->lines);
}

/* ---- Lookup ---- */

static void name_function(struct symbols_function *function, const struct symbols_unit *unit, const struct symbols_unit_context *context)
{
	struct symbols_die_names names;
	Dwarf_Debug debug = unit->debug.self;
	Dwarf_Die die;
	uint64_t line = 0;

	if (function->named)
		return;
	function->named = true;
	if (!DWARF_CALL(debug, dwarf_offdie_b, debug, function->die, 1, &die))
		return;
	symbols_die_names(&unit->debug, die, &names);
	symbols_die_number(debug, die, DW_AT_call_file, &function->call_file);
	symbols_die_number(debug, die, DW_AT_call_line, &line);
	function->call_line = (uint32_t)line;
	dwarf_dealloc_die(die);

	function->function = names.linkage && !context->no_demangle ? symbols_demangle(context->strings, names.linkage) : names.linkage;
	if (!function->function)
		function->function = names.name;
	if (names.linkage && strcmp(names.linkage, function->function))
		function->linkage = names.linkage;
}

static void set_place(struct symbols_frame *frame, const struct symbols_unit *unit, const struct symbols_unit_context *context,
		      uint64_t file, uint32_t line)
{
	frame->file = unit->lines ? symbols_lines_file(unit->lines, context->strings, file) : NULL;
	frame->line = frame->file ? line : 0;
}

size_t symbols_unit_lookup(struct symbols_unit *unit, const struct symbols_unit_context *context, uint64_t address,
			   struct symbols_frame *frames, size_t max)
{
	const struct symbols_interval *segment = symbols_intervals_find(&unit->segments, address);
	uint32_t file, line, next;
	size_t count = 0;

	if (unit->lines && symbols_lines_find(unit->lines, address, &file, &line))
		set_place(&frames[0], unit, context, file, line);
	for (uint32_t i = segment ? segment->owner : NO_PARENT; i != NO_PARENT; i = next) {
		struct symbols_function *function = &unit->functions[i];

		next = function->parent;
		if (count++ >= max)
			continue;
		name_function(function, unit, context);
		frames[count - 1].function = function->function;
		frames[count - 1].linkage = function->linkage;
		/* The outer function stands where it calls this one. */
		if (next != NO_PARENT && count < max)
			set_place(&frames[count], unit, context, function->call_file, function->call_line);
	}
	return count;
}
