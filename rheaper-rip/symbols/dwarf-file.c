/* SPDX-License-Identifier: MIT
 *
 * Opening costs one pass over the units' first DIEs; everything below them waits for a lookup.
 */
#include "config.h"

#include "symbols/dwarf-file.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/dwarf-split.h"
#include "symbols/dwarf-unit.h"
#include "symbols/range-lists.h"

struct symbols_dwarf {
	struct symbols_unit_context context;
	char *binary;
	struct symbols_unit *units;
	size_t unit_count, unit_room;
	struct symbols_intervals ranges; /* owner: an index into units */
	struct symbols_splits splits;
};

/* ---- The index ---- */

static bool add_unit(struct symbols_dwarf *dwarf, const struct dwarf_compat_unit *header, Dwarf_Off die)
{
	if (dwarf->unit_count == dwarf->unit_room) {
		size_t room = dwarf->unit_room ? dwarf->unit_room * 2 : 64;
		struct symbols_unit *units = room < UINT32_MAX ? reallocarray(dwarf->units, room, sizeof *units) : NULL;

		if (!units)
			return false;
		dwarf->units = units;
		dwarf->unit_room = room;
	}
	dwarf->units[dwarf->unit_count++] = (struct symbols_unit){.die = die, .version = header->version, .signature = header->signature};
	return true;
}

static void load(struct symbols_dwarf *dwarf, struct symbols_unit *unit)
{
	Dwarf_Debug debug = dwarf->context.debug.self;
	struct symbols_unit_split split;
	enum symbols_split_result result = SYMBOLS_SPLIT_WHOLE;
	Dwarf_Die die;

	if (DWARF_CALL(debug, dwarf_offdie_b, debug, unit->die, 1, &die)) {
		result = symbols_splits_find(&dwarf->splits, debug, dwarf->binary, die, unit, &split);
		dwarf_dealloc_die(die);
	}
	symbols_unit_load(unit, &dwarf->context, result == SYMBOLS_SPLIT_FOUND ? &split : NULL);
}

/* Units that do not say where their code is must be read for it. False when memory is out. */
static bool index_by_functions(struct symbols_dwarf *dwarf, uint32_t index)
{
	struct symbols_unit *unit = &dwarf->units[index];

	load(dwarf, unit);
	for (size_t i = 0; i < unit->segments.count; i++)
		if (!symbols_intervals_add(&dwarf->ranges, unit->segments.at[i].low, unit->segments.at[i].high, index))
			return false;
	return true;
}

/* One unit of the file, by its first DIE. False when memory is out. */
static bool index_unit(struct symbols_dwarf *dwarf, const struct dwarf_compat_unit *header, Dwarf_Die die)
{
	Dwarf_Debug debug = dwarf->context.debug.self;
	struct symbols_die_bases bases = {0};
	Dwarf_Half tag;
	Dwarf_Off offset;
	Dwarf_Addr low;

	/* A partial unit (dwz) has no code: it is read through those that refer to it. */
	if (!DWARF_CALL(debug, dwarf_tag, die, &tag) || (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit) ||
	    !DWARF_CALL(debug, dwarf_dieoffset, die, &offset))
		return true;
	if (DWARF_CALL(debug, dwarf_lowpc, die, &low))
		bases.address = low;
	bases.lists = dwarf->context.lists;
	symbols_lists_set_base(&bases.lists, debug, die);
	return add_unit(dwarf, header, offset) && symbols_die_ranges(debug, die, &bases, dwarf->context.lowest, &dwarf->ranges,
								     (uint32_t)dwarf->unit_count - 1) != SYMBOLS_DIE_NO_MEMORY;
}

static bool index_units(struct symbols_dwarf *dwarf)
{
	struct dwarf_compat_unit header = {0};
	Dwarf_Die die;
	bool enough = true;

	while (enough && dwarf_compat_next_unit(dwarf->context.debug.self, &header, &die)) {
		if (die) {
			enough = index_unit(dwarf, &header, die);
			dwarf_dealloc_die(die);
		}
		memset(&header, 0, sizeof header);
	}
	bool *seen = calloc(dwarf->unit_count + 1, sizeof *seen);

	for (size_t i = 0; seen && i < dwarf->ranges.count; i++)
		seen[dwarf->ranges.at[i].owner] = true;
	for (size_t i = 0; seen && enough && i < dwarf->unit_count; i++)
		if (!seen[i])
			enough = index_by_functions(dwarf, (uint32_t)i);
	enough = enough && seen;
	free(seen);
	return enough && dwarf->unit_count && symbols_intervals_flatten(&dwarf->ranges);
}

/* ---- Interface ---- */

struct symbols_dwarf *symbols_dwarf_open(struct symbols_elf *elf, const char *binary, struct symbols_elf *shared,
					 struct symbols_strings *strings, bool no_demangle)
{
	struct symbols_dwarf *dwarf = symbols_lists_are_sound(elf) ? calloc(1, sizeof *dwarf) : NULL;
	GElf_Ehdr header;

	if (!dwarf)
		return NULL;
	dwarf_compat_start();
	struct symbols_unit_context *context = &dwarf->context;

	context->lowest = elf->code_start;
	context->strings = strings;
	context->no_demangle = no_demangle;
	context->sections.line = symbols_elf_section(elf, ".debug_line");
	context->sections.line_str = symbols_elf_section(elf, ".debug_line_str");
	context->sections.str = symbols_elf_section(elf, ".debug_str");
	context->sections.big_endian = gelf_getehdr(elf->elf, &header) && header.e_ident[EI_DATA] == ELFDATA2MSB;
	context->lists = symbols_lists_in(elf, false);
	context->debug.self = dwarf_compat_open(elf->path);
	dwarf->binary = strdup(binary);
	if (!context->debug.self || !dwarf->binary) {
		symbols_dwarf_close(dwarf);
		return NULL;
	}
	context->debug.shared = shared && symbols_lists_are_sound(shared) ? dwarf_compat_open(shared->path) : NULL;
	if (context->debug.shared)
		DWARF_CALL(context->debug.self, dwarf_set_tied_dbg, context->debug.self, context->debug.shared);
	if (!index_units(dwarf)) {
		symbols_dwarf_close(dwarf);
		return NULL;
	}
	return dwarf;
}

void symbols_dwarf_close(struct symbols_dwarf *dwarf)
{
	if (!dwarf)
		return;
	for (size_t i = 0; i < dwarf->unit_count; i++)
		symbols_unit_unload(&dwarf->units[i]);
	free(dwarf->units);
	symbols_intervals_free(&dwarf->ranges);
	symbols_splits_free(&dwarf->splits);
	if (dwarf->context.debug.self)
		dwarf_compat_close(dwarf->context.debug.self);
	if (dwarf->context.debug.shared)
		dwarf_compat_close(dwarf->context.debug.shared);
	free(dwarf->binary);
	free(dwarf);
}

size_t symbols_dwarf_lookup(struct symbols_dwarf *dwarf, uint64_t address, struct symbols_frame *frames, size_t max)
{
	const struct symbols_interval *range = symbols_intervals_find(&dwarf->ranges, address);

	if (!range)
		return 0;
	struct symbols_unit *unit = &dwarf->units[range->owner];

	if (!unit->loaded)
		load(dwarf, unit);
	return symbols_unit_lookup(unit, &dwarf->context, address, frames, max);
}
