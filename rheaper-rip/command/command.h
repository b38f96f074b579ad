/* SPDX-License-Identifier: MIT
 *
 * What the command's verbs share: how they take options, and how they speak on standard error.
 *
 *     rheaper-rip [OPTION]... DIR... DATABASE       the main job, which has no word
 *     rheaper-rip VERB [OPTION]... DATABASE         everything else; a directory of that name is ./VERB
 */
#ifndef COMMAND_H
#define COMMAND_H

#include "fault.h"
#include "progress.h"

#include <getopt.h>
#include <stdbool.h>

enum { COMMAND_DONE = 0, COMMAND_FAILED = 1, COMMAND_USAGE = 2 };

struct command {
	const char *verb;    /* NULL: the main job */
	const char *summary; /* one line for the list in the main job's --help; NULL there */
	const char *usage;   /* the whole of the verb's own --help */
	/* argv[0] is the verb. Returns the exit status. */
	int (*run)(const struct command *command, int argc, char **argv);
};

/* The next option as getopt_long(3) gives it, or -1 after the last. COMMAND_OVER: --help has been answered, or a wrong option complained
 * of, and the verb returns *status. letters are getopt's without the leading ':'; "h" and {"help", no_argument, NULL, 'h'} must be among
 * them. */
int command_option(const struct command *command, int argc, char **argv, const char *letters, const struct option *options, int *status);
#define COMMAND_OVER (-2)

/* "rheaper-rip VERB: text (try 'rheaper-rip VERB --help')" on standard error. Returns COMMAND_USAGE. */
int command_misused(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the work: erases the progress, and says what went wrong if result is not 0. Returns the exit status. */
int command_end(int result, const struct fault *fault);

/* One line on standard error: for struct rip_options and the like. */
void command_warn(const char *text);
void command_say(const char *text);

/* Progress on the terminal's line; NULL where standard error is no terminal. What is said next takes its place. */
struct progress *command_progress(void);

/* Flushes standard output. COMMAND_DONE, or COMMAND_FAILED with a line on standard error (a full disk). Broken pipes end the process by
 * SIGPIPE, as with any filter. */
int command_finish_output(void);

/* SIGINT, SIGTERM and SIGHUP leave no unfinished output behind (output.h). */
void command_catch_signals(void);

#endif
