/* SPDX-License-Identifier: MIT
 *
 * Sequences, sorted by address, each a run of rows in one array: a lookup is two binary searches. Names are made when they are asked for.
 */
#include "config.h"

#include "symbols/line-table.h"

#include <dwarf.h>
#include <stdlib.h>

#include "symbols/byte-reader.h"

struct row {
	uint64_t address;
	uint32_t file, line;
};

struct sequence {
	uint64_t low, high;
	size_t first, count; /* in rows */
};

struct file_entry {
	const char *name;
	uint64_t directory;
	const char *path; /* NULL until it was asked for */
};

struct symbols_line_table {
	const char *comp_dir;
	unsigned version;
	const char **directories;
	size_t directory_count;
	struct file_entry *files;
	size_t file_count;
	struct row *rows;
	size_t row_count, row_room;
	struct sequence *sequences;
	size_t sequence_count, sequence_room;
};

struct header {
	unsigned offset_size, address_size;
	unsigned minimum_instruction, line_range, opcode_base;
	int line_base;
	unsigned char lengths[256]; /* operands of the standard opcodes */
	const unsigned char *program;
};

/* Makes room for one more; false when memory is out. */
static bool grow(void **array, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return true;
	size_t wanted = *room ? *room * 2 : 16;
	void *grown = reallocarray(*array, wanted, size);

	if (!grown)
		return false;
	*array = grown;
	*room = wanted;
	return true;
}

/* ---- The header ---- */

static bool add_directory(struct symbols_line_table *table, size_t *room, const char *name)
{
	if (!grow((void **)&table->directories, table->directory_count, room, sizeof *table->directories))
		return false;
	table->directories[table->directory_count++] = name;
	return true;
}

static bool add_file(struct symbols_line_table *table, size_t *room, const char *name, uint64_t directory)
{
	if (!grow((void **)&table->files, table->file_count, room, sizeof *table->files))
		return false;
	table->files[table->file_count++] = (struct file_entry){name, directory, NULL};
	return true;
}

/* Versions 2 to 4: strings up to an empty one. */
static bool read_old_names(struct symbols_line_table *table, struct byte_reader *reader)
{
	size_t directories = 0, files = 0;
	const char *name;

	while ((name = byte_reader_string(reader)) && name[0])
		if (!add_directory(table, &directories, name))
			return false;
	while ((name = byte_reader_string(reader)) && name[0]) {
		uint64_t directory = byte_reader_uleb(reader);

		byte_reader_uleb(reader); /* time */
		byte_reader_uleb(reader); /* size */
		if (!add_file(table, &files, name, directory))
			return false;
	}
	return !reader->failed;
}

static const char *string_at(struct symbols_bytes section, uint64_t offset)
{
	struct byte_reader reader = byte_reader_at(section, offset, false);

	return byte_reader_string(&reader);
}

/* One field of an entry of version 5: its text or its number, or neither when it is of no interest. */
static void read_field(const struct symbols_line_sections *sections, struct byte_reader *reader, unsigned offset_size, uint64_t form,
		       const char **text, uint64_t *number)
{
	switch (form) {
	case DW_FORM_string:
		*text = byte_reader_string(reader);
		break;
	case DW_FORM_line_strp:
		*text = string_at(sections->line_str, byte_reader_number(reader, offset_size));
		break;
	case DW_FORM_strp:
		*text = string_at(sections->str, byte_reader_number(reader, offset_size));
		break;
	case DW_FORM_udata:
		*number = byte_reader_uleb(reader);
		break;
	case DW_FORM_data1:
		*number = byte_reader_number(reader, 1);
		break;
	case DW_FORM_data2:
		*number = byte_reader_number(reader, 2);
		break;
	case DW_FORM_data4:
		*number = byte_reader_number(reader, 4);
		break;
	case DW_FORM_data8:
		*number = byte_reader_number(reader, 8);
		break;
	case DW_FORM_data16:
		byte_reader_skip(reader, 16);
		break;
	case DW_FORM_block:
		byte_reader_skip(reader, byte_reader_uleb(reader));
		break;
	default: /* of unknown size: nothing after it can be read */
		reader->failed = true;
	}
}

/* One table of version 5, that of the directories or that of the files: a description of its fields, then the entries. */
static bool read_entries(struct symbols_line_table *table, const struct symbols_line_sections *sections, struct byte_reader *reader,
			 unsigned offset_size, bool directories)
{
	uint64_t content[256], form[256];
	unsigned fields = (unsigned)byte_reader_number(reader, 1);
	size_t room = 0;

	for (unsigned i = 0; i < fields; i++) {
		content[i] = byte_reader_uleb(reader);
		form[i] = byte_reader_uleb(reader);
	}
	uint64_t count = byte_reader_uleb(reader);

	/* Entries without fields take no bytes: their number alone would decide how long we are busy. */
	for (uint64_t i = 0; fields && i < count && !reader->failed; i++) {
		const char *name = NULL;
		uint64_t directory = 0;

		for (unsigned field = 0; field < fields; field++) {
			const char *text = NULL;
			uint64_t number = 0;

			read_field(sections, reader, offset_size, form[field], &text, &number);
			if (content[field] == DW_LNCT_path)
				name = text;
			else if (content[field] == DW_LNCT_directory_index)
				directory = number;
		}
		if (!(directories ? add_directory(table, &room, name) : add_file(table, &room, name, directory)))
			return false;
	}
	return !reader->failed;
}

static bool read_header(struct symbols_line_table *table, const struct symbols_line_sections *sections, struct byte_reader *reader,
			struct header *header)
{
	uint64_t length = byte_reader_initial_length(reader, &header->offset_size);

	if (length < byte_reader_left(reader))
		reader->end = reader->at + length;
	table->version = (unsigned)byte_reader_number(reader, 2);
	if (table->version < 2 || table->version > 5)
		return false;
	header->address_size = 8;
	if (table->version == 5) {
		header->address_size = (unsigned)byte_reader_number(reader, 1);
		byte_reader_number(reader, 1); /* segment selectors are not in use anywhere */
	}
	uint64_t header_length = byte_reader_number(reader, header->offset_size);

	if (header_length > byte_reader_left(reader))
		return false;
	header->program = reader->at + header_length;
	header->minimum_instruction = (unsigned)byte_reader_number(reader, 1);
	if (table->version >= 4)
		byte_reader_number(reader, 1); /* operations an instruction: more than 1 only on VLIW machines */
	byte_reader_number(reader, 1);	       /* is_stmt: a profile wants every row */
	header->line_base = (int8_t)byte_reader_number(reader, 1);
	header->line_range = (unsigned)byte_reader_number(reader, 1);
	header->opcode_base = (unsigned)byte_reader_number(reader, 1);
	for (unsigned i = 1; i < header->opcode_base; i++)
		header->lengths[i] = (unsigned char)byte_reader_number(reader, 1);
	if (reader->failed || !header->line_range)
		return false;
	if (table->version < 5)
		return read_old_names(table, reader);
	return read_entries(table, sections, reader, header->offset_size, true) &&
	       read_entries(table, sections, reader, header->offset_size, false);
}

/* ---- The program ---- */

struct machine {
	uint64_t address;
	uint32_t file, line;
	size_t first; /* the current sequence's first row */
};

static const struct machine start_of_sequence = {.file = 1, .line = 1};

/* Rows that say nothing new are left out: of several at one address the last counts, and one place needs one row. */
static bool add_row(struct symbols_line_table *table, const struct machine *machine)
{
	struct row *last = table->row_count > machine->first ? &table->rows[table->row_count - 1] : NULL;

	if (last && last->address == machine->address) {
		last->file = machine->file;
		last->line = machine->line;
		return true;
	}
	if (last && last->file == machine->file && last->line == machine->line)
		return true;
	if (!grow((void **)&table->rows, table->row_count, &table->row_room, sizeof *table->rows))
		return false;
	table->rows[table->row_count++] = (struct row){machine->address, machine->file, machine->line};
	return true;
}

static bool end_sequence(struct symbols_line_table *table, struct machine *machine, uint64_t lowest)
{
	size_t count = table->row_count - machine->first;
	uint64_t low = count ? table->rows[machine->first].address : 0;

	if (!count || low < lowest || low >= machine->address) {
		table->row_count = machine->first;
	} else {
		if (!grow((void **)&table->sequences, table->sequence_count, &table->sequence_room, sizeof *table->sequences))
			return false;
		table->sequences[table->sequence_count++] = (struct sequence){low, machine->address, machine->first, count};
	}
	*machine = start_of_sequence;
	machine->first = table->row_count;
	return true;
}

/* False when memory is out. */
static bool extended_opcode(struct symbols_line_table *table, struct byte_reader *reader, struct machine *machine, uint64_t lowest)
{
	uint64_t size = byte_reader_uleb(reader);

	if (!size || size > byte_reader_left(reader)) {
		reader->failed = true;
		return true;
	}
	const unsigned char *next = reader->at + size;
	bool enough = true;

	switch (byte_reader_number(reader, 1)) {
	case DW_LNE_end_sequence:
		enough = end_sequence(table, machine, lowest);
		break;
	case DW_LNE_set_address:
		machine->address = byte_reader_number(reader, size - 1 < 8 ? (unsigned)size - 1 : 8);
		break;
	default: /* discriminators and what vendors added */
		break;
	}
	reader->at = next;
	return enough;
}

static void standard_opcode(const struct header *header, struct byte_reader *reader, struct machine *machine, unsigned opcode)
{
	switch (opcode) {
	case DW_LNS_advance_pc:
		machine->address += byte_reader_uleb(reader) * header->minimum_instruction;
		break;
	case DW_LNS_advance_line:
		machine->line += (uint32_t)byte_reader_sleb(reader);
		break;
	case DW_LNS_set_file:
		machine->file = (uint32_t)byte_reader_uleb(reader);
		break;
	case DW_LNS_const_add_pc:
		machine->address += (255 - header->opcode_base) / header->line_range * header->minimum_instruction;
		break;
	case DW_LNS_fixed_advance_pc:
		machine->address += byte_reader_number(reader, 2);
		break;
	default:
		for (unsigned i = 0; i < header->lengths[opcode]; i++)
			byte_reader_uleb(reader);
	}
}

/* False when memory is out. */
static bool run(struct symbols_line_table *table, const struct header *header, struct byte_reader *reader, uint64_t lowest)
{
	struct machine machine = start_of_sequence;
	bool enough = true;

	while (enough && byte_reader_left(reader)) {
		unsigned opcode = *reader->at++;

		if (opcode >= header->opcode_base) {
			unsigned step = opcode - header->opcode_base;

			machine.address += step / header->line_range * header->minimum_instruction;
			machine.line += (uint32_t)(header->line_base + (int)(step % header->line_range));
			enough = add_row(table, &machine);
		} else if (opcode == 0) {
			enough = extended_opcode(table, reader, &machine, lowest);
		} else if (opcode == DW_LNS_copy) {
			enough = add_row(table, &machine);
		} else {
			standard_opcode(header, reader, &machine, opcode);
		}
	}
	table->row_count = machine.first; /* rows whose sequence has no end cover nothing */
	return enough;
}

static int by_low(const void *left, const void *right)
{
	const struct sequence *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

struct symbols_line_table *symbols_lines_read(const struct symbols_line_sections *sections, uint64_t offset, const char *comp_dir,
					      uint64_t lowest)
{
	struct byte_reader reader = byte_reader_at(sections->line, offset, sections->big_endian);
	struct symbols_line_table *table = calloc(1, sizeof *table);
	struct header header = {0};

	if (!table)
		return NULL;
	table->comp_dir = comp_dir;
	if (!read_header(table, sections, &reader, &header)) {
		symbols_lines_free(table);
		return NULL;
	}
	reader.at = header.program;
	if (!run(table, &header, &reader, lowest)) {
		symbols_lines_free(table);
		return NULL;
	}
	if (table->sequence_count)
		qsort(table->sequences, table->sequence_count, sizeof *table->sequences, by_low);
	return table;
}

void symbols_lines_free(struct symbols_line_table *table)
{
	if (!table)
		return;
	free(table->directories);
	free(table->files);
	free(table->rows);
	free(table->sequences);
	free(table);
}

bool symbols_lines_find(const struct symbols_line_table *table, uint64_t address, uint32_t *file, uint32_t *line)
{
	size_t from = 0, to = table->sequence_count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (table->sequences[middle].low <= address)
			from = middle + 1;
		else
			to = middle;
	}
	if (!from || address >= table->sequences[from - 1].high)
		return false;
	const struct sequence *sequence = &table->sequences[from - 1];

	from = sequence->first;
	to = sequence->first + sequence->count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (table->rows[middle].address <= address)
			from = middle + 1;
		else
			to = middle;
	}
	/* The first row starts the sequence; only a program that runs backwards could lead before it. */
	const struct row *row = &table->rows[from > sequence->first ? from - 1 : sequence->first];

	*file = row->file;
	*line = row->line;
	return true;
}

/* ---- Names ---- */

/* A file's directory; the unit's own is number 0, which only version 5 writes down. */
static const char *directory_of(const struct symbols_line_table *table, const struct file_entry *file)
{
	uint64_t index = file->directory;

	if (table->version < 5 && index-- == 0)
		return NULL;
	return index < table->directory_count ? table->directories[index] : NULL;
}

const char *symbols_lines_file(struct symbols_line_table *table, struct symbols_strings *strings, uint64_t number)
{
	if (table->version < 5 && number-- == 0)
		return NULL;
	if (number >= table->file_count || !table->files[number].name)
		return NULL;
	struct file_entry *file = &table->files[number];

	if (!file->path) {
		const char *directory = directory_of(table, file);
		const char *path = symbols_strings_path(strings, directory, file->name);

		/* A file in a relative directory, or in none, is below the unit's own. */
		if (path && path[0] != '/')
			path = symbols_strings_path(strings, table->comp_dir, path);
		file->path = path;
	}
	return file->path;
}
