/* SPDX-License-Identifier: MIT
 *
 * Shell commands build the programs; nm and readelf, not the code under test, say where things are.
 */
#include "config.h"

#include "fixture.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char directory[PATH_MAX];

#define PATHS 8 /* that in_directory keeps at a time: one call may need several */

/* ---- Building ---- */

int symbols_fixture_make(void **state)
{
	char template[] = "test-symbols.XXXXXX";

	(void)state;
	return mkdtemp(template) && realpath(template, directory) ? 0 : -1;
}

int symbols_fixture_remove(void **state)
{
	char command[PATH_MAX + 16];

	(void)state;
	snprintf(command, sizeof command, "rm -rf '%s'", directory);
	return system(command);
}

__attribute__((format(printf, 1, 2))) int shell(const char *format, ...)
{
	char *command, *whole;
	va_list arguments;

	va_start(arguments, format);
	assert_true(vasprintf(&command, format, arguments) >= 0);
	va_end(arguments);
	assert_true(asprintf(&whole, "cd '%s' && S='%s' && { %s; } >log 2>&1", directory, SOURCES, command) >= 0);
	int result = system(whole);

	free(whole);
	free(command);
	return result;
}

bool have(const char *program)
{
	return shell("command -v %s", program) == 0;
}

const char *in_directory(const char *name)
{
	static char paths[PATHS][PATH_MAX + 64];
	static unsigned next;
	char *path = paths[next++ % PATHS];

	snprintf(path, sizeof *paths, "%s/%s", directory, name);
	return path;
}

const char *source(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/%s", SOURCES, name);
	return path;
}

/* One line that a command prints. */
static char *output(char *line, size_t size, const char *format, const char *first, const char *second)
{
	char command[PATH_MAX + 512];

	snprintf(command, sizeof command, format, in_directory(first), second);
	FILE *pipe = popen(command, "r");

	assert_non_null(pipe);
	if (!fgets(line, (int)size, pipe))
		line[0] = '\0';
	pclose(pipe);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

uint64_t address_of(const char *program, const char *place)
{
	char line[256];

	output(line, sizeof line, "nm '%s' | sed -n 's/ [A-Za-z] %s$//p'", program, place);
	assert_true(line[0]);
	return strtoull(line, NULL, 16);
}

unsigned line_of(const char *name, const char *text)
{
	FILE *file = fopen(source(name), "r");
	char line[512];

	assert_non_null(file);
	for (unsigned number = 1; fgets(line, sizeof line, file); number++)
		if (strstr(line, text)) {
			fclose(file);
			return number;
		}
	fail_msg("%s has no line with %s", name, text);
	return 0;
}

size_t read_build_id(const char *program, unsigned char *id, size_t size)
{
	char hex[128];
	size_t length;

	output(hex, sizeof hex, "readelf -n '%s' | sed -n 's/.*Build ID: %s//p'", program, "");
	length = strlen(hex) / 2;
	assert_true(length > 2 && length <= size);
	for (size_t i = 0; i < length; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		id[i] = (unsigned char)byte;
	}
	return length;
}

/* ---- Asking ---- */

void ask_with(struct answer *answer, const struct symbols_options *options, const char *path, uint64_t address)
{
	answer->symbols = symbols_new(options);
	assert_non_null(answer->symbols);
	answer->module = symbols_module(answer->symbols, path, NULL, 0);
	assert_non_null(answer->module);
	answer->count = symbols_lookup(answer->module, address, answer->frames, MAX_FRAMES);
}

void ask(struct answer *answer, const char *program, uint64_t address)
{
	ask_with(answer, NULL, in_directory(program), address);
}

void expect_frame(const struct answer *answer, size_t i, const char *function, const char *file, unsigned line)
{
	const struct symbols_frame *frame = &answer->frames[i];

	assert_true(i < answer->count);
	assert_non_null(frame->function);
	assert_string_equal(frame->function, function);
	if (file) {
		char real[PATH_MAX];

		assert_non_null(frame->file);
		assert_int_equal(frame->file[0], '/');
		assert_non_null(realpath(frame->file, real));
		assert_string_equal(real, source(file));
	} else {
		assert_null(frame->file);
	}
	assert_int_equal(frame->line, line);
}

void expect_unknown(const struct answer *answer)
{
	assert_int_equal(answer->count, 1);
	assert_null(answer->frames[0].function);
	assert_null(answer->frames[0].linkage);
	assert_null(answer->frames[0].file);
	assert_int_equal(answer->frames[0].line, 0);
}

void expect_chain(const struct answer *answer)
{
	assert_int_equal(answer->count, 3);
	expect_frame(answer, 0, "inner", "chain.h", line_of("chain.h", "PLACE(in_inner)"));
	expect_frame(answer, 1, "middle", "chain.c", line_of("chain.c", "middle calls inner"));
	expect_frame(answer, 2, "outer", "chain.c", line_of("chain.c", "outer calls middle"));
}

void expect_status(const struct answer *answer, const char *status)
{
	assert_string_equal(symbols_status(answer->module), status);
}

void ask_chain(const char *program, uint64_t address)
{
	struct answer answer;

	ask(&answer, program, address);
	expect_chain(&answer);
	expect_status(&answer, "dwarf");
	symbols_free(answer.symbols);
}
