/* SPDX-License-Identifier: MIT
 *
 * The symbolizer as a filter, for comparisons: addresses (hexadecimal, one a line) on standard input, for each its frames on standard
 * output, one a line: the name as the object file has it, file, line, separated by tabs; then an empty line. Unknown parts are "?".
 *
 *     addresses [-D DEBUG-PATH] FILE
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbols/symbols.h"

#define MAX_FRAMES 256

static void print(const struct symbols_frame *frame)
{
	const char *name = frame->linkage ? frame->linkage : frame->function;

	printf("%s\t%s\t%u\n", name ? name : "?", frame->file ? frame->file : "?", frame->line);
}

int main(int argc, char **argv)
{
	const char *debug_path[2] = {NULL, NULL};
	struct symbols_options options = {.debug_path = debug_path};
	char line[64];
	int option;

	while ((option = getopt(argc, argv, "D:")) != -1) {
		if (option != 'D')
			return 2;
		debug_path[0] = optarg;
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "usage: %s [-D DEBUG-PATH] FILE <ADDRESSES\n", argv[0]);
		return 2;
	}
	char *path = realpath(argv[optind], NULL); /* without a slash it would be no file's name */
	struct symbols *symbols = path ? symbols_new(&options) : NULL;
	struct symbols_module *module = symbols ? symbols_module(symbols, path, NULL, 0) : NULL;

	if (!module) {
		fprintf(stderr, "%s: cannot open %s\n", argv[0], argv[optind]);
		return 1;
	}
	while (fgets(line, sizeof line, stdin)) {
		struct symbols_frame frames[MAX_FRAMES];
		size_t count = symbols_lookup(module, strtoull(line, NULL, 16), frames, MAX_FRAMES);

		for (size_t i = 0; i < count; i++)
			print(&frames[i]);
		puts("");
	}
	fprintf(stderr, "%s: %s, from %s\n", argv[optind], symbols_status(module),
		symbols_debug_file(module) ? symbols_debug_file(module) : "nothing");
	symbols_free(symbols);
	free(path);
	return 0;
}
