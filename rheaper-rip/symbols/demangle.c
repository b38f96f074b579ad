/* SPDX-License-Identifier: MIT
 *
 * libiberty does it; we ask it only about what can be a mangled name, as most names of a C program cannot.
 */
#include "config.h"

#include "symbols/demangle.h"

#ifdef HAVE_LIBIBERTY_DEMANGLE_H
#include <libiberty/demangle.h>
#else
#include <demangle.h>
#endif
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* _Z: Itanium C++ and legacy Rust; _R: Rust v0; _D: D. */
static bool maybe_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == 'D');
}

const char *symbols_demangle(struct symbols_strings *strings, const char *name)
{
	if (!maybe_mangled(name))
		return name;
	char *readable = cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_DLANG | DMGL_AUTO);

	if (!readable)
		return name;
	const char *kept = symbols_strings_add(strings, readable, strlen(readable));

	free(readable);
	return kept ? kept : name;
}
