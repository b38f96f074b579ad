/* SPDX-License-Identifier: MIT
 *
 * What went wrong, as one line for people: "<file>[ at byte N]: <reason>". Filled by whoever meets the trouble, printed by command/command.c alone.
 */
#ifndef FAULT_H
#define FAULT_H

#include <stdint.h>

#define FAULT_SIZE 4608 /* a path of PATH_MAX and a sentence */

struct fault {
	char text[FAULT_SIZE]; /* "" while nothing is wrong */
};

#define FAULT_NOWHERE UINT64_MAX /* no offset to tell */

/* Fills fault, unless it is filled already: the first cause is the one to tell. What a terminal must not be shown becomes '?'
 * (text.h). Returns -1. */
int fault_set(struct fault *fault, const char *file, uint64_t offset, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same with strerror(errno) as the reason. */
int fault_errno(struct fault *fault, const char *file);

/* The same for memory that could not be had. */
int fault_memory(struct fault *fault);

#endif
