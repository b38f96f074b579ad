/* SPDX-License-Identifier: MIT
 *
 * DWARF 5, 2.17.3 and 7.25 (the entries), 7.28 and 7.29 (the headers, which location lists have too).
 */
#include "config.h"

#include "symbols/range-lists.h"

#include <gelf.h>

#define HEADER_SIZE 12	  /* of a table in 32-bit DWARF */
#define HEADER_SIZE_64 20 /* in 64-bit DWARF, whose length begins with 0xffffffff */

static bool is_big_endian(struct symbols_elf *elf)
{
	GElf_Ehdr header;

	return gelf_getehdr(elf->elf, &header) && header.e_ident[EI_DATA] == ELFDATA2MSB;
}

struct symbols_range_lists symbols_lists_in(struct symbols_elf *elf, bool split)
{
	return (struct symbols_range_lists){
	    .section = symbols_elf_section(elf, split ? ".debug_rnglists.dwo" : ".debug_rnglists"),
	    .address_size = gelf_getclass(elf->elf) == ELFCLASS32 ? 4 : 8,
	    .big_endian = is_big_endian(elf),
	};
}

static bool is_64_bit(const struct symbols_range_lists *lists, uint64_t table)
{
	struct byte_reader reader = byte_reader_at(lists->section, table, lists->big_endian);

	return byte_reader_number(&reader, 4) == UINT32_MAX;
}

void symbols_lists_set_base(struct symbols_range_lists *lists, Dwarf_Debug debug, Dwarf_Die die)
{
	Dwarf_Attribute attribute;
	Dwarf_Off base;
	Dwarf_Debug_Fission_Per_CU package = {0};
	uint64_t table = 0;

	if (DWARF_CALL(debug, dwarf_attr, die, DW_AT_rnglists_base, &attribute)) {
		bool found = DWARF_CALL(debug, dwarf_global_formref, attribute, &base);

		dwarf_dealloc_attribute(attribute);
		if (found) {
			lists->base = base;
			return;
		}
	}
	/* A split unit has the first table of its file, or of its share of a package. */
	if (DWARF_CALL(debug, dwarf_get_debugfission_for_die, die, &package) && package.pcu_type)
		table = package.pcu_offset[DW_SECT_RNGLISTS];
	lists->base = table + (is_64_bit(lists, table) ? HEADER_SIZE_64 : HEADER_SIZE);
}

/* Where list number index is; past the section when there is no such list. */
static uint64_t indexed_list(const struct symbols_range_lists *lists, uint64_t index)
{
	bool wide = lists->base >= HEADER_SIZE_64 && is_64_bit(lists, lists->base - HEADER_SIZE_64);
	unsigned size = wide ? 8 : 4;

	if (index > lists->section.size / size)
		return UINT64_MAX;
	struct byte_reader reader = byte_reader_at(lists->section, lists->base + index * size, lists->big_endian);
	uint64_t offset = byte_reader_number(&reader, size);

	return reader.failed ? UINT64_MAX : lists->base + offset;
}

void symbols_lists_start(struct symbols_range_cursor *cursor, const struct symbols_range_lists *lists, Dwarf_Debug debug, Dwarf_Die die,
			 Dwarf_Half form, uint64_t value, uint64_t base_address)
{
	uint64_t offset = form == DW_FORM_rnglistx ? indexed_list(lists, value) : value;

	*cursor = (struct symbols_range_cursor){lists, byte_reader_at(lists->section, offset, lists->big_endian), debug, die, base_address};
}

/* Address number index of .debug_addr, which libdwarf finds in the file with the skeleton where the unit is split. */
static uint64_t indexed_address(struct symbols_range_cursor *cursor)
{
	Dwarf_Addr address = 0;
	uint64_t index = byte_reader_uleb(&cursor->reader);

	if (cursor->reader.failed || !DWARF_CALL(cursor->debug, dwarf_debug_addr_index_to_addr, cursor->die, index, &address))
		cursor->reader.failed = true;
	return address;
}

bool symbols_lists_next(struct symbols_range_cursor *cursor, uint64_t *low, uint64_t *high)
{
	struct byte_reader *reader = &cursor->reader;
	unsigned size = cursor->lists->address_size;

	while (byte_reader_left(reader)) {
		switch (byte_reader_number(reader, 1)) {
		case DW_RLE_base_addressx:
			cursor->base = indexed_address(cursor);
			continue;
		case DW_RLE_base_address:
			cursor->base = byte_reader_number(reader, size);
			continue;
		case DW_RLE_startx_endx:
			*low = indexed_address(cursor);
			*high = indexed_address(cursor);
			break;
		case DW_RLE_startx_length:
			*low = indexed_address(cursor);
			*high = *low + byte_reader_uleb(reader);
			break;
		case DW_RLE_offset_pair:
			*low = cursor->base + byte_reader_uleb(reader);
			*high = cursor->base + byte_reader_uleb(reader);
			break;
		case DW_RLE_start_end:
			*low = byte_reader_number(reader, size);
			*high = byte_reader_number(reader, size);
			break;
		case DW_RLE_start_length:
			*low = byte_reader_number(reader, size);
			*high = *low + byte_reader_uleb(reader);
			break;
		default: /* the end of the list, or what cannot be understood */
			reader->failed = true;
		}
		return !reader->failed;
	}
	return false;
}

static bool is_sound(struct byte_reader *reader)
{
	unsigned offset_size;
	uint64_t length = byte_reader_initial_length(reader, &offset_size);

	if (length > byte_reader_left(reader))
		return false;
	const unsigned char *next = reader->at + length;
	uint64_t version = byte_reader_number(reader, 2);
	uint64_t address_size = byte_reader_number(reader, 1);
	uint64_t selector_size = byte_reader_number(reader, 1);
	uint64_t offsets = byte_reader_number(reader, 4) * offset_size;

	if (reader->failed || version != 5 || (address_size != 4 && address_size != 8) || selector_size || reader->at > next ||
	    offsets > (uint64_t)(next - reader->at))
		return false;
	reader->at = next;
	return true;
}

bool symbols_lists_are_sound(struct symbols_elf *elf)
{
	static const char *const names[] = {".debug_rnglists", ".debug_rnglists.dwo", ".debug_loclists", ".debug_loclists.dwo"};
	bool big_endian = is_big_endian(elf);

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct byte_reader reader = byte_reader_at(symbols_elf_section(elf, names[i]), 0, big_endian);

		while (byte_reader_left(&reader))
			if (!is_sound(&reader))
				return false;
	}
	return true;
}
