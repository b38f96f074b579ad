/* SPDX-License-Identifier: MIT
 *
 * Attributes of one DIE, in the terms of this folder. What is absent, malformed or of an odd form is simply not there.
 */
#ifndef SYMBOLS_DWARF_DIE_H
#define SYMBOLS_DWARF_DIE_H

#include <stdint.h>

#include "symbols/dwarf-compat.h"
#include "symbols/intervals.h"
#include "symbols/range-lists.h"

/* A file's DWARF and the shared file that it may refer to. */
struct symbols_debug {
	Dwarf_Debug self;
	Dwarf_Debug shared; /* made by dwz; NULL when there is none */
};

bool symbols_die_number(Dwarf_Debug debug, Dwarf_Die die, Dwarf_Half attribute, uint64_t *value);

/* An offset into another section (DW_AT_stmt_list and the like). */
bool symbols_die_offset(Dwarf_Debug debug, Dwarf_Die die, Dwarf_Half attribute, uint64_t *offset);

/* Lives as long as debug is open; NULL when there is none. */
const char *symbols_die_string(Dwarf_Debug debug, Dwarf_Die die, Dwarf_Half attribute);

/* The DIE that an attribute refers to, to be freed, and whose it is. */
bool symbols_die_reference(const struct symbols_debug *debug, Dwarf_Debug from, Dwarf_Die die, Dwarf_Half attribute, Dwarf_Die *target,
			   Dwarf_Debug *whose);

/* The names of a function, its own or those of the DIEs that it is an instance or the definition of. */
struct symbols_die_names {
	const char *name;    /* DW_AT_name */
	const char *linkage; /* DW_AT_linkage_name */
};
void symbols_die_names(const struct symbols_debug *debug, Dwarf_Die die, struct symbols_die_names *names);

/* Where the addresses of ranges come from. */
struct symbols_die_bases {
	uint64_t address; /* the unit's DW_AT_low_pc, which most ranges count from */
	uint64_t ranges;  /* DW_AT_GNU_ranges_base of a split unit before DWARF 5 */
	struct symbols_range_lists lists;
};

enum symbols_die_extent { SYMBOLS_DIE_NO_CODE, SYMBOLS_DIE_HAS_CODE, SYMBOLS_DIE_NO_MEMORY };

/* Adds the addresses of a DIE to intervals for owner; those below lowest were thrown away by the linker and do not count. */
enum symbols_die_extent symbols_die_ranges(Dwarf_Debug debug, Dwarf_Die die, const struct symbols_die_bases *bases, uint64_t lowest,
					   struct symbols_intervals *intervals, uint32_t owner);

#endif
