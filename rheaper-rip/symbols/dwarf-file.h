/* SPDX-License-Identifier: MIT
 *
 * One file's DWARF: which unit has an address, and that unit's answer.
 */
#ifndef SYMBOLS_DWARF_FILE_H
#define SYMBOLS_DWARF_FILE_H

#include "symbols/elf-file.h"
#include "symbols/strings.h"
#include "symbols/symbols.h"

struct symbols_dwarf;

/* Opens and indexes the DWARF in elf, which must stay open as long; binary names the program itself and shared the file that dwz made,
 * or NULL. Strings of lookups are kept in strings or in the file. NULL when there is no unit to be read in it. */
struct symbols_dwarf *symbols_dwarf_open(struct symbols_elf *elf, const char *binary, struct symbols_elf *shared,
					 struct symbols_strings *strings, bool no_demangle);
void symbols_dwarf_close(struct symbols_dwarf *dwarf); /* NULL is fine */

/* Like symbols_lookup; returns how many functions there are at address, which may be more than max, or 0 when DWARF knows none;
 * frames[0] may have a file and a line even then. */
size_t symbols_dwarf_lookup(struct symbols_dwarf *dwarf, uint64_t address, struct symbols_frame *frames, size_t max);

#endif
