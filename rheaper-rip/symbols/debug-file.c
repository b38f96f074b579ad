/* SPDX-License-Identifier: MIT
 *
 * The search that debuggers do (GDB manual, "Debugging Information in Separate Files"), with identity checked before a file is believed.
 */
#include "config.h"

#include "symbols/debug-file.h"

#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define SYSTEM_ROOT "/usr/lib/debug"

char *symbols_debug_file_below(const char *sysroot, const char *path)
{
	char *below;

	if (!sysroot || !sysroot[0])
		return strdup(path);
	return asprintf(&below, "%s%s%s", sysroot, path[0] == '/' ? "" : "/", path) < 0 ? NULL : below;
}

/* Root number i of the search; false behind the last. */
static bool root(const struct symbols_options *options, size_t i, char *path, size_t size)
{
	size_t own = 0;

	while (options->debug_path && options->debug_path[own])
		own++;
	if (i < own)
		snprintf(path, size, "%s", options->debug_path[i]);
	else
		snprintf(path, size, "%s%s", options->sysroot ? options->sysroot : "", SYSTEM_ROOT);
	return i <= own;
}

__attribute__((format(printf, 1, 2))) static struct symbols_elf *open_path(const char *format, ...)
{
	char path[PATH_MAX];
	struct symbols_elf *file = NULL;
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(path, sizeof path, format, arguments);

	va_end(arguments);
	if (length <= 0 || (size_t)length >= sizeof path)
		return NULL; /* a cut path would name another file */
	return symbols_elf_open(path, &file) == SYMBOLS_ELF_OK ? file : NULL;
}

static struct symbols_elf *by_build_id(const struct symbols_options *options, const unsigned char *id, size_t size)
{
	char hex[2 * 64 + 1], path[PATH_MAX];

	if (size < 2 || size > (sizeof hex - 1) / 2)
		return NULL;
	for (size_t i = 0; i < size; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	for (size_t i = 0; root(options, i, path, sizeof path); i++) {
		struct symbols_elf *file = open_path("%s/.build-id/%.2s/%s.debug", path, hex, hex + 2);

		if (file && symbols_elf_same_build_id(file, id, size))
			return file;
		symbols_elf_close(file);
	}
	return NULL;
}

static bool same_crc(struct symbols_elf *file, uint32_t crc)
{
	size_t size;
	const char *bytes = elf_rawfile(file->elf, &size);

	return bytes && crc32_z(crc32_z(0, NULL, 0), (const unsigned char *)bytes, size) == crc;
}

/* Takes candidate over: returns it when it belongs to module, else closes it. A build id on both sides decides without reading it all. */
static struct symbols_elf *belongs(struct symbols_elf *candidate, struct symbols_elf *module, uint32_t crc)
{
	if (!candidate)
		return NULL;
	bool both = candidate->build_id_size && module->build_id_size;

	if (both ? symbols_elf_same_build_id(candidate, module->build_id, module->build_id_size) : same_crc(candidate, crc))
		return candidate;
	symbols_elf_close(candidate);
	return NULL;
}

static struct symbols_elf *by_link(const struct symbols_options *options, const char *module_path, struct symbols_elf *module)
{
	uint32_t crc;
	const char *link = symbols_elf_debuglink(module, &crc);
	char path[PATH_MAX], beside[PATH_MAX], home[PATH_MAX];
	struct symbols_elf *file;

	/* A link is a bare name: one with a slash could lead anywhere. */
	if (!link || strchr(link, '/') || strlen(module_path) >= sizeof home)
		return NULL;
	strcpy(beside, module->path);
	const char *directory = dirname(beside);

	if ((file = belongs(open_path("%s/%s", directory, link), module, crc)) ||
	    (file = belongs(open_path("%s/.debug/%s", directory, link), module, crc)))
		return file;
	strcpy(home, module_path);
	directory = dirname(home);
	for (size_t i = 0; root(options, i, path, sizeof path); i++)
		if ((file = belongs(open_path("%s%s%s/%s", path, directory[0] == '/' ? "" : "/", directory, link), module, crc)) ||
		    (file = belongs(open_path("%s/%s", path, link), module, crc)))
			return file;
	return NULL;
}

struct symbols_elf *symbols_debug_file_find(const struct symbols_options *options, const char *module_path, struct symbols_elf *module,
					    const void *build_id, size_t build_id_size)
{
	struct symbols_elf *file = NULL;

	if (build_id_size)
		file = by_build_id(options, build_id, build_id_size);
	else if (module && module->build_id_size)
		file = by_build_id(options, module->build_id, module->build_id_size);
	if (!file && module)
		file = by_link(options, module_path, module);
	/* The tree may hold the stripped file itself under this name. */
	if (file && !symbols_elf_has_dwarf(file) && module && symbols_elf_has_dwarf(module)) {
		symbols_elf_close(file);
		file = NULL;
	}
	return file;
}

struct symbols_elf *symbols_debug_file_shared(const struct symbols_options *options, struct symbols_elf *debug_file)
{
	struct symbols_bytes id;
	const char *link = symbols_elf_altlink(debug_file, &id);
	char beside[PATH_MAX];

	if (!link || strlen(debug_file->path) >= sizeof beside)
		return NULL;
	/* A relative link counts from where the file really lies, as .build-id/ is often a tree of symbolic links. */
	if (!realpath(debug_file->path, beside))
		strcpy(beside, debug_file->path);
	struct symbols_elf *file =
	    link[0] == '/' ? open_path("%s%s", options->sysroot ? options->sysroot : "", link) : open_path("%s/%s", dirname(beside), link);

	if (file && symbols_elf_same_build_id(file, id.at, id.size))
		return file;
	symbols_elf_close(file);
	return by_build_id(options, id.at, id.size);
}
