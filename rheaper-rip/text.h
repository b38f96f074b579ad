/* SPDX-License-Identifier: MIT
 *
 * Text from outside, made fit to be shown. Names of threads, marks, paths, command lines and symbols are whatever bytes a program chose;
 * what reaches the database is UTF-8 (The Unicode Standard 15.0, table 3-7) and can tell a terminal nothing: control characters
 * (C0, DEL, C1) and bytes that are no UTF-8 give way to U+FFFD, each to one; only tab and newline stay. Within a line on the terminal they,
 * too, become '?'. Files are looked for under the bytes that they really have.
 */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>

bool text_is_fit(const char *text, size_t size);

/* A fit copy of size bytes, with a NUL behind it; to be freed with free. NULL when memory is out. */
char *text_fit(const char *text, size_t size);

/* Makes a string fit for a line on the terminal, in place. */
void text_line(char *text);

#endif
