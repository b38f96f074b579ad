/* SPDX-License-Identifier: MIT
 *
 * Options, lines on standard error, and signals.
 */
#include "config.h"

#include "command/command.h"

#include "command/commands.h"
#include "output.h"
#include "text.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The terminal's line is taken by a report of progress: what is printed next takes its place. */
static bool line_taken;

static void clear_line(void)
{
	if (line_taken)
		fputs("\r\033[K", stderr); /* ECMA-48, 8.3.41: erase in line */
	line_taken = false;
}

void command_warn(const char *text)
{
	clear_line();
	fprintf(stderr, "rheaper-rip: warning: %s\n", text);
}

void command_say(const char *text)
{
	clear_line();
	fprintf(stderr, "rheaper-rip: %s\n", text);
}

static void show_progress(const struct progress *progress)
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

struct progress *command_progress(void)
{
	static struct progress progress = {.show = show_progress};

	return isatty(STDERR_FILENO) ? &progress : NULL;
}

int command_end(int result, const struct fault *fault)
{
	clear_line();
	if (result)
		fprintf(stderr, "rheaper-rip: %s\n", fault->text);
	return result ? COMMAND_FAILED : COMMAND_DONE;
}

int command_misused(const struct command *command, const char *format, ...)
{
	const char *verb = command->verb ? command->verb : "";
	const char *blank = command->verb ? " " : "";
	char text[FAULT_SIZE];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	text_line(text);
	fprintf(stderr, "rheaper-rip%s%s: %s (try 'rheaper-rip%s%s --help')\n", blank, verb, text, blank, verb);
	return COMMAND_USAGE;
}

/* Says in one line what getopt_long did not take. */
static int complain_of_option(const struct command *command, int c, char **argv, const char *letters)
{
	const char *word = argv[optind - 1]; /* if it is a long option */
	int size = (int)strcspn(word, "=");

	/* optopt is a letter that is none of ours, the value of a long option whose argument is missing or too much, or 0. */
	if (c == ':' && strncmp(word, "--", 2))
		return command_misused(command, "option -%c needs an argument", optopt);
	if (c == ':')
		return command_misused(command, "option %s needs an argument", word);
	if (optopt >= 256 || (optopt && strchr(letters, optopt)))
		return command_misused(command, "option %.*s takes no argument", size, word);
	if (optopt)
		return command_misused(command, "unknown option -%c", optopt);
	return command_misused(command, "unknown or ambiguous option %.*s", size, word);
}

static void list_verbs(void)
{
	if (*commands)
		puts("\nVerbs, each with its own --help (a directory of that name is ./VERB):");
	for (const struct command *const *verb = commands; *verb; verb++)
		printf("  %-12s %s\n", (*verb)->verb, (*verb)->summary);
}

int command_option(const struct command *command, int argc, char **argv, const char *letters, const struct option *options, int *status)
{
	char with_colon[64];
	int c;

	snprintf(with_colon, sizeof with_colon, ":%s", letters);
	c = getopt_long(argc, argv, with_colon, options, NULL);
	if (c == 'h') {
		fputs(command->usage, stdout);
		if (!command->verb)
			list_verbs();
		*status = command_finish_output();
		return COMMAND_OVER;
	}
	if (c == '?' || c == ':') {
		*status = complain_of_option(command, c, argv, letters);
		return COMMAND_OVER;
	}
	return c;
}

int command_finish_output(void)
{
	int failed = ferror(stdout);

	errno = 0;
	if (!fflush(stdout) && !failed)
		return COMMAND_DONE;
	fprintf(stderr, "rheaper-rip: standard output: %s\n", strerror(errno ? errno : EIO));
	return COMMAND_FAILED;
}

/* Leaves nothing behind, and dies of the signal as if it had not been caught. Only async-signal-safe calls. */
static void die(int signal_number)
{
	const char *unfinished = output_unfinished;

	if (unfinished)
		unlink(unfinished);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

void command_catch_signals(void)
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
