/* SPDX-License-Identifier: MIT
 *
 * One compilation unit: its functions with what is inlined into them, and its line table. Read at the first lookup, names later still.
 */
#ifndef SYMBOLS_DWARF_UNIT_H
#define SYMBOLS_DWARF_UNIT_H

#include "symbols/dwarf-die.h"
#include "symbols/line-table.h"
#include "symbols/symbols.h"

struct symbols_function;

struct symbols_unit {
	/* Known from the index. */
	Dwarf_Off die; /* in the file itself; a skeleton when the unit is split */
	Dwarf_Half version;
	Dwarf_Sig8 signature; /* of the unit that a skeleton of DWARF 5 stands for */
	bool loaded;

	/* Known once loaded. */
	struct symbols_debug debug; /* where its functions are: the file itself, or the file of the split unit */
	struct symbols_function *functions;
	size_t function_count, function_room;
	struct symbols_intervals segments; /* owner: the innermost function, an index */
	struct symbols_line_table *lines;
};

/* What all units of a file need. */
struct symbols_unit_context {
	struct symbols_debug debug;
	struct symbols_line_sections sections;
	struct symbols_range_lists lists;
	uint64_t lowest; /* code below it was thrown away by the linker */
	struct symbols_strings *strings;
	bool no_demangle;
};

/* Where to read a unit's functions when it is split. */
struct symbols_unit_split {
	struct symbols_debug debug;
	Dwarf_Off die;
	uint64_t ranges_base;
	struct symbols_range_lists lists;
};

/* Reads the unit once; what is damaged is left out. split is NULL for a whole unit. */
void symbols_unit_load(struct symbols_unit *unit, const struct symbols_unit_context *context, const struct symbols_unit_split *split);

/* Like symbols_lookup, of a loaded unit. Returns how many frames there are, which may be more than max; 0 when the unit knows no
 * function there. The line of the place itself is always in frames[0]; the last function's names only when it is within max. */
size_t symbols_unit_lookup(struct symbols_unit *unit, const struct symbols_unit_context *context, uint64_t address,
			   struct symbols_frame *frames, size_t max);

void symbols_unit_unload(struct symbols_unit *unit);

#endif
