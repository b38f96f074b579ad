/* SPDX-License-Identifier: MIT
 *
 * The manifest of a profile: the text file that says whose profile it is and how it was recorded (log/format.h).
 */
#ifndef READ_MANIFEST_H
#define READ_MANIFEST_H

#include "fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct read_manifest_line {
	char *key;
	char *value; /* unescaped; may hold NULs; one more NUL behind it */
	size_t size; /* bytes of the value */
	bool known;  /* a key that log/format.h names */
};

struct read_manifest {
	struct read_manifest_line *lines; /* one a key */
	size_t count, capacity;
};

/* Reads the manifest at path and checks its format version. A last line without its newline was being written and does not count.
 * 0, or -1 with fault filled. The manifest is to be freed in both cases. */
int read_manifest_load(struct read_manifest *manifest, const char *path, struct fault *fault);
void read_manifest_free(struct read_manifest *manifest);

/* NULL when the key is missing. */
const struct read_manifest_line *read_manifest_find(const struct read_manifest *manifest, const char *key);
const char *read_manifest_text(const struct read_manifest *manifest, const char *key);

/* The number behind key, or `otherwise` where it is missing or no number. */
uint64_t read_manifest_number(const struct read_manifest *manifest, const char *key, uint64_t otherwise);
double read_manifest_real(const struct read_manifest *manifest, const char *key, double otherwise);

/* The value behind key with blanks for the NULs between its parts and without those at its end, as a string to be freed. NULL when the key
 * is missing or memory is out. */
char *read_manifest_words(const struct read_manifest *manifest, const char *key);

#endif
