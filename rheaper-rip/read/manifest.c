/* SPDX-License-Identifier: MIT
 *
 * Parses the manifest.
 */
#include "config.h"

#include "read/manifest.h"

#include "log/format.h"
#include "read/file.h"
#include "vector.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST_SIZE_MAX (16u << 20) /* a command line has at most a few megabytes */
#define MANIFEST_LINES_MAX 4096	      /* each is compared with the ones before */

static const char *const known_keys[] = {
    "format",	      "rheaper",
    "machine",	      "pid",
    "parent",	      "parent_profile",
    "process_start",  "host",
    "boot_id",	      "exe",
    "cmdline",	      "frontend",
    "backend",	      "clock",
    "start_ticks",    "start_monotonic",
    "start_realtime", "max_stack_depth",
    "max_trackers",   "tracker_event_buffer_size",
    "sample_rate",    "sample_interval",
    "ended",	      "end_ticks",
    "end_monotonic",
};

static bool is_known(const char *key)
{
	for (size_t i = 0; i < sizeof known_keys / sizeof *known_keys; i++)
		if (!strcmp(known_keys[i], key))
			return true;
	return false;
}

/* Undoes the escapes of a value; returns its new size. An unknown escape stays as it is. */
static size_t unescape(char *value, size_t size)
{
	size_t to = 0;

	for (size_t from = 0; from < size; from++) {
		char c = value[from];

		if (c == '\\' && from + 1 < size) {
			const char *escape = strchr("n\nr\r\\\\", value[from + 1]);

			if (value[from + 1] == '0') {
				c = '\0';
				from++;
			} else if (escape && value[from + 1]) {
				c = escape[value[from + 1] == escape[0] ? 1 : 0];
				from++;
			}
		}
		value[to++] = c;
	}
	value[to] = '\0';
	return to;
}

static int take_line(struct read_manifest *manifest, const char *line, size_t size, struct fault *fault)
{
	const char *equals = memchr(line, '=', size);
	struct read_manifest_line taken = {0};
	size_t key_size;

	if (!equals || equals == line)
		return 0; /* no key: nothing that could be kept */
	key_size = (size_t)(equals - line);
	taken.key = strndup(line, key_size);
	taken.value = malloc(size - key_size);
	if (!taken.key || !taken.value || !VECTOR_ROOM(manifest->lines, manifest->capacity, manifest->count)) {
		free(taken.key);
		free(taken.value);
		return fault_memory(fault);
	}
	memcpy(taken.value, equals + 1, size - key_size - 1);
	taken.size = unescape(taken.value, size - key_size - 1);
	taken.known = is_known(taken.key);
	for (size_t i = 0; i < manifest->count; i++) {
		if (!strcmp(manifest->lines[i].key, taken.key)) {
			free(manifest->lines[i].key);
			free(manifest->lines[i].value);
			manifest->lines[i] = taken;
			return 0;
		}
	}
	manifest->lines[manifest->count++] = taken;
	return 0;
}

/* The whole file with a NUL behind it, or NULL with fault filled. */
static char *slurp(const char *path, size_t *size, struct fault *fault)
{
	int fd = read_file_open(path);
	char *text = NULL;
	struct stat st;
	ssize_t got;

	if (fd < 0) {
		fault_errno(fault, path);
		return NULL;
	}
	if (fstat(fd, &st)) {
		fault_errno(fault, path);
	} else if (!S_ISREG(st.st_mode)) {
		fault_set(fault, path, FAULT_NOWHERE, "not a manifest: not a regular file");
	} else if (st.st_size > MANIFEST_SIZE_MAX) {
		fault_set(fault, path, FAULT_NOWHERE, "not a manifest: too large");
	} else if (!(text = malloc((size_t)st.st_size + 1))) {
		fault_memory(fault);
	} else {
		for (*size = 0; *size < (size_t)st.st_size; *size += (size_t)got) {
			got = read(fd, text + *size, (size_t)st.st_size - *size);
			if (got < 0 && errno == EINTR)
				got = 0;
			else if (got == 0)
				break;
			if (got < 0) {
				fault_errno(fault, path);
				free(text);
				text = NULL;
				break;
			}
		}
	}
	if (text)
		text[*size] = '\0';
	close(fd);
	return text;
}

int read_manifest_load(struct read_manifest *manifest, const char *path, struct fault *fault)
{
	size_t size = 0;
	char *text = slurp(path, &size, fault), *line = text, *newline;
	const char *format;
	unsigned lines = 0;
	int result = 0;

	memset(manifest, 0, sizeof *manifest);
	if (!text)
		return -1;
	while (!result && (newline = memchr(line, '\n', size - (size_t)(line - text)))) {
		result = lines++ == MANIFEST_LINES_MAX ? fault_set(fault, path, FAULT_NOWHERE, "not a manifest: too many lines")
						       : take_line(manifest, line, (size_t)(newline - line), fault);
		line = newline + 1;
	}
	free(text);
	if (result)
		return result;
	format = read_manifest_text(manifest, "format");
	if (!format)
		return fault_set(fault, path, FAULT_NOWHERE, "not a manifest: it has no line format=");
	if (read_manifest_number(manifest, "format", 0) != RH_FORMAT_VERSION)
		return fault_set(fault, path, FAULT_NOWHERE, "format version %.40s is not supported, only %d", format, RH_FORMAT_VERSION);
	return 0;
}

void read_manifest_free(struct read_manifest *manifest)
{
	for (size_t i = 0; i < manifest->count; i++) {
		free(manifest->lines[i].key);
		free(manifest->lines[i].value);
	}
	free(manifest->lines);
	memset(manifest, 0, sizeof *manifest);
}

const struct read_manifest_line *read_manifest_find(const struct read_manifest *manifest, const char *key)
{
	for (size_t i = 0; i < manifest->count; i++)
		if (!strcmp(manifest->lines[i].key, key))
			return &manifest->lines[i];
	return NULL;
}

const char *read_manifest_text(const struct read_manifest *manifest, const char *key)
{
	const struct read_manifest_line *line = read_manifest_find(manifest, key);

	return line ? line->value : NULL;
}

uint64_t read_manifest_number(const struct read_manifest *manifest, const char *key, uint64_t otherwise)
{
	const char *text = read_manifest_text(manifest, key);
	char *end;
	uint64_t number;

	if (!text || *text < '0' || *text > '9')
		return otherwise;
	errno = 0;
	number = strtoull(text, &end, 10);
	return errno || *end ? otherwise : number;
}

double read_manifest_real(const struct read_manifest *manifest, const char *key, double otherwise)
{
	const char *text = read_manifest_text(manifest, key);
	char *end;
	double real;

	if (!text || !*text)
		return otherwise;
	real = strtod(text, &end);
	return *end || real != real ? otherwise : real;
}

char *read_manifest_words(const struct read_manifest *manifest, const char *key)
{
	const struct read_manifest_line *line = read_manifest_find(manifest, key);
	char *text = line ? malloc(line->size + 1) : NULL;
	size_t size;

	if (!text)
		return NULL;
	memcpy(text, line->value, line->size + 1);
	for (size = line->size; size && !text[size - 1]; size--)
		;
	for (size_t i = 0; i < size; i++)
		if (!text[i])
			text[i] = ' ';
	return text;
}
