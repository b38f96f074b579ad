/* SPDX-License-Identifier: MIT
 *
 * rheaper-rip: options, signals, and one line on stderr for each thing that went wrong.
 */
#include "config.h"

#include "rip.h"
#include "store/version.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static const char usage[] = "Usage: rheaper-rip [OPTION]... DIR... DATABASE\n"
			    "Turns the profile in DIR, or the profiles in several, into one SQLite database.\n"
			    "\n"
			    "  -f, --force            replace DATABASE if it exists\n"
			    "      --no-symbols       leave out functions, files and lines\n"
			    "      --debug-path DIR   look for debug files in DIR too; may be given several times\n"
			    "      --sysroot DIR      the root of the machine that was profiled\n"
			    "  -q, --quiet            no warnings, only errors\n"
			    "  -h, --help             print this and exit\n"
			    "  -V, --version          print the version and exit\n"
			    "\n"
			    "Exit status: 0 done, 1 failed, 2 wrong usage.\n";

static void print_warning(const char *text)
{
	fprintf(stderr, "rheaper-rip: warning: %s\n", text);
}

/* Leaves nothing behind, and dies of the signal as if it had not been caught. Only async-signal-safe calls. */
static void die(int signal_number)
{
	const char *unfinished = rip_unfinished;

	if (unfinished)
		unlink(unfinished);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void catch_signals(void)
{
	static const int deadly[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = die}, old;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
		/* What the parent wants ignored (nohup) stays ignored. */
		if (!sigaction(deadly[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(deadly[i], &action, NULL);
	}
	signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit then fails with EFBIG, and is told */
}

static int complain(const char *text)
{
	fprintf(stderr, "rheaper-rip: %s\nTry 'rheaper-rip --help'.\n", text);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	enum { NO_SYMBOLS = 256, DEBUG_PATH, SYSROOT };
	static const struct option long_options[] = {{"force", no_argument, NULL, 'f'},
						     {"no-symbols", no_argument, NULL, NO_SYMBOLS},
						     {"debug-path", required_argument, NULL, DEBUG_PATH},
						     {"sysroot", required_argument, NULL, SYSROOT},
						     {"quiet", no_argument, NULL, 'q'},
						     {"help", no_argument, NULL, 'h'},
						     {"version", no_argument, NULL, 'V'},
						     {NULL, 0, NULL, 0}};
	const char **debug_path = calloc((size_t)argc + 1, sizeof *debug_path);
	struct symbols_options symbols = {.debug_path = debug_path};
	struct rip_options options = {.symbols = &symbols, .warn = print_warning};
	static struct fault fault;
	size_t debug_paths = 0;
	int c, result;

	if (!debug_path) {
		fault_memory(&fault);
		fprintf(stderr, "rheaper-rip: %s\n", fault.text);
		return EXIT_FAILED;
	}
	while ((c = getopt_long(argc, argv, "fqhV", long_options, NULL)) != -1) {
		switch (c) {
		case 'f':
			options.force = true;
			break;
		case 'q':
			options.warn = NULL;
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
		case 'h':
		case 'V':
			if (c == 'h')
				fputs(usage, stdout);
			else
				puts("rheaper-rip " STORE_RIP_VERSION);
			free(debug_path);
			return fflush(stdout) ? EXIT_FAILED : EXIT_DONE;
		default: /* getopt has said what is wrong */
			free(debug_path);
			fputs("Try 'rheaper-rip --help'.\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (argc - optind < 2) {
		free(debug_path);
		return complain(argc == optind ? "no profile directory and no database given" : "no database given");
	}
	options.directories = (const char *const *)argv + optind;
	options.count = (size_t)(argc - optind - 1);
	options.database = argv[argc - 1];
	catch_signals();
	result = rip_run(&options, &fault);
	if (result)
		fprintf(stderr, "rheaper-rip: %s\n", fault.text);
	free(debug_path);
	return result ? EXIT_FAILED : EXIT_DONE;
}
