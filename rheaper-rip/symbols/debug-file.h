/* SPDX-License-Identifier: MIT
 *
 * Where a module's debug information lies when it is not in the module itself.
 */
#ifndef SYMBOLS_DEBUG_FILE_H
#define SYMBOLS_DEBUG_FILE_H

#include "symbols/elf-file.h"
#include "symbols/symbols.h"

/* Looks by build id in the .build-id/ tree of every root, then by the link that module carries (beside it, in .debug/ there, and at its
 * path below every root), where the contents' checksum or the build id must agree. The roots: debug_path, then /usr/lib/debug below
 * sysroot. module may be NULL (the file is gone or another one now), build_id_size 0. NULL when nothing fits; else the caller's. */
struct symbols_elf *symbols_debug_file_find(const struct symbols_options *options, const char *module_path, struct symbols_elf *module,
					    const void *build_id, size_t build_id_size);

/* The shared debug file that dwz made for debug_file; NULL when there is none, the path is gone or another build id is found. */
struct symbols_elf *symbols_debug_file_shared(const struct symbols_options *options, struct symbols_elf *debug_file);

/* path below sysroot; the caller's; NULL when memory is out. */
char *symbols_debug_file_below(const char *sysroot, const char *path);

#endif
