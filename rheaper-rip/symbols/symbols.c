/* SPDX-License-Identifier: MIT
 *
 * The order of belief for one module: is the file the one that was profiled, its DWARF, a debug file's DWARF, a symbol table, nothing.
 */
#include "config.h"

#include "symbols/symbols.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/debug-file.h"
#include "symbols/demangle.h"
#include "symbols/dwarf-file.h"
#include "symbols/elf-symbols.h"
#include "symbols/mini-debug.h"
#include "symbols/strings.h"

struct symbols_module {
	struct symbols_module *next;
	struct symbols *symbols;
	char *path;
	unsigned char *build_id;
	size_t build_id_size;
	bool opened;
	const char *status;
	const char *reason; /* kept in the strings of symbols; NULL while there is none */
	const char *unread; /* why .gnu_debugdata could not be read; NULL when there is none, it could, or it was not needed */

	struct symbols_elf *file;  /* the module itself; NULL when it is gone or another one */
	struct symbols_elf *debug; /* a separate debug file; NULL when there is none */
	struct symbols_dwarf *dwarf;
	struct symbols_elf *mini;  /* the symbols that the module itself carries compressed; NULL when there are none */
	struct symbols_table table;
	struct symbols_table exported; /* what MiniDebugInfo leaves to the dynamic symbol table; else empty */
	struct symbols_elf *informant; /* of file and debug the one that names come from; NULL when none do */
};

struct symbols {
	struct symbols_options options;
	char **debug_path;
	char *sysroot;
	struct symbols_module *modules;
	struct symbols_strings strings;
};

/* ---- Everything together ---- */

static char **copy_list(const char *const *list)
{
	size_t count = 0;

	while (list[count])
		count++;
	char **copy = calloc(count + 1, sizeof *copy);

	for (size_t i = 0; copy && i < count; i++)
		if (!(copy[i] = strdup(list[i]))) {
			while (i-- > 0)
				free(copy[i]);
			free(copy);
			return NULL;
		}
	return copy;
}

struct symbols *symbols_new(const struct symbols_options *options)
{
	struct symbols *symbols = calloc(1, sizeof *symbols);

	if (!symbols || !options)
		return symbols;
	symbols->options.no_demangle = options->no_demangle;
	symbols->options.no_dwarf = options->no_dwarf;
	symbols->options.reading = options->reading;
	symbols->options.context = options->context;
	if (options->debug_path)
		symbols->debug_path = copy_list(options->debug_path);
	if (options->sysroot)
		symbols->sysroot = strdup(options->sysroot);
	symbols->options.debug_path = (const char *const *)symbols->debug_path;
	symbols->options.sysroot = symbols->sysroot;
	if ((options->debug_path && !symbols->debug_path) || (options->sysroot && !symbols->sysroot)) {
		symbols_free(symbols);
		return NULL;
	}
	return symbols;
}

static void free_module(struct symbols_module *module)
{
	symbols_dwarf_close(module->dwarf);
	symbols_table_free(&module->table);
	symbols_table_free(&module->exported);
	symbols_elf_close(module->mini);
	symbols_elf_close(module->file);
	symbols_elf_close(module->debug);
	free(module->path);
	free(module->build_id);
	free(module);
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	while (symbols->modules) {
		struct symbols_module *next = symbols->modules->next;

		free_module(symbols->modules);
		symbols->modules = next;
	}
	for (char **path = symbols->debug_path; path && *path; path++)
		free(*path);
	free(symbols->debug_path);
	free(symbols->sysroot);
	symbols_strings_free(&symbols->strings);
	free(symbols);
}

struct symbols_module *symbols_module(struct symbols *symbols, const char *path, const void *build_id, size_t build_id_size)
{
	struct symbols_module *module = symbols->modules;

	for (; module; module = module->next)
		if (!strcmp(module->path, path) && module->build_id_size == build_id_size &&
		    (!build_id_size || !memcmp(module->build_id, build_id, build_id_size)))
			return module;
	module = calloc(1, sizeof *module);
	if (!module)
		return NULL;
	module->symbols = symbols;
	module->status = "unused";
	module->path = strdup(path);
	module->build_id = malloc(build_id_size ? build_id_size : 1);
	module->build_id_size = build_id_size;
	if (!module->path || !module->build_id) {
		free_module(module);
		return NULL;
	}
	if (build_id_size)
		memcpy(module->build_id, build_id, build_id_size);
	module->next = symbols->modules;
	symbols->modules = module;
	return module;
}

/* ---- Opening one module ---- */

/* Says why, in words for people; the last word counts. */
__attribute__((format(printf, 2, 3))) static void explain(struct symbols_module *module, const char *format, ...)
{
	char text[PATH_MAX + 256];
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(text, sizeof text, format, arguments);

	va_end(arguments);
	if (length > 0)
		module->reason = symbols_strings_add(&module->symbols->strings, text, strlen(text));
}

/* A build id in hexadecimal, cut where it is longer than any is. */
static const char *hexadecimal(const unsigned char *id, size_t size, char text[2 * 64 + 1])
{
	for (size_t i = 0; i < size && i < 64; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	return text;
}

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), wanted = strlen(end);

	return length >= wanted && !strcmp(text + length - wanted, end);
}

/* The file itself; returns what is to be said if nothing else gives names. */
static const char *open_file(struct symbols_module *module)
{
	char *path = symbols_debug_file_below(module->symbols->options.sysroot, module->path), id[2 * 64 + 1];
	enum symbols_elf_result result = path ? symbols_elf_open(path, &module->file) : SYMBOLS_ELF_MISSING;
	int error = errno;

	free(path);
	switch (result) {
	case SYMBOLS_ELF_MISSING:
		/* proc(5), maps: what the kernel appends to the name of a file that is no more. */
		if (ends_in(module->path, " (deleted)"))
			explain(module, "deleted while it was in use");
		else
			explain(module, "%s", error ? strerror(error) : "not a regular file");
		return "missing";
	case SYMBOLS_ELF_DAMAGED:
		explain(module, "no ELF file, or damaged");
		return "damaged";
	case SYMBOLS_ELF_OK:
		break;
	}
	if (module->build_id_size && !symbols_elf_same_build_id(module->file, module->build_id, module->build_id_size)) {
		if (module->file->build_id_size)
			explain(module, "the file is another build now: %s",
				hexadecimal(module->file->build_id, module->file->build_id_size, id));
		else
			explain(module, "the file is another build now, without a build id");
		symbols_elf_close(module->file);
		module->file = NULL;
		return "mismatch";
	}
	return "stripped";
}

/* Why there is no debug information, which the file itself does not have. */
static void explain_no_debug_file(struct symbols_module *module)
{
	char id[2 * 64 + 1];
	uint32_t crc;
	const char *link = module->file ? symbols_elf_debuglink(module->file, &crc) : NULL;
	const unsigned char *build_id = module->build_id_size ? module->build_id : module->file ? module->file->build_id : NULL;
	size_t size = module->build_id_size ? module->build_id_size : module->file ? module->file->build_id_size : 0;

	if (size)
		explain(module, "no debug file found for build id %s%s%s", hexadecimal(build_id, size, id), module->unread ? "; " : "",
			module->unread ? module->unread : "");
	else if (link)
		explain(module, "no debug file found that fits its debug link %s", link);
	else
		explain(module, "no debug information in it, and neither build id nor debug link");
}

/* The DWARF in elf. False when there is none; *damaged when there is some that cannot be read. */
static bool open_dwarf(struct symbols_module *module, struct symbols_elf *elf, bool *damaged)
{
	if (!elf || module->symbols->options.no_dwarf || !symbols_elf_has_dwarf(elf))
		return false;
	const struct symbols_options *options = &module->symbols->options;

	if (options->reading)
		options->reading(options->context, elf->path);
	struct symbols_elf *shared = symbols_debug_file_shared(options, elf);

	module->dwarf =
	    symbols_dwarf_open(elf, module->file ? module->file->path : elf->path, shared, &module->symbols->strings, options->no_demangle);
	symbols_elf_close(shared);
	if (!module->dwarf) {
		*damaged = true;
		explain(module, "the debug information in %s is damaged", elf->path);
	} else {
		module->informant = elf;
	}
	return module->dwarf;
}

/* The most complete symbol table there is; its word for the status, or NULL. */
static const char *open_table(struct symbols_module *module)
{
	struct symbols_elf *of[] = {module->file, module->debug, module->mini, module->file};
	const uint32_t type[] = {SHT_SYMTAB, SHT_SYMTAB, SHT_SYMTAB, SHT_DYNSYM};
	const char *const word[] = {"symtab", "symtab", "minidebug", "dynsym"};

	for (unsigned i = 0; i < 4; i++) {
		if (i == 2 && !module->mini && module->file)
			of[i] = module->mini = symbols_mini_debug(module->file, &module->unread);
		if (!of[i] || !symbols_table_read(&module->table, of[i], type[i]))
			continue;
		if (of[i] == module->mini)
			symbols_table_read(&module->exported, module->file, SHT_DYNSYM);
		if (!module->informant)
			module->informant = of[i];
		return word[i];
	}
	return NULL;
}

static void open_module(struct symbols_module *module)
{
	bool damaged = false;

	module->opened = true;
	/* "[vdso]", "linux-vdso.so.1", "[heap]": names of the kernel's and the loader's, not of files. */
	if (!strchr(module->path, '/')) {
		module->status = "anonymous";
		explain(module, "no file behind it");
		return;
	}
	const char *otherwise = open_file(module);

	if (!open_dwarf(module, module->file, &damaged)) {
		module->debug =
		    symbols_debug_file_find(&module->symbols->options, module->path, module->file, module->build_id, module->build_id_size);
		open_dwarf(module, module->debug, &damaged);
	}
	const char *table = open_table(module);

	if (module->dwarf)
		module->status = "dwarf";
	else if (damaged)
		module->status = "damaged";
	else
		module->status = table ? table : otherwise;
	if (module->dwarf)
		module->reason = NULL;
	else if (!module->reason)
		explain_no_debug_file(module);
}

/* ---- Lookup ---- */

static void name_from_table(struct symbols_module *module, struct symbols_symbol *symbol, struct symbols_frame *frame)
{
	struct symbols_strings *strings = &module->symbols->strings;

	if (!symbol->readable) {
		const char *version = strchr(symbol->name, '@');
		const char *name = version ? symbols_strings_add(strings, symbol->name, (size_t)(version - symbol->name)) : symbol->name;

		if (!name)
			return;
		symbol->name = name;
		symbol->readable = module->symbols->options.no_demangle ? name : symbols_demangle(strings, name);
	}
	frame->function = symbol->readable;
	frame->linkage = symbol->readable != symbol->name ? symbol->name : NULL;
	if (!frame->source)
		frame->source = SYMBOLS_TABLE;
}

/* Compilers leave the linkage name out where nobody else can link to it: DWARF says "grow<int>" for a function whose symbol is
 * (anonymous namespace)::Heap::grow<int>(int). The symbol is that function's if it is mangled and has the same identifier in it; two
 * functions that the linker folded into one place differ in that. Operators and destructors are spelled differently when mangled. */
static bool completes(const struct symbols_symbol *symbol, const struct symbols_frame *frame)
{
	static const char operator[] = "operator";
	char identifier[256];

	if (frame->linkage || symbol->name[0] != '_' || (symbol->name[1] != 'Z' && symbol->name[1] != 'R'))
		return false;
	const char *name = frame->function + (frame->function[0] == '~');
	size_t length = strcspn(name, "<( ");

	if (!strcmp(symbol->name, frame->function) || !length || length >= sizeof identifier)
		return false;
	memcpy(identifier, name, length);
	identifier[length] = '\0';
	return !strncmp(identifier, operator, sizeof operator- 1) || strstr(symbol->name, identifier);
}

size_t symbols_lookup(struct symbols_module *module, uint64_t address, struct symbols_frame *frames, size_t max)
{
	if (!max)
		return 0;
	memset(frames, 0, max * sizeof *frames);
	if (!module->opened)
		open_module(module);

	size_t count = module->dwarf ? symbols_dwarf_lookup(module->dwarf, address, frames, max) : 0;
	struct symbols_symbol *symbol = count <= max ? symbols_table_find(&module->table, address) : NULL;

	if (!symbol && count <= max)
		symbol = symbols_table_find(&module->exported, address);
	for (size_t i = 0; i < count && i < max; i++)
		frames[i].source = frames[i].function ? SYMBOLS_DWARF : SYMBOLS_NOBODY;
	struct symbols_frame *outermost = &frames[count && count <= max ? count - 1 : 0];

	if (symbol && (!outermost->function || completes(symbol, outermost)))
		name_from_table(module, symbol, outermost);
	if (!count)
		return 1;
	return count < max ? count : max;
}

const char *symbols_debug_file(const struct symbols_module *module)
{
	return module->informant ? module->informant->path : NULL;
}

const char *symbols_status(const struct symbols_module *module)
{
	return module->status;
}

const char *symbols_reason(const struct symbols_module *module)
{
	return module->reason;
}
