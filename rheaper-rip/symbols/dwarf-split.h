/* SPDX-License-Identifier: MIT
 *
 * Split DWARF: the .dwp package beside a file, or the .dwo files that its skeleton units name, opened when a lookup needs them.
 */
#ifndef SYMBOLS_DWARF_SPLIT_H
#define SYMBOLS_DWARF_SPLIT_H

#include "symbols/dwarf-unit.h"

struct symbols_split_file;

/* All zero is empty. */
struct symbols_splits {
	struct symbols_split_file *files;
};

/* If skeleton is the DIE of a skeleton unit, finds the unit that it stands for. binary: the file with the skeleton, beside which the
 * package lies. All units of debug must have been stepped through before: libdwarf keeps one place for that and for this. */
enum symbols_split_result { SYMBOLS_SPLIT_WHOLE, SYMBOLS_SPLIT_FOUND, SYMBOLS_SPLIT_MISSING };
enum symbols_split_result symbols_splits_find(struct symbols_splits *splits, Dwarf_Debug debug, const char *binary, Dwarf_Die skeleton,
					      const struct symbols_unit *unit, struct symbols_unit_split *found);

void symbols_splits_free(struct symbols_splits *splits);

#endif
