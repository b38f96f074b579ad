/* SPDX-License-Identifier: MIT
 *
 * Readable names from linkage names.
 */
#ifndef SYMBOLS_DEMANGLE_H
#define SYMBOLS_DEMANGLE_H

#include "symbols/strings.h"

/* The readable form of a C++, Rust or D linkage name, kept in strings; name itself when it is not mangled or memory is out. */
const char *symbols_demangle(struct symbols_strings *strings, const char *name);

#endif
