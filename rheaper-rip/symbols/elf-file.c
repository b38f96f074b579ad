/* SPDX-License-Identifier: MIT
 *
 * libelf with its errors turned into "is not there": whatever cannot be read from a damaged file is simply missing.
 */
#include "config.h"

#include "symbols/elf-file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Finds a build id in a run of notes. */
static bool build_id_in(struct symbols_elf *file, Elf_Data *notes)
{
	GElf_Nhdr note;
	size_t offset = 0, next, name, description;

	while (notes && (next = gelf_getnote(notes, offset, &note, &name, &description)) > 0) {
		const char *bytes = notes->d_buf;

		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU && note.n_descsz > 0 &&
		    !memcmp(bytes + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU)) {
			file->build_id = (const unsigned char *)bytes + description;
			file->build_id_size = note.n_descsz;
			return true;
		}
		offset = next;
	}
	return false;
}

static void read_build_id(struct symbols_elf *file)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t segments = 0;

	while ((section = elf_nextscn(file->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE && build_id_in(file, elf_getdata(section, NULL)))
			return;
	/* The section headers may be stripped. */
	if (elf_getphdrnum(file->elf, &segments))
		return;
	for (size_t i = 0; i < segments; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(file->elf, (int)i, &segment) || segment.p_type != PT_NOTE)
			continue;
		Elf_Type type = segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;

		if (build_id_in(file, elf_getdata_rawchunk(file->elf, (int64_t)segment.p_offset, segment.p_filesz, type)))
			return;
	}
}

static void read_code_start(struct symbols_elf *file)
{
	size_t segments = 0;
	uint64_t lowest = UINT64_MAX;

	if (elf_getphdrnum(file->elf, &segments))
		return;
	for (size_t i = 0; i < segments; i++) {
		GElf_Phdr segment;

		if (gelf_getphdr(file->elf, (int)i, &segment) && segment.p_type == PT_LOAD && (segment.p_flags & PF_X) &&
		    segment.p_vaddr < lowest)
			lowest = segment.p_vaddr;
	}
	file->code_start = lowest == UINT64_MAX ? 0 : lowest;
}

/* The mapping is private: libelf writes to it when it uncompresses a section. */
static Elf *map(int descriptor)
{
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(descriptor, ELF_C_READ_MMAP_PRIVATE, NULL);

	if (elf && (elf_kind(elf) != ELF_K_ELF || elf_cntl(elf, ELF_C_FDREAD))) {
		elf_end(elf);
		elf = NULL;
	}
	return elf;
}

enum symbols_elf_result symbols_elf_open(const char *path, struct symbols_elf **opened)
{
	/* O_NONBLOCK: a FIFO in a file's place must not stop us. */
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (descriptor < 0)
		return SYMBOLS_ELF_MISSING;
	if (fstat(descriptor, &status) || !S_ISREG(status.st_mode)) {
		close(descriptor);
		errno = 0;
		return SYMBOLS_ELF_MISSING;
	}
	struct symbols_elf *file = calloc(1, sizeof *file);

	if (file) {
		file->path = strdup(path);
		file->elf = map(descriptor);
	}
	close(descriptor);
	if (!file || !file->path || !file->elf) {
		symbols_elf_close(file);
		return SYMBOLS_ELF_DAMAGED;
	}
	read_build_id(file);
	read_code_start(file);
	*opened = file;
	return SYMBOLS_ELF_OK;
}

enum symbols_elf_result symbols_elf_open_memory(const char *path, void *memory, size_t size, struct symbols_elf **opened)
{
	struct symbols_elf *file = calloc(1, sizeof *file);

	elf_version(EV_CURRENT);
	if (!file) {
		free(memory);
		return SYMBOLS_ELF_DAMAGED;
	}
	file->memory = memory;
	file->path = strdup(path);
	file->elf = elf_memory(memory, size);
	if (!file->path || !file->elf || elf_kind(file->elf) != ELF_K_ELF) {
		symbols_elf_close(file);
		return SYMBOLS_ELF_DAMAGED;
	}
	*opened = file;
	return SYMBOLS_ELF_OK;
}

void symbols_elf_close(struct symbols_elf *file)
{
	if (!file)
		return;
	elf_end(file->elf);
	free(file->memory);
	free(file->path);
	free(file);
}

bool symbols_elf_same_build_id(const struct symbols_elf *file, const void *build_id, size_t size)
{
	return size && file->build_id_size == size && !memcmp(file->build_id, build_id, size);
}

static Elf_Scn *find_section(struct symbols_elf *file, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return NULL;
	while ((section = elf_nextscn(file->elf, section))) {
		if (!gelf_getshdr(section, header) || header->sh_type == SHT_NOBITS)
			continue;
		const char *found = elf_strptr(file->elf, names, header->sh_name);

		if (found && !strcmp(found, name))
			return section;
	}
	return NULL;
}

struct symbols_bytes symbols_elf_section(struct symbols_elf *file, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = find_section(file, name, &header);

	/* Two ways of compression: the flag of the ELF standard, and GNU's older sections named .zdebug_*. */
	if (section && (header.sh_flags & SHF_COMPRESSED)) {
		if (elf_compress(section, 0, 0) < 0)
			return (struct symbols_bytes){0};
	} else if (!section && !strncmp(name, ".debug_", 7)) {
		char old[64] = ".z";

		strncat(old, name + 1, sizeof old - 3);
		section = find_section(file, old, &header);
		if (section && elf_compress_gnu(section, 0, 0) < 0)
			return (struct symbols_bytes){0};
	}
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;

	if (!data || !data->d_buf)
		return (struct symbols_bytes){0};
	return (struct symbols_bytes){data->d_buf, data->d_size};
}

bool symbols_elf_has_dwarf(struct symbols_elf *file)
{
	GElf_Shdr header;

	return find_section(file, ".debug_info", &header) || find_section(file, ".zdebug_info", &header);
}

/* Both link sections begin with a NUL-terminated path; 0 when that is missing. */
static size_t path_length(struct symbols_bytes link)
{
	size_t length = link.size ? strnlen((const char *)link.at, link.size) : 0;

	return length < link.size ? length : 0;
}

const char *symbols_elf_debuglink(struct symbols_elf *file, uint32_t *crc)
{
	struct symbols_bytes link = symbols_elf_section(file, ".gnu_debuglink");
	size_t length = path_length(link);
	size_t after = (length + 1 + 3) & ~(size_t)3; /* the CRC is aligned to 4 bytes */

	if (!length || after + sizeof *crc > link.size)
		return NULL;
	memcpy(crc, link.at + after, sizeof *crc);
	return (const char *)link.at;
}

const char *symbols_elf_altlink(struct symbols_elf *file, struct symbols_bytes *build_id)
{
	struct symbols_bytes link = symbols_elf_section(file, ".gnu_debugaltlink");
	size_t length = path_length(link);

	if (!length)
		return NULL;
	*build_id = (struct symbols_bytes){link.at + length + 1, link.size - length - 1};
	return (const char *)link.at;
}
