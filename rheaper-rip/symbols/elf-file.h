/* SPDX-License-Identifier: MIT
 *
 * One ELF file, mapped and read through libelf: identity, links to other files, section contents. Its addresses are link-time addresses.
 */
#ifndef SYMBOLS_ELF_FILE_H
#define SYMBOLS_ELF_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols_elf {
	Elf *elf;
	char *path;
	const unsigned char *build_id; /* NULL when it has none */
	size_t build_id_size;
	uint64_t code_start; /* lowest address of an executable segment; 0 when there is none */
	void *memory;	     /* where it lies when it is no file of its own; else NULL */
};

struct symbols_bytes {
	const unsigned char *at;
	size_t size;
};

enum symbols_elf_result { SYMBOLS_ELF_OK, SYMBOLS_ELF_MISSING, SYMBOLS_ELF_DAMAGED };

/* On OK *file is the caller's, to be closed; it holds no descriptor. Everything that is not a regular file that can be opened is
 * MISSING (errno: why, 0: not a regular file), everything that is no ELF object (or for which memory is out) DAMAGED. */
enum symbols_elf_result symbols_elf_open(const char *path, struct symbols_elf **file);
/* The same for an object in memory, which is taken over in every case: from malloc, and path is a name for it. */
enum symbols_elf_result symbols_elf_open_memory(const char *path, void *memory, size_t size, struct symbols_elf **file);
void symbols_elf_close(struct symbols_elf *file); /* NULL is fine */

bool symbols_elf_same_build_id(const struct symbols_elf *file, const void *build_id, size_t size);

/* The contents, uncompressed, valid until the file is closed; size 0 when there is no such section or none in this file. */
struct symbols_bytes symbols_elf_section(struct symbols_elf *file, const char *name);

/* Whether the file itself carries debug information. */
bool symbols_elf_has_dwarf(struct symbols_elf *file);

/* .gnu_debuglink: the name of the debug file and the CRC-32 of its contents; NULL when there is none. */
const char *symbols_elf_debuglink(struct symbols_elf *file, uint32_t *crc);

/* .gnu_debugaltlink (written by dwz): the shared debug file's path and build id; NULL when there is none. */
const char *symbols_elf_altlink(struct symbols_elf *file, struct symbols_bytes *build_id);

#endif
