/* SPDX-License-Identifier: MIT
 *
 * Function names from one ELF symbol table. Sizes are respected: no name is better than a neighbour's.
 */
#ifndef SYMBOLS_ELF_SYMBOLS_H
#define SYMBOLS_ELF_SYMBOLS_H

#include "symbols/elf-file.h"

struct symbols_symbol {
	uint64_t start, end;  /* [start, end) */
	const char *name;     /* in the file's string table, with the version that some tables append ("@@GLIBC_2.14") */
	const char *readable; /* for the user of the table to keep what name became; NULL at first */
	uint8_t rank;	      /* which of several names of a place is the better one; less is better */
};

/* All zero is empty. Names live as long as the file is open. */
struct symbols_table {
	struct symbols_symbol *at; /* by start, the best of one start last */
	uint64_t *reach;	   /* the greatest end up to here: how far back a search must go */
	size_t count;
};

/* Reads the section of this type (SHT_SYMTAB or SHT_DYNSYM). A damaged table gives what could be read. False when there is no function in
 * it. */
bool symbols_table_read(struct symbols_table *table, struct symbols_elf *file, uint32_t section_type);

/* The innermost function that contains address; NULL when there is none. */
struct symbols_symbol *symbols_table_find(const struct symbols_table *table, uint64_t address);

void symbols_table_free(struct symbols_table *table);

#endif
