/* SPDX-License-Identifier: MIT
 *
 * rheaper: starts a program with a recording library preloaded, and is gone. The program keeps the process id, the standard streams, its exit
 * status and its signals: this becomes it, by exec.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/program.h"
#include "launcher/setting.h"

/* As env(1), nohup(1) and others have them. */
enum {
	STATUS_FAILED = 125,     /* rheaper itself, or how it was called */
	STATUS_NOT_RUN = 126,    /* the program is there, but cannot be run or recorded */
	STATUS_NOT_FOUND = 127
};

static const char help[] =
	"Usage: rheaper [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
	"       rheaper PROFILE... DATABASE\n"
	"Runs PROGRAM and records every allocation and free of it and of the processes that it starts, each into a directory rip-<pid>.\n"
	"With directories in place of a program, does what rheaper-rip does.\n"
	"\n"
	"  -o DIR                 make the directories in DIR [.]\n"
	"      --max-stack-depth N\n"
	"                         keep N frames of a call stack [128]\n"
	"      --max-trackers N   N threads record without sharing [200]\n"
	"      --buffer-events N  events that a thread buffers [5000]\n"
	"  -r RATE                record this share of the allocations, 0 to 1 [1]\n"
	"      --off              begin with recording switched off\n"
	"      --toggle-signal SIGNAL\n"
	"                         switch recording on and off at this signal\n"
	"      --hooks            come in through GNU malloc hooks (needs libc_malloc_debug.so.0)\n"
	"      --no-follow        only PROGRAM itself, not the processes that it starts\n"
	"      --no-cmdline       keep no arguments in the profile\n"
	"  -q                     say nothing at the end\n"
	"      --help, --version\n"
	"\n"
	"The exit status is PROGRAM's; 125: rheaper failed; 126: PROGRAM cannot be run or recorded; 127: it is not found.\n";

struct choices {
	const char *directory;
	bool hooks;
};

enum { OPTION_DEPTH = 256, OPTION_TRACKERS, OPTION_BUFFER, OPTION_OFF, OPTION_SIGNAL, OPTION_HOOKS, OPTION_NO_FOLLOW, OPTION_NO_CMDLINE, OPTION_HELP, OPTION_VERSION };

static const struct option options[] = {{"max-stack-depth", required_argument, NULL, OPTION_DEPTH},
					{"max-trackers", required_argument, NULL, OPTION_TRACKERS},
					{"buffer-events", required_argument, NULL, OPTION_BUFFER},
					{"off", no_argument, NULL, OPTION_OFF},
					{"toggle-signal", required_argument, NULL, OPTION_SIGNAL},
					{"hooks", no_argument, NULL, OPTION_HOOKS},
					{"no-follow", no_argument, NULL, OPTION_NO_FOLLOW},
					{"no-cmdline", no_argument, NULL, OPTION_NO_CMDLINE},
					{"help", no_argument, NULL, OPTION_HELP},
					{"version", no_argument, NULL, OPTION_VERSION},
					{NULL, 0, NULL, 0}};

/* Takes up one option. False: it was wrong, and that was said. */
static bool take_option(int option, struct choices *choices)
{
	switch (option) {
	case 'o':
		choices->directory = optarg;
		return true;
	case 'r':
		return setting_put("-r", "RHEAPER_SAMPLE_RATE", optarg);
	case 'i':
		fputs("rheaper: -i: sampling by bytes is not built into this version; -r samples by calls\n", stderr);
		return false;
	case 'q':
		return setting_put("-q", "RHEAPER_QUIET", "1");
	case OPTION_DEPTH:
		return setting_put("--max-stack-depth", "RHEAPER_MAX_STACK_DEPTH", optarg);
	case OPTION_TRACKERS:
		return setting_put("--max-trackers", "RHEAPER_MAX_TRACKERS", optarg);
	case OPTION_BUFFER:
		return setting_put("--buffer-events", "RHEAPER_TRACKER_EVENT_BUFFER_SIZE", optarg);
	case OPTION_OFF:
		return setting_put("--off", "RHEAPER_ENABLE", "0");
	case OPTION_SIGNAL:
		return setting_put("--toggle-signal", "RHEAPER_TOGGLE_SIGNAL", optarg);
	case OPTION_HOOKS:
		choices->hooks = true;
		return true;
	case OPTION_NO_FOLLOW:
		return setting_put("--no-follow", "RHEAPER_FOLLOW_FORK", "0");
	case OPTION_NO_CMDLINE:
		return setting_put("--no-cmdline", "RHEAPER_NO_CMDLINE", "1");
	default:
		fputs("Try `rheaper --help`.\n", stderr);
		return false;
	}
}

/* Whether this is a profile directory, so that no program is meant. */
static bool is_profile(const char *path)
{
	char file[PATH_MAX + 16];

	snprintf(file, sizeof file, "%s/manifest", path);
	return access(file, F_OK) == 0;
}

static int hand_over(char **arguments)
{
	char path[PATH_MAX];

	arguments[0] = (char *)setting_beside("rheaper-rip", path, sizeof path);
	execvp(arguments[0], arguments);
	fprintf(stderr, "rheaper: rheaper-rip: %s\n", strerror(errno));
	return STATUS_FAILED;
}

/* Where the profiles go, absolute: processes change their directories. */
static bool put_directory(const char *directory)
{
	char path[PATH_MAX];

	if (!realpath(directory, path) || access(path, W_OK | X_OK) != 0) {
		fprintf(stderr, "rheaper: %s: %s\n", directory, strerror(errno));
		return false;
	}
	return setting_put("-o", "RHEAPER_PROFILE_DIR", path);
}

static bool put_libraries(bool hooks)
{
	char ours[PATH_MAX], both[PATH_MAX + 64];
	const char *debug;

	if (!setting_library(hooks ? "librheaper-hooks.so" : "librheaper-preload.so", ours, sizeof ours))
		return false;
	if (!hooks)
		return setting_preload(ours);
	debug = setting_debug_library();
	if (!debug)
		return false;
	snprintf(both, sizeof both, "%s%s%s", ours, *debug ? ":" : "", debug);
	return setting_preload(both);
}

static int run(const struct choices *choices, char **arguments)
{
	struct program_fault fault;
	char *path = NULL, pid[24];
	int error = program_find(arguments[0], &path);

	if (error) {
		fprintf(stderr, "rheaper: %s: %s\n", arguments[0], strerror(error));
		return error == ENOENT || error == ENOTDIR ? STATUS_NOT_FOUND : STATUS_NOT_RUN;
	}
	if (!program_is_recordable(path, &fault)) {
		fprintf(stderr, "rheaper: cannot record: %s.%s%s\n", fault.reason, *fault.advice ? "\n  " : "", fault.advice);
		return STATUS_NOT_RUN;
	}
	snprintf(pid, sizeof pid, "%ld", (long)getpid());
	if (!setting_put("-", "RHEAPER_LAUNCHED", pid) || !put_directory(choices->directory) || !put_libraries(choices->hooks))
		return STATUS_FAILED;
	execv(path, arguments);
	if (errno == ENOEXEC) { /* a script without a first line that says so: the shell's, as execvp(3) does it */
		arguments[-1] = (char *)"/bin/sh";
		arguments[0] = path;
		execv("/bin/sh", arguments - 1);
	}
	fprintf(stderr, "rheaper: %s: %s\n", arguments[0], strerror(errno));
	return STATUS_NOT_RUN;
}

int main(int argc, char **argv)
{
	struct choices choices = {.directory = "."};
	int option;

	if (!setting_put("-", "RHEAPER_ENABLE", "1"))
		return STATUS_FAILED;
	while ((option = getopt_long(argc, argv, "+o:r:i:q", options, NULL)) != -1) {
		if (option == OPTION_HELP) {
			fputs(help, stdout);
			return 0;
		}
		if (option == OPTION_VERSION) {
			puts("rheaper " PACKAGE_VERSION);
			return 0;
		}
		if (!take_option(option, &choices))
			return STATUS_FAILED;
	}
	if (optind == argc) {
		fputs("rheaper: which program?\nTry `rheaper --help`.\n", stderr);
		return STATUS_FAILED;
	}
	if (optind == 1 && is_profile(argv[optind]))
		return hand_over(argv);
	return run(&choices, argv + optind);
}
