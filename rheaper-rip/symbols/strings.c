/* SPDX-License-Identifier: MIT
 *
 * Strings packed into blocks: names by the hundred thousand must not cost a malloc header each.
 */
#include "config.h"

#include "symbols/strings.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE (64u << 10)

struct symbols_strings_block {
	struct symbols_strings_block *next;
	size_t size;
	char text[];
};

static char *reserve(struct symbols_strings *strings, size_t size)
{
	struct symbols_strings_block *block = strings->blocks;

	if (!block || block->size - strings->used < size) {
		size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;

		block = malloc(sizeof *block + room);
		if (!block)
			return NULL;
		block->next = strings->blocks;
		block->size = room;
		strings->blocks = block;
		strings->used = 0;
	}
	char *text = block->text + strings->used;

	strings->used += size;
	return text;
}

const char *symbols_strings_add(struct symbols_strings *strings, const char *text, size_t length)
{
	char *copy = reserve(strings, length + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

const char *symbols_strings_path(struct symbols_strings *strings, const char *directory, const char *name)
{
	if (name[0] == '/' || !directory || !directory[0])
		return symbols_strings_add(strings, name, strlen(name));

	size_t head = strlen(directory), tail = strlen(name);
	size_t slash = directory[head - 1] != '/';
	char *path = reserve(strings, head + slash + tail + 1);

	if (!path)
		return NULL;
	memcpy(path, directory, head);
	if (slash)
		path[head] = '/';
	memcpy(path + head + slash, name, tail + 1);
	return path;
}

void symbols_strings_free(struct symbols_strings *strings)
{
	while (strings->blocks) {
		struct symbols_strings_block *next = strings->blocks->next;

		free(strings->blocks);
		strings->blocks = next;
	}
	strings->used = 0;
}
