/* SPDX-License-Identifier: MIT
 *
 * A symbol table holds functions that nest and many names for one place. They are sorted once so that a lookup meets the best first.
 */
#include "config.h"

#include "symbols/elf-symbols.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* Bits of struct symbols_symbol.rank, the heavier ones first. */
enum {
	RANK_UNSIZED = 16, /* a label in assembly: its end is a guess */
	RANK_LOCAL = 8,
	RANK_WEAK = 4,
	RANK_UNDERSCORES = 3 /* at most: malloc rather than __libc_malloc */
};

static uint8_t rank_of(const GElf_Sym *symbol, const char *name)
{
	uint8_t rank = symbol->st_size ? 0 : RANK_UNSIZED;
	unsigned binding = GELF_ST_BIND(symbol->st_info);

	if (binding == STB_LOCAL)
		rank |= RANK_LOCAL;
	else if (binding == STB_WEAK)
		rank |= RANK_WEAK;
	size_t underscores = strspn(name, "_");

	return rank | (uint8_t)(underscores < RANK_UNDERSCORES ? underscores : RANK_UNDERSCORES);
}

static int by_start(const void *left, const void *right)
{
	const struct symbols_symbol *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	return -strcmp(a->name, b->name);
}

/* Code that a call can be in: functions, and untyped labels in executable sections (assembly). '$' begins the mapping symbols of ARM. */
static bool is_code(const GElf_Sym *symbol, const GElf_Shdr *section, const char *name)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	if (!name[0] || name[0] == '$' || !(section->sh_flags & SHF_EXECINSTR))
		return false;
	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

/* An unsized label reaches to the next symbol, and never out of its section, whose end is what end holds before. */
static void end_unsized(struct symbols_table *table)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = table->count; i-- > 0;) {
		struct symbols_symbol *symbol = &table->at[i];

		if (i + 1 < table->count && table->at[i + 1].start > symbol->start)
			next = table->at[i + 1].start;
		if ((symbol->rank & RANK_UNSIZED) && symbol->end > next)
			symbol->end = next;
	}
}

static bool read_section(struct symbols_table *table, struct symbols_elf *file, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t entry = gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT);
	size_t count = data && data->d_buf && entry ? data->d_size / entry : 0;

	if (!count)
		return false;
	table->at = calloc(count, sizeof *table->at);
	if (!table->at)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Sym symbol;
		GElf_Shdr home;

		/* Symbols of a special section (undefined, absolute, common) are no places in the code. */
		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE)
			continue;
		const char *name = elf_strptr(file->elf, header->sh_link, symbol.st_name);

		if (!name || !gelf_getshdr(elf_getscn(file->elf, symbol.st_shndx), &home) || !is_code(&symbol, &home, name))
			continue;
		uint64_t end = symbol.st_size ? symbol.st_value + symbol.st_size : home.sh_addr + home.sh_size;

		if (end <= symbol.st_value)
			continue;
		table->at[table->count++] = (struct symbols_symbol){symbol.st_value, end, name, NULL, rank_of(&symbol, name)};
	}
	return table->count > 0;
}

bool symbols_table_read(struct symbols_table *table, struct symbols_elf *file, uint32_t section_type)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	*table = (struct symbols_table){0};
	while ((section = elf_nextscn(file->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == section_type)
			break;
	if (!section || !read_section(table, file, section, &header)) {
		symbols_table_free(table);
		return false;
	}
	struct symbols_symbol *fitted = reallocarray(table->at, table->count, sizeof *fitted);

	if (fitted)
		table->at = fitted;
	table->reach = calloc(table->count, sizeof *table->reach);
	if (!table->reach) {
		symbols_table_free(table);
		return false;
	}
	qsort(table->at, table->count, sizeof *table->at, by_start);
	end_unsized(table);
	uint64_t reach = 0;

	for (size_t i = 0; i < table->count; i++) {
		if (table->at[i].end > reach)
			reach = table->at[i].end;
		table->reach[i] = reach;
	}
	return true;
}

struct symbols_symbol *symbols_table_find(const struct symbols_table *table, uint64_t address)
{
	size_t from = 0, to = table->count;
	struct symbols_symbol *unsized = NULL;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (table->at[middle].start <= address)
			from = middle + 1;
		else
			to = middle;
	}
	while (from-- > 0 && table->reach[from] > address) {
		struct symbols_symbol *symbol = &table->at[from];

		if (symbol->end <= address)
			continue;
		/* A label inside of a sized function does not hide the function. */
		if (!(symbol->rank & RANK_UNSIZED))
			return symbol;
		if (!unsized)
			unsized = symbol;
	}
	return unsized;
}

void symbols_table_free(struct symbols_table *table)
{
	free(table->at);
	free(table->reach);
	*table = (struct symbols_table){0};
}
