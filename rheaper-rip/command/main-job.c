/* SPDX-License-Identifier: MIT
 *
 * rheaper-rip DIR... DATABASE
 */
#include "config.h"

#include "command/commands.h"

#include "rip.h"
#include "store/version.h"

#include <stdio.h>
#include <stdlib.h>

static const char usage[] = "Usage: rheaper-rip [OPTION]... DIR... DATABASE\n"
			    "       rheaper-rip VERB [OPTION]... DATABASE\n"
			    "Turns the profile in DIR, or the profiles in several, into one SQLite database.\n"
			    "\n"
			    "  -f, --force            replace DATABASE if it exists\n"
			    "      --no-symbols       leave out functions, files and lines\n"
			    "      --debug-path DIR   look for debug files in DIR too; may be given several times\n"
			    "      --sysroot DIR      the root of the machine that was profiled\n"
			    "  -k, --keep-going       leave out directories that cannot be read\n"
			    "  -v, --verbose          say at the end what came of it: events, rows, losses, symbols\n"
			    "  -q, --quiet            no warnings and no progress, only errors\n"
			    "  -h, --help             print this and exit\n"
			    "  -V, --version          print the version and exit\n"
			    "\n"
			    "Exit status: 0 done, 1 failed, 2 wrong usage.\n";

static int run(const struct command *command, int argc, char **argv)
{
	enum { NO_SYMBOLS = 256, DEBUG_PATH, SYSROOT };
	static const struct option long_options[] = {{"force", no_argument, NULL, 'f'},
						     {"no-symbols", no_argument, NULL, NO_SYMBOLS},
						     {"debug-path", required_argument, NULL, DEBUG_PATH},
						     {"sysroot", required_argument, NULL, SYSROOT},
						     {"keep-going", no_argument, NULL, 'k'},
						     {"verbose", no_argument, NULL, 'v'},
						     {"quiet", no_argument, NULL, 'q'},
						     {"help", no_argument, NULL, 'h'},
						     {"version", no_argument, NULL, 'V'},
						     {NULL, 0, NULL, 0}};
	const char **debug_path = calloc((size_t)argc + 1, sizeof *debug_path);
	struct symbols_options symbols = {.debug_path = debug_path};
	struct rip_options options = {.symbols = &symbols, .warn = command_warn, .progress = command_progress()};
	static struct fault fault;
	size_t debug_paths = 0;
	int c, status = COMMAND_DONE;

	if (!debug_path) {
		fault_memory(&fault);
		return command_end(-1, &fault);
	}
	while ((c = command_option(command, argc, argv, "fkvqhV", long_options, &status)) >= 0) {
		switch (c) {
		case 'f':
			options.force = true;
			break;
		case 'k':
			options.keep_going = true;
			break;
		case 'v':
			options.account = command_say;
			break;
		case 'q':
			options.warn = NULL;
			options.progress = NULL;
			break;
		case NO_SYMBOLS:
			options.symbols = NULL;
			break;
		case DEBUG_PATH:
			debug_path[debug_paths++] = optarg;
			break;
		case SYSROOT:
			symbols.sysroot = optarg;
			break;
		case 'V':
			puts("rheaper-rip " STORE_RIP_VERSION);
			free(debug_path);
			return command_finish_output();
		}
	}
	if (c == COMMAND_OVER) {
		free(debug_path);
		return status;
	}
	if (argc - optind < 2) {
		free(debug_path);
		return command_misused(command, argc == optind ? "no profile directory and no database given" : "no database given");
	}
	options.directories = (const char *const *)argv + optind;
	options.count = (size_t)(argc - optind - 1);
	options.database = argv[argc - 1];
	status = command_end(rip_run(&options, &fault), &fault);
	free(debug_path);
	return status;
}

const struct command command_main_job = {.usage = usage, .run = run};
