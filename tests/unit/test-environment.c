/* SPDX-License-Identifier: MIT
 *
 * What the RHEAPER_ variables mean: this program starts itself anew with an environment and looks at what was read.
 */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "process/environment.h"

/* Reads the environment in a new process that was given only `strings`, and returns what that printed. */
static const char *reading(char *const *strings)
{
	static char answer[8192];
	char *const arguments[] = {"test-environment", "--read", NULL};
	size_t have = 0;
	ssize_t n;
	int fds[2], status;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		dup2(fds[1], 1);
		execve("/proc/self/exe", arguments, strings);
		_exit(1);
	}
	close(fds[1]);
	while ((n = read(fds[0], answer + have, sizeof answer - 1 - have)) > 0)
		have += (size_t)n;
	answer[have] = '\0';
	close(fds[0]);
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	return answer;
}

#define READING(...) reading((char *const[]){__VA_ARGS__, NULL})

#define DEFAULTS "enable 0 follow 1 quiet 0 arguments 1 signal 0 depth 128 trackers 200 buffer 5000 rate 1.000000 interval 0 dir ''"

static void nothing_set_gives_the_defaults(void **state)
{
	(void)state;
	assert_string_equal(READING("PATH=/bin", "RHEAPERX=1", "XRHEAPER_ENABLE=1"), DEFAULTS);
}

static void every_variable_is_read(void **state)
{
	char expected[200];

	(void)state;
	snprintf(expected, sizeof expected,
		 "enable 1 follow 0 quiet 1 arguments 0 signal %d depth 64 trackers 7 buffer 100 rate 0.250000 interval 524288 dir '/var/tmp/a b'", SIGUSR2);
	assert_string_equal(READING("RHEAPER_ENABLE=1", "RHEAPER_FOLLOW_FORK=0", "RHEAPER_QUIET=1", "RHEAPER_NO_CMDLINE=1", "RHEAPER_TOGGLE_SIGNAL=USR2",
				    "RHEAPER_MAX_STACK_DEPTH=64", "RHEAPER_MAX_TRACKERS=7", "RHEAPER_TRACKER_EVENT_BUFFER_SIZE=100",
				    "RHEAPER_SAMPLE_RATE=.25", "RHEAPER_SAMPLE_INTERVAL=512K", "RHEAPER_PROFILE_DIR=/var/tmp/a b"),
			    expected);
}

static void bad_values_are_named(void **state)
{
	static const char *const bad[][2] = {
		{"RHEAPER_ENABLE", "yes"},          {"RHEAPER_ENABLE", ""},           {"RHEAPER_MAX_STACK_DEPTH", "-1"},
		{"RHEAPER_MAX_TRACKERS", "12x"},    {"RHEAPER_SAMPLE_RATE", "1.5"},   {"RHEAPER_SAMPLE_RATE", "."},
		{"RHEAPER_SAMPLE_RATE", ""},        {"RHEAPER_SAMPLE_RATE", "1e-3"},  {"RHEAPER_SAMPLE_INTERVAL", "K"},
		{"RHEAPER_SAMPLE_INTERVAL", "1T"},  {"RHEAPER_TOGGLE_SIGNAL", "9"},   {"RHEAPER_TOGGLE_SIGNAL", "NONE"},
		{"RHEAPER_TOGGLE_SIGNAL", "RTMIN+99"}, {"RHEAPER_UNWINDER", "dwarf"}, {"RHEAPER_MAX_TRACKERS", "99999999999999999999"},
	};
	char string[100], expected[100];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(string, sizeof string, "%s=%s", bad[i][0], bad[i][1]);
		snprintf(expected, sizeof expected, "bad %s '%s'", bad[i][0], bad[i][1]);
		assert_string_equal(READING("PATH=/bin", string), expected);
	}
}

static void signals_have_several_spellings(void **state)
{
	static const char *const spellings[] = {"SIGUSR1", "USR1", "10"};
	char string[100], expected[20];

	(void)state;
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		snprintf(string, sizeof string, "RHEAPER_TOGGLE_SIGNAL=%s", spellings[i]);
		snprintf(expected, sizeof expected, "signal %d ", SIGUSR1);
		assert_non_null(strstr(READING(string), expected));
	}
	snprintf(expected, sizeof expected, "signal %d ", SIGRTMIN + 3);
	assert_non_null(strstr(READING("RHEAPER_TOGGLE_SIGNAL=RTMIN+3"), expected));
}

static int print_reading(void)
{
	static struct rh_environment e;
	const char *value, *bad = rh_environment_read(&e, &value);

	if (bad)
		printf("bad %s '%s'", bad, value);
	else
		printf("enable %d follow %d quiet %d arguments %d signal %d depth %u trackers %u buffer %u rate %f interval %llu dir '%s'", e.enable, e.follow,
		       e.quiet, !e.no_arguments, e.toggle_signal, e.config.max_stack_depth, e.config.max_trackers, e.config.tracker_event_buffer_size,
		       e.config.sample_rate, (unsigned long long)e.config.sample_interval, e.config.profile_dir);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_set_gives_the_defaults),
		cmocka_unit_test(every_variable_is_read),
		cmocka_unit_test(bad_values_are_named),
		cmocka_unit_test(signals_have_several_spellings),
	};

	if (argc > 1 && strcmp(argv[1], "--read") == 0)
		return print_reading();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
