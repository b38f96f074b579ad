/* SPDX-License-Identifier: MIT
 *
 * Units are matched by their 64-bit signature, as a .dwo file may be of another build than the program.
 */
#include "config.h"

#include "symbols/dwarf-split.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/range-lists.h"

struct split_unit {
	Dwarf_Sig8 signature;
	Dwarf_Off die;
};

struct symbols_split_file {
	struct symbols_split_file *next;
	struct symbols_elf *elf;
	Dwarf_Debug debug;
	struct split_unit *units;
	size_t count, room;
	char path[];
};

/* Before DWARF 5 the signature is an attribute and not in the unit's header. */
static bool signature_of(Dwarf_Debug debug, Dwarf_Die die, const struct dwarf_compat_unit *header, Dwarf_Sig8 *signature)
{
	Dwarf_Attribute attribute;

	if (header->version >= 5) {
		*signature = header->signature;
		return true;
	}
	if (!DWARF_CALL(debug, dwarf_attr, die, DW_AT_GNU_dwo_id, &attribute))
		return false;
	bool found = DWARF_CALL(debug, dwarf_formsig8_const, attribute, signature);

	dwarf_dealloc_attribute(attribute);
	return found;
}

static bool add_unit(struct symbols_split_file *file, Dwarf_Sig8 signature, Dwarf_Off die)
{
	if (file->count == file->room) {
		size_t room = file->room ? file->room * 2 : 4;
		struct split_unit *units = reallocarray(file->units, room, sizeof *units);

		if (!units)
			return false;
		file->units = units;
		file->room = room;
	}
	file->units[file->count++] = (struct split_unit){signature, die};
	return true;
}

static void index_units(struct symbols_split_file *file)
{
	struct dwarf_compat_unit header = {0};
	Dwarf_Die die;

	while (dwarf_compat_next_unit(file->debug, &header, &die)) {
		Dwarf_Sig8 signature;
		Dwarf_Off offset;
		bool enough = true;

		if (!die)
			continue;
		if (signature_of(file->debug, die, &header, &signature) && DWARF_CALL(file->debug, dwarf_dieoffset, die, &offset))
			enough = add_unit(file, signature, offset);
		dwarf_dealloc_die(die);
		memset(&header, 0, sizeof header);
		if (!enough)
			break;
	}
}

/* The file at path, opened once; also a file that cannot be opened is remembered, with no units. NULL when memory is out. */
static struct symbols_split_file *open_file(struct symbols_splits *splits, Dwarf_Debug main, const char *path)
{
	struct symbols_split_file *file = splits->files;

	while (file && strcmp(file->path, path))
		file = file->next;
	if (file)
		return file;
	file = calloc(1, sizeof *file + strlen(path) + 1);
	if (!file)
		return NULL;
	strcpy(file->path, path);
	file->next = splits->files;
	splits->files = file;
	if (symbols_elf_open(path, &file->elf) == SYMBOLS_ELF_OK && symbols_lists_are_sound(file->elf))
		file->debug = dwarf_compat_open(path);
	/* Addresses, and before DWARF 5 ranges, are in the file with the skeleton. */
	if (file->debug && DWARF_CALL(file->debug, dwarf_set_tied_dbg, file->debug, main))
		index_units(file);
	return file;
}

static bool find_in(const struct symbols_split_file *file, const Dwarf_Sig8 *signature, struct symbols_unit_split *found)
{
	for (size_t i = 0; file && i < file->count; i++)
		if (!memcmp(&file->units[i].signature, signature, sizeof *signature)) {
			found->debug.self = file->debug;
			found->die = file->units[i].die;
			found->lists = symbols_lists_in(file->elf, true);
			return true;
		}
	return false;
}

static bool find_in_package(struct symbols_splits *splits, Dwarf_Debug debug, const char *binary, const Dwarf_Sig8 *signature,
			    struct symbols_unit_split *found)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof path, "%s.dwp", binary);

	return length > 0 && (size_t)length < sizeof path && find_in(open_file(splits, debug, path), signature, found);
}

static bool find_in_object(struct symbols_splits *splits, Dwarf_Debug debug, const char *binary, Dwarf_Die skeleton, const char *name,
			   const Dwarf_Sig8 *signature, struct symbols_unit_split *found)
{
	char path[PATH_MAX], beside[PATH_MAX];
	const char *directory = symbols_die_string(debug, skeleton, DW_AT_comp_dir);
	int length = snprintf(path, sizeof path, "%s%s%s", name[0] != '/' && directory ? directory : "",
			      name[0] != '/' && directory ? "/" : "", name);

	if (length > 0 && (size_t)length < sizeof path && find_in(open_file(splits, debug, path), signature, found))
		return true;
	/* Moved together with the program. */
	const char *last = strrchr(name, '/');

	if (strlen(binary) >= sizeof beside)
		return false;
	strcpy(beside, binary);
	length = snprintf(path, sizeof path, "%s/%s", dirname(beside), last ? last + 1 : name);
	return length > 0 && (size_t)length < sizeof path && find_in(open_file(splits, debug, path), signature, found);
}

enum symbols_split_result symbols_splits_find(struct symbols_splits *splits, Dwarf_Debug debug, const char *binary, Dwarf_Die skeleton,
					      const struct symbols_unit *unit, struct symbols_unit_split *found)
{
	const struct dwarf_compat_unit header = {unit->version, unit->signature};
	const char *name = symbols_die_string(debug, skeleton, unit->version >= 5 ? DW_AT_dwo_name : DW_AT_GNU_dwo_name);
	Dwarf_Sig8 signature;

	if (!name)
		return SYMBOLS_SPLIT_WHOLE;
	*found = (struct symbols_unit_split){0};
	if (!signature_of(debug, skeleton, &header, &signature))
		return SYMBOLS_SPLIT_MISSING;
	symbols_die_offset(debug, skeleton, DW_AT_GNU_ranges_base, &found->ranges_base);
	return find_in_package(splits, debug, binary, &signature, found) ||
		       find_in_object(splits, debug, binary, skeleton, name, &signature, found)
		   ? SYMBOLS_SPLIT_FOUND
		   : SYMBOLS_SPLIT_MISSING;
}

void symbols_splits_free(struct symbols_splits *splits)
{
	while (splits->files) {
		struct symbols_split_file *file = splits->files;

		splits->files = file->next;
		if (file->debug)
			dwarf_compat_close(file->debug);
		symbols_elf_close(file->elf);
		free(file->units);
		free(file);
	}
}
