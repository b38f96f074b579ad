/* SPDX-License-Identifier: MIT
 *
 * rheaper-rip: options, signals, and one line on stderr for each thing that went wrong.
 */
#include "config.h"

#include "account.h"
#include "rip.h"
#include "store/version.h"

#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
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
			    "  -k, --keep-going       leave out directories that cannot be read\n"
			    "  -v, --verbose          say at the end what came of it: events, rows, losses, symbols\n"
			    "  -q, --quiet            no warnings and no progress, only errors\n"
			    "  -h, --help             print this and exit\n"
			    "  -V, --version          print the version and exit\n"
			    "\n"
			    "Exit status: 0 done, 1 failed, 2 wrong usage.\n";

/* The terminal's line is taken by a report of progress: what is printed next takes its place. */
static bool line_taken;

static void clear_line(void)
{
	if (line_taken)
		fputs("\r\033[K", stderr); /* ECMA-48, 8.3.41: erase in line */
	line_taken = false;
}

static void print_warning(const char *text)
{
	clear_line();
	fprintf(stderr, "rheaper-rip: warning: %s\n", text);
}

static void print_account(const char *text)
{
	clear_line();
	fprintf(stderr, "rheaper-rip: %s\n", text);
}

static void print_progress(const struct progress *progress)
{
	double seconds = (double)(progress->now - progress->began) / 1e9, rate = (double)progress->done / seconds;

	clear_line();
	fputs(progress->phase, stderr);
	if (progress->done && progress->total > progress->done)
		fprintf(stderr, " %.0f%%, %.0f s left", (double)progress->done / (double)progress->total * 100,
			(double)(progress->total - progress->done) / rate);
	fprintf(stderr, ", %.*f %s%s/s", rate < 1e6 ? 0 : 1, rate < 1e6 ? rate : rate / 1e6, rate < 1e6 ? "" : "million ", progress->unit);
	fflush(stderr);
	line_taken = true;
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

static void print_complaint(const char *text)
{
	fprintf(stderr, "rheaper-rip: %s (try 'rheaper-rip --help')\n", text);
}

#define LETTERS "fkvqhV"

/* Says in one line what getopt_long did not take. */
static void complain_of_option(int c, char **argv)
{
	const char *word = argv[optind - 1]; /* if it is a long option */
	int size = (int)strcspn(word, "=");

	/* optopt is a letter that is none of ours, the value of a long option whose argument is missing or too much, or 0. */
	if (c == ':')
		account_say(print_complaint, "option %s needs an argument", word);
	else if (optopt >= 256 || (optopt && strchr(LETTERS, optopt)))
		account_say(print_complaint, "option %.*s takes no argument", size, word);
	else if (optopt)
		account_say(print_complaint, "unknown option -%c", optopt);
	else
		account_say(print_complaint, "unknown or ambiguous option %.*s", size, word);
}

int main(int argc, char **argv)
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
	struct progress progress = {.show = print_progress};
	struct rip_options options = {.symbols = &symbols, .warn = print_warning, .progress = isatty(STDERR_FILENO) ? &progress : NULL};
	static struct fault fault;
	size_t debug_paths = 0;
	int c, result;

	if (!debug_path) {
		fault_memory(&fault);
		fprintf(stderr, "rheaper-rip: %s\n", fault.text);
		return EXIT_FAILED;
	}
	while ((c = getopt_long(argc, argv, ":" LETTERS, long_options, NULL)) != -1) {
		switch (c) {
		case 'f':
			options.force = true;
			break;
		case 'k':
			options.keep_going = true;
			break;
		case 'v':
			options.account = print_account;
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
		case 'h':
		case 'V':
			if (c == 'h')
				fputs(usage, stdout);
			else
				puts("rheaper-rip " STORE_RIP_VERSION);
			free(debug_path);
			return fflush(stdout) ? EXIT_FAILED : EXIT_DONE;
		default:
			free(debug_path);
			complain_of_option(c, argv);
			return EXIT_USAGE;
		}
	}
	if (argc - optind < 2) {
		free(debug_path);
		print_complaint(argc == optind ? "no profile directory and no database given" : "no database given");
		return EXIT_USAGE;
	}
	options.directories = (const char *const *)argv + optind;
	options.count = (size_t)(argc - optind - 1);
	options.database = argv[argc - 1];
	catch_signals();
	result = rip_run(&options, &fault);
	clear_line();
	if (result)
		fprintf(stderr, "rheaper-rip: %s\n", fault.text);
	free(debug_path);
	return result ? EXIT_FAILED : EXIT_DONE;
}
