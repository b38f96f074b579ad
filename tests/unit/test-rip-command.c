/* SPDX-License-Identifier: MIT
 *
 * The command as its users see it: exit status, what it prints, and what it leaves behind.
 */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "support/database.h"
#include "support/log-maker.h"

#define COMMAND "rheaper-rip/rheaper-rip"

static char printed[65536], complained[65536];

/* A path in the test's directory; good for seven more calls. */
static char *in(struct test *test, const char *name)
{
	static char paths[8][4200];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof paths[0], "%s/%s", test->directory, name);
	return path;
}

static void slurp(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	text[fread(text, 1, size - 1, f)] = '\0';
	fclose(f);
}

/* complaints: where standard error goes; -1: to a file that finish reads. */
static pid_t start(struct test *test, const char *const *arguments, rlim_t file_size, int complaints)
{
	const char *argv[16] = {"rheaper-rip"};
	pid_t child;

	for (size_t i = 0; arguments[i]; i++)
		argv[i + 1] = arguments[i];
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct rlimit limit = {file_size, file_size};
		int out = open(in(test, "out"), O_CREAT | O_TRUNC | O_WRONLY, 0600);
		int err = open(in(test, "err"), O_CREAT | O_TRUNC | O_WRONLY, 0600);

		if (dup2(out, 1) < 0 || dup2(complaints < 0 ? err : complaints, 2) < 0 || setrlimit(RLIMIT_FSIZE, &limit))
			_exit(100);
		execv(COMMAND, (char *const *)argv);
		_exit(101);
	}
	return child;
}

static int finish(struct test *test, pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	slurp(in(test, "out"), printed, sizeof printed);
	slurp(in(test, "err"), complained, sizeof complained);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int run(struct test *test, const char *const *arguments)
{
	return finish(test, start(test, arguments, RLIM_INFINITY, -1));
}

#define RUN(test, ...) run(test, (const char *const[]){__VA_ARGS__, NULL})

static void make_profile(struct test *test)
{
	struct maker *maker = maker_new(test->directory, "rip-1");

	maker_alloc(maker_stream(maker, 0, 1, 100), 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(1));
	maker_finish(maker);
}

/* The files in the test's directory whose names begin like the database's. */
static unsigned databases(struct test *test)
{
	DIR *directory = opendir(test->directory);
	unsigned found = 0;

	assert_non_null(directory);
	for (struct dirent *entry; (entry = readdir(directory));)
		found += !strncmp(entry->d_name, "profile.db", 10);
	closedir(directory);
	return found;
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void assert_complaint(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void assert_complaint(const char *format, ...)
{
	char expected[8500];
	va_list list;

	va_start(list, format);
	vsnprintf(expected, sizeof expected, format, list);
	va_end(list);
	assert_string_equal(complained, expected);
}

static void done_is_0_and_silent(void **state)
{
	struct test *test = *state;

	make_profile(test);
	assert_int_equal(RUN(test, in(test, "rip-1"), test->database), 0);
	assert_string_equal(complained, "");
	assert_string_equal(printed, "");
	assert_int_equal(databases(test), 1);
}

static void wrong_usage_is_2_and_one_line(void **state)
{
	struct test *test = *state;

	assert_int_equal(RUN(test, "--no-such-option"), 2);
	assert_complaint("rheaper-rip: unknown or ambiguous option --no-such-option (try 'rheaper-rip --help')\n");
	assert_int_equal(RUN(test, "--wrong\nline"), 2);
	assert_complaint("rheaper-rip: unknown or ambiguous option --wrong?line (try 'rheaper-rip --help')\n");
	assert_int_equal(RUN(test, "-fx"), 2);
	assert_complaint("rheaper-rip: unknown option -x (try 'rheaper-rip --help')\n");
	assert_int_equal(RUN(test, "--force=yes"), 2);
	assert_complaint("rheaper-rip: option --force takes no argument (try 'rheaper-rip --help')\n");
	assert_int_equal(RUN(test, "--sysroot"), 2);
	assert_complaint("rheaper-rip: option --sysroot needs an argument (try 'rheaper-rip --help')\n");
	assert_int_equal(RUN(test, NULL), 2);
	assert_complaint("rheaper-rip: no profile directory and no database given (try 'rheaper-rip --help')\n");
	assert_int_equal(RUN(test, "rip-1"), 2);
	assert_complaint("rheaper-rip: no database given (try 'rheaper-rip --help')\n");
	assert_string_equal(printed, "");
}

static void help_and_version_go_to_stdout(void **state)
{
	struct test *test = *state;

	assert_int_equal(RUN(test, "--help"), 0);
	assert_non_null(strstr(printed, "Usage: rheaper-rip [OPTION]... DIR... DATABASE\n"));
	assert_string_equal(complained, "");
	assert_int_equal(RUN(test, "--version"), 0);
	assert_string_equal(printed, "rheaper-rip " PACKAGE_VERSION "\n");
}

static void an_existing_file_is_refused_and_left_alone(void **state)
{
	struct test *test = *state;
	char text[100];

	make_profile(test);
	write_file(test->database, "precious");
	assert_int_equal(RUN(test, in(test, "rip-1"), test->database), 1);
	assert_complaint("rheaper-rip: %s: File exists (-f replaces it)\n", test->database);
	slurp(test->database, text, sizeof text);
	assert_string_equal(text, "precious");
	assert_int_equal(databases(test), 1);
}

static void force_replaces_an_existing_file(void **state)
{
	struct test *test = *state;
	char text[100];

	make_profile(test);
	write_file(test->database, "precious");
	assert_int_equal(RUN(test, "-f", in(test, "rip-1"), test->database), 0);
	slurp(test->database, text, sizeof text);
	assert_string_equal(text, "SQLite format 3");
	assert_int_equal(databases(test), 1);
}

static void what_is_no_profile_is_refused_with_the_reason(void **state)
{
	struct test *test = *state;

	assert_int_equal(RUN(test, in(test, "missing"), test->database), 1);
	assert_complaint("rheaper-rip: %s: No such file or directory\n", in(test, "missing"));
	write_file(in(test, "file"), "");
	assert_int_equal(RUN(test, in(test, "file"), test->database), 1);
	assert_complaint("rheaper-rip: %s: not a profile: not a directory\n", in(test, "file"));
	assert_int_equal(mkdir(in(test, "rip-9"), 0700), 0);
	assert_int_equal(RUN(test, in(test, "rip-9"), test->database), 1);
	assert_complaint("rheaper-rip: %s: not a profile: it has no file manifest\n", in(test, "rip-9"));
	write_file(in(test, "rip-9/manifest"), "format=7\n");
	assert_int_equal(RUN(test, in(test, "rip-9"), test->database), 1);
	assert_complaint("rheaper-rip: %s: format version 7 is not supported, only 1\n", in(test, "rip-9/manifest"));
	assert_int_equal(databases(test), 0);
}

static void a_log_that_cannot_be_read_is_told(void **state)
{
	struct test *test = *state;

	make_profile(test);
	assert_int_equal(symlink("/nonexistent", in(test, "rip-1/log-7")), 0);
	assert_int_equal(RUN(test, in(test, "rip-1"), test->database), 1);
	assert_complaint("rheaper-rip: %s: No such file or directory\n", in(test, "rip-1/log-7"));
	assert_int_equal(databases(test), 0);
}

static void a_target_that_cannot_be_made_is_told(void **state)
{
	struct test *test = *state;

	make_profile(test);
	assert_int_equal(RUN(test, in(test, "rip-1"), in(test, "no/profile.db")), 1);
	assert_complaint("rheaper-rip: %s: No such file or directory\n", in(test, "no/profile.db"));
	assert_int_equal(RUN(test, "-f", in(test, "rip-1"), test->directory), 1);
	assert_complaint("rheaper-rip: %s: Is a directory\n", test->directory);
}

static void no_room_for_the_database_is_told_and_leaves_nothing(void **state)
{
	struct test *test = *state;
	const char *const arguments[] = {in(test, "rip-1"), test->database, NULL};

	make_profile(test);
	assert_int_equal(finish(test, start(test, arguments, 65536, -1)), 1);
	assert_complaint("rheaper-rip: %s: File too large\n", test->database);
	assert_int_equal(databases(test), 0);
}

static void warnings_are_lines_and_quiet_drops_them(void **state)
{
	struct test *test = *state;

	make_profile(test);
	write_file(in(test, "rip-1/log-3"), "garbage that is longer than the header of a chunk, which takes sixty-four bytes");
	assert_int_equal(RUN(test, in(test, "rip-1"), test->database), 0);
	assert_complaint("rheaper-rip: warning: %s: passed over damage in the log: 1 place\n", in(test, "rip-1"));
	assert_int_equal(RUN(test, "-q", "-f", in(test, "rip-1"), test->database), 0);
	assert_string_equal(complained, "");
}

static void a_bad_profile_among_several_fails_by_its_name(void **state)
{
	struct test *test = *state;

	make_profile(test);
	assert_int_equal(mkdir(in(test, "rip-2"), 0700), 0);
	assert_int_equal(RUN(test, in(test, "rip-1"), in(test, "rip-2"), test->database), 1);
	assert_complaint("rheaper-rip: %s: not a profile: it has no file manifest (-k leaves it out)\n", in(test, "rip-2"));
	assert_int_equal(databases(test), 0);
}

static void keep_going_leaves_bad_profiles_out(void **state)
{
	struct test *test = *state;

	make_profile(test);
	assert_int_equal(mkdir(in(test, "rip-0"), 0700), 0);
	assert_int_equal(RUN(test, "-k", in(test, "rip-0"), in(test, "rip-1"), in(test, "rip-9"), test->database), 0);
	assert_complaint("rheaper-rip: warning: left out: %s: not a profile: it has no file manifest\n"
			 "rheaper-rip: warning: left out: %s: No such file or directory\n",
			 in(test, "rip-0"), in(test, "rip-9"));
	assert_int_equal(databases(test), 1);
	assert_int_equal(sqlite3_open_v2(test->database, &test->db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	test_rows(test, "SELECT id, pid FROM processes", "1|4711\n");
	test_rows(test, "SELECT process, size FROM allocations", "1|1\n");
}

static void keep_going_with_nothing_left_fails(void **state)
{
	struct test *test = *state;

	assert_int_equal(RUN(test, "--keep-going", in(test, "rip-8"), in(test, "rip-9"), test->database), 1);
	assert_complaint("rheaper-rip: warning: left out: %s: No such file or directory\nrheaper-rip: %s: No such file or directory\n",
			 in(test, "rip-8"), in(test, "rip-9"));
	assert_int_equal(databases(test), 0);
}

static void verbose_gives_a_closing_account(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	maker_module(stream, 0, 0x10000, 0x10000, 0x20000, "/nonexistent/library.so", "");
	maker_name(stream, "main");
	maker_alloc(stream, 10, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x10100, 0x10200));
	maker_alloc(stream, 20, RH_CALL_MALLOC, 16, 1, MAKER_STACK(0x10100, 0x99));
	maker_free(stream, 30, RH_FREE_FREE, 32);
	maker_loss(stream, RH_LOSS_NESTED, 3);
	maker_slot_lost(stream, RH_LOSS_MEMORY, 5);
	maker_finish(maker);
	assert_int_equal(RUN(test, "-v", "-q", in(test, "rip-1"), test->database), 0);
	assert_string_equal(printed, "");
	assert_complaint("rheaper-rip: events: 3\nrheaper-rip: rows: 2\nrheaper-rip: unmatched frees: 1\nrheaper-rip: closed by reuse: 1\n"
			 "rheaper-rip: lost (nested): 3 of thread 100 main in %s\n"
			 "rheaper-rip: lost (memory): 5 of no known thread in %s\n"
			 "rheaper-rip: symbols: 0 found, 2 missing in /nonexistent/library.so (missing: No such file or directory)\n"
			 "rheaper-rip: symbols: 1 missing in no known module\n",
			 in(test, "rip-1"), in(test, "rip-1"));
	assert_int_equal(RUN(test, "-v", "-q", "-f", "--no-symbols", in(test, "rip-1"), test->database), 0);
	assert_non_null(strstr(complained, "\nrheaper-rip: symbols: left out\n"));
}

static void an_empty_profile_tells_its_cause(void **state)
{
	struct test *test = *state;
	struct maker *rate = maker_new(test->directory, "rip-1"), *lost = maker_new(test->directory, "rip-2");

	maker_set(rate, "sample_rate", "0");
	maker_finish(rate);
	maker_slab_lost(lost, RH_LOSS_TRACKER, 7);
	maker_finish(lost);
	assert_int_equal(RUN(test, in(test, "rip-1"), in(test, "rip-2"), test->database), 0);
	assert_complaint("rheaper-rip: warning: %s: the profile is empty: nothing was recorded: the sample rate is 0\n"
			 "rheaper-rip: warning: %s: events lost (tracker): 7\n"
			 "rheaper-rip: warning: %s: the profile is empty: nothing could be recorded\n",
			 in(test, "rip-1"), in(test, "rip-2"), in(test, "rip-2"));
}

static bool has_ended(pid_t child)
{
	siginfo_t info = {0};

	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT), 0);
	return info.si_pid;
}

/* A terminal for the command's standard error; what it showed is in `complained`. */
static int run_on_terminal(struct test *test, const char *const *arguments)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY), status;
	size_t used = 0;
	const char *argv[16] = {"rheaper-rip"};
	ssize_t got;
	pid_t child;

	if (terminal < 0 || grantpt(terminal) || unlockpt(terminal)) {
		print_message("progress on a terminal: no pseudo terminal is to be had\n");
		skip();
	}
	for (size_t i = 0; arguments[i]; i++)
		argv[i + 1] = arguments[i];
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		int err = open(ptsname(terminal), O_WRONLY | O_NOCTTY), out = open(in(test, "out"), O_CREAT | O_TRUNC | O_WRONLY, 0600);

		if (dup2(out, 1) < 0 || dup2(err, 2) < 0)
			_exit(100);
		close(err);
		execv(COMMAND, (char *const *)argv);
		_exit(101);
	}
	/* EIO: the last one who had it open is gone. */
	while ((got = read(terminal, complained + used, sizeof complained - 1 - used)) > 0 || (got < 0 && !has_ended(child)))
		used += got > 0 ? (size_t)got : 0;
	complained[used] = '\0';
	close(terminal);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void progress_is_shown_on_a_terminal_and_erased(void **state)
{
	struct test *test = *state;
	const char *const loud[] = {in(test, "rip-1"), test->database, NULL}, *const quiet[] = {"-fq", in(test, "rip-1"), test->database,
												NULL};
	struct maker *maker = maker_new(test->directory, "rip-1");
	struct maker_stream *stream = maker_stream(maker, 0, 1, 100);

	for (uint64_t i = 0; i < 4000000; i++) { /* more than the 200 ms after which a report comes */
		maker_alloc(stream, i * 10, RH_CALL_MALLOC, i % 999 * 16, i, MAKER_STACK(1));
		if (maker_length(stream) > 200000)
			maker_flush(stream);
	}
	maker_finish(maker);
	assert_int_equal(run_on_terminal(test, loud), 0);
	assert_non_null(strstr(complained, "writing "));
	assert_non_null(strstr(complained, "%, "));
	assert_non_null(strstr(complained, "events/s"));
	assert_string_equal(strrchr(complained, '\r'), "\r\033[K");
	assert_int_equal(run_on_terminal(test, quiet), 0);
	assert_string_equal(complained, "");
	assert_int_equal(RUN(test, "-f", in(test, "rip-1"), test->database), 0); /* no terminal */
	assert_string_equal(complained, "");
}

static void names_with_control_characters_cannot_break_the_line(void **state)
{
	struct test *test = *state;

	assert_int_equal(RUN(test, "rip\n\033[2J", test->database), 1);
	assert_complaint("rheaper-rip: rip??[2J: No such file or directory\n");
}

static void strange_names_are_only_names(void **state)
{
	struct test *test = *state;
	char target[4300];

	make_profile(test);
	snprintf(target, sizeof target, "%s/profile.db?mode=memory&x=%%41'\"", test->directory);
	assert_int_equal(RUN(test, in(test, "rip-1"), target), 0);
	assert_int_equal(access(target, F_OK), 0);
}

/* Whether the command has begun to write. */
static bool writes(struct test *test, pid_t child)
{
	char name[64];

	snprintf(name, sizeof name, "profile.db.tmp-%ld", (long)child);
	return !access(in(test, name), F_OK);
}

static void signals_leave_nothing_behind(void **state)
{
	static const int deadly[] = {SIGINT, SIGTERM, SIGHUP};
	struct test *test = *state;
	char profile[4200];
	const char *const arguments[] = {"-v", profile, test->database, NULL};
	static const char filling[4096];
	int full[2];

	snprintf(profile, sizeof profile, "%s/rip-1", test->directory);
	make_profile(test);
	/* It stops where it gives its account, before the database gets its name: no one makes room in the pipe. */
	assert_int_equal(pipe(full), 0);
	assert_int_equal(fcntl(full[1], F_SETPIPE_SZ, sizeof filling), sizeof filling);
	assert_int_equal(write(full[1], filling, sizeof filling), sizeof filling);
	for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
		pid_t child = start(test, arguments, RLIM_INFINITY, full[1]);

		while (!writes(test, child) && !has_ended(child))
			usleep(100);
		assert_int_equal(kill(child, deadly[i]), 0);
		assert_int_equal(finish(test, child), -deadly[i]);
		assert_int_equal(databases(test), 0);
	}
	close(full[0]);
	close(full[1]);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(done_is_0_and_silent),
	    TEST(wrong_usage_is_2_and_one_line),
	    TEST(help_and_version_go_to_stdout),
	    TEST(an_existing_file_is_refused_and_left_alone),
	    TEST(force_replaces_an_existing_file),
	    TEST(what_is_no_profile_is_refused_with_the_reason),
	    TEST(a_log_that_cannot_be_read_is_told),
	    TEST(a_target_that_cannot_be_made_is_told),
	    TEST(no_room_for_the_database_is_told_and_leaves_nothing),
	    TEST(warnings_are_lines_and_quiet_drops_them),
	    TEST(a_bad_profile_among_several_fails_by_its_name),
	    TEST(keep_going_leaves_bad_profiles_out),
	    TEST(keep_going_with_nothing_left_fails),
	    TEST(verbose_gives_a_closing_account),
	    TEST(an_empty_profile_tells_its_cause),
	    TEST(progress_is_shown_on_a_terminal_and_erased),
	    TEST(names_with_control_characters_cannot_break_the_line),
	    TEST(strange_names_are_only_names),
	    TEST(signals_leave_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
