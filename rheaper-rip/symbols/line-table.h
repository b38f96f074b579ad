/* SPDX-License-Identifier: MIT
 *
 * One unit's line table, from .debug_line of DWARF 2 to 5. Decoded here and not by libdwarf, because libdwarf 20210528 starts DWARF 5
 * line programs with file 0 where the standard (DWARF 5, 6.2.2) says 1, and nothing afterwards tells such rows from real file 0 rows.
 */
#ifndef SYMBOLS_LINE_TABLE_H
#define SYMBOLS_LINE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/elf-file.h"
#include "symbols/strings.h"

struct symbols_line_table;

/* The sections that line tables are made of; they must outlive the tables. */
struct symbols_line_sections {
	struct symbols_bytes line, line_str, str;
	bool big_endian;
};

/* Decodes the table at offset. comp_dir is the unit's, may be NULL, must outlive the table. Code below lowest was thrown away by
 * the linker and is left out. A damaged program gives the rows before the damage. NULL when nothing could be had. */
struct symbols_line_table *symbols_lines_read(const struct symbols_line_sections *sections, uint64_t offset, const char *comp_dir,
					      uint64_t lowest);
void symbols_lines_free(struct symbols_line_table *table); /* NULL is fine */

/* False when no row covers address. line is 0 for code that belongs to no line. */
bool symbols_lines_find(const struct symbols_line_table *table, uint64_t address, uint32_t *file, uint32_t *line);

/* The path of a file by its number, as rows and call_file attributes have it; absolute unless the unit's own directory is not.
 * Kept in strings; NULL for a number out of range. */
const char *symbols_lines_file(struct symbols_line_table *table, struct symbols_strings *strings, uint64_t file);

#endif
