/* SPDX-License-Identifier: MIT
 *
 * MiniDebugInfo: the section .gnu_debugdata holds, compressed by xz, an ELF file with the symbols that stripping took away (GDB manual,
 * "Debugging information in a special section").
 */
#ifndef SYMBOLS_MINI_DEBUG_H
#define SYMBOLS_MINI_DEBUG_H

#include "symbols/elf-file.h"

/* What module carries; the caller's, to be closed; it has module's path, and does not need module. NULL when there is none, it is damaged,
 * or we were built without liblzma; *unread says in the latter cases why there is none that could be read, else NULL. */
struct symbols_elf *symbols_mini_debug(struct symbols_elf *module, const char **unread);

#endif
