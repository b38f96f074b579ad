/* SPDX-License-Identifier: MIT
 *
 * The one place of the library that writes for people: a line on standard error.
 */
#ifndef RH_PROCESS_SAY_H
#define RH_PROCESS_SAY_H

/* Remembers what standard error is. Called at the start. */
void rh_say_begin(void);

/* Writes "rheaper: ", the parts up to a NULL, and a newline, in one write; nothing if descriptor 2 is closed or has become something else since: it is the program's
 * then. Async-signal-safe; keeps errno. A line is cut at 8 KB. */
void rh_say(const char *part, ...) __attribute__((sentinel));

#endif
