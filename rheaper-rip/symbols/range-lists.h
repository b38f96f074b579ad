/* SPDX-License-Identifier: MIT
 *
 * The range lists of DWARF 5 (.debug_rnglists). Decoded here, because libdwarf 20210528 frees twice what it read of a damaged section,
 * leaks an error object a damaged list, and does not find the lists of a .dwo file.
 */
#ifndef SYMBOLS_RANGE_LISTS_H
#define SYMBOLS_RANGE_LISTS_H

#include "symbols/byte-reader.h"
#include "symbols/dwarf-compat.h"

/* Where a unit's lists are. All zero: nowhere. */
struct symbols_range_lists {
	struct symbols_bytes section; /* .debug_rnglists or .debug_rnglists.dwo; must outlive this */
	unsigned address_size;
	bool big_endian;
	uint64_t base; /* of the offsets that an indexed form counts from */
};

/* The lists in elf, whole (split false) or those of split units; base is still to be set. */
struct symbols_range_lists symbols_lists_in(struct symbols_elf *elf, bool split);

/* Sets the base for the unit whose first DIE this is. */
void symbols_lists_set_base(struct symbols_range_lists *lists, Dwarf_Debug debug, Dwarf_Die die);

struct symbols_range_cursor {
	const struct symbols_range_lists *lists;
	struct byte_reader reader;
	Dwarf_Debug debug;
	Dwarf_Die die;
	uint64_t base;
};

/* Goes to a list by the value of a DW_AT_ranges attribute of this form; base_address is the unit's. die, of the unit, must stay. */
void symbols_lists_start(struct symbols_range_cursor *cursor, const struct symbols_range_lists *lists, Dwarf_Debug debug, Dwarf_Die die,
			 Dwarf_Half form, uint64_t value, uint64_t base_address);

/* The next range of the list, [*low, *high), as it stands there; false after the last and at damage. */
bool symbols_lists_next(struct symbols_range_cursor *cursor, uint64_t *low, uint64_t *high);

/* Whether every header in the sections of range and location lists, also those of split DWARF, is well-formed: libdwarf must not be
 * given the file otherwise. */
bool symbols_lists_are_sound(struct symbols_elf *elf);

#endif
