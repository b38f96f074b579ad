/* SPDX-License-Identifier: MIT
 *
 * The memory behind every string that the symbolizer hands out: it only grows, and all of it goes at once with its struct symbols.
 */
#ifndef SYMBOLS_STRINGS_H
#define SYMBOLS_STRINGS_H

#include <stddef.h>

struct symbols_strings_block;

/* All zero is empty and ready. */
struct symbols_strings {
	struct symbols_strings_block *blocks;
	size_t used; /* bytes of the newest block */
};

/* A copy of length bytes and a NUL; NULL when memory is out. */
const char *symbols_strings_add(struct symbols_strings *strings, const char *text, size_t length);

/* The path directory/name; only name where it is absolute, or directory is NULL or empty. NULL when memory is out. */
const char *symbols_strings_path(struct symbols_strings *strings, const char *directory, const char *name);

void symbols_strings_free(struct symbols_strings *strings);

#endif
