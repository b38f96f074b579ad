/* SPDX-License-Identifier: MIT
 *
 * Names for addresses: function, file, line and the inline chain, from DWARF (libdwarf), else from the ELF symbol tables (libelf),
 * demangled by libiberty. Nothing here prints or exits; a damaged file costs its own module's names only.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;        /* everything that was opened */
struct symbols_module; /* one mapped file, owned by its struct symbols */

struct symbols_options {
	const char *const *debug_path; /* further roots with .build-id/ trees and debug files, NULL-terminated; may be NULL */
	const char *sysroot;           /* put before module paths; NULL: none */
	bool no_demangle;
	bool no_dwarf; /* symbol tables only */
	/* Called before the debug information in a file is read, if not NULL. */
	void (*reading)(void *context, const char *path);
	void *context;
};

/* Who named a function. */
enum symbols_source { SYMBOLS_NOBODY, SYMBOLS_DWARF, SYMBOLS_TABLE, SYMBOLS_SOURCES };

/* One function of a place; file and function are NULL when unknown, line is 0 then. Strings live as long as struct symbols. */
struct symbols_frame {
	const char *function; /* demangled */
	const char *linkage;  /* as in the object file; NULL when the same or unknown */
	const char *file;     /* absolute */
	unsigned line;
	enum symbols_source source; /* of function */
};

/* options may be NULL. NULL when memory is out. */
struct symbols *symbols_new(const struct symbols_options *options);
void symbols_free(struct symbols *symbols);

/* Declares a module by its path and build id (size 0: unknown). Opens nothing yet. The same path and build id give the same module.
 * NULL when memory is out. */
struct symbols_module *symbols_module(struct symbols *symbols, const char *path, const void *build_id, size_t build_id_size);

/* Resolves a link-time address (run-time address - load bias; the caller has done the "- 1" for return addresses). Writes at most max frames,
 * innermost inlined function first, the function that really was called last; returns how many, at least 1: an unknown place is one
 * frame of NULLs. */
size_t symbols_lookup(struct symbols_module *module, uint64_t address, struct symbols_frame *frames, size_t max);

/* The file that gave the debug information, or NULL; and a word for how it went: "dwarf", "symtab", "minidebug" (.gnu_debugdata), "dynsym", "stripped",
 * "missing" (no such file), "mismatch" (another build id), "damaged", "anonymous" (no file behind it), "unused" (nothing was looked up). */
const char *symbols_debug_file(const struct symbols_module *module);
const char *symbols_status(const struct symbols_module *module);

/* Why names, or their files and lines, are not there: a few words for people; NULL when there is nothing to explain. */
const char *symbols_reason(const struct symbols_module *module);

#endif
