/* SPDX-License-Identifier: MIT
 *
 * Small programs with known places, built while a test runs, and questions about them to the symbolizer.
 */
#ifndef SYMBOLS_FIXTURE_H
#define SYMBOLS_FIXTURE_H

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "symbols/symbols.h"

#define MAX_FRAMES 16
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- Building ---- */

extern char directory[PATH_MAX]; /* where the programs are built; absolute */

int symbols_fixture_make(void **state); /* for the set-up and the tear-down of a group */
int symbols_fixture_remove(void **state);

/* Runs a command in the directory; in it $S is where the sources are. Its exit status; must() fails the test when that is not 0. */
__attribute__((format(printf, 1, 2))) int shell(const char *format, ...);
#define must(...) assert_int_equal(shell(__VA_ARGS__), 0)

/* Skips the test where a tool is not installed. */
bool have(const char *program);
#define need(program)               \
	do {                        \
		if (!have(program)) \
			skip();     \
	} while (0)

/* Paths of a file in the directory, valid for some more calls, and of a source, valid until the next call. */
const char *in_directory(const char *name);
const char *source(const char *name);

/* The address of a place, as nm has it from the unstripped program. */
uint64_t address_of(const char *program, const char *place);

/* The number of the line of a source that contains text. */
unsigned line_of(const char *name, const char *text);

size_t read_build_id(const char *program, unsigned char *id, size_t size);

/* ---- Asking ---- */

struct answer {
	struct symbols *symbols; /* the asker's to free */
	struct symbols_module *module;
	struct symbols_frame frames[MAX_FRAMES];
	size_t count;
};

void ask_with(struct answer *answer, const struct symbols_options *options, const char *path, uint64_t address);
void ask(struct answer *answer, const char *program, uint64_t address); /* by its name in the directory */

/* file: a source, or NULL when none may be known. */
void expect_frame(const struct answer *answer, size_t i, const char *function, const char *file, unsigned line);
void expect_unknown(const struct answer *answer);
void expect_status(const struct answer *answer, const char *status);

/* The inline chain of chain.c at the place in_inner. */
void expect_chain(const struct answer *answer);
void ask_chain(const char *program, uint64_t address);

#endif
