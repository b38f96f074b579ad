/* SPDX-License-Identifier: MIT
 *
 * Processes: how each ended, which of the others it came from, and what stays apart between them.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "support/database.h"
#include "support/log-maker.h"

static const char lives[] = "SELECT id, ended, parent_process FROM processes ORDER BY id";

/* This machine's own names, and the start of a process. */
static const char *host(void)
{
	static struct utsname system;

	assert_int_equal(uname(&system), 0);
	return system.nodename;
}

static const char *boot_id(void)
{
	static char text[64];
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");

	assert_non_null(f);
	assert_non_null(fgets(text, sizeof text, f));
	fclose(f);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static uint64_t own_start(void)
{
	char text[1024], *p;
	FILE *f = fopen("/proc/self/stat", "r");

	assert_non_null(f);
	assert_non_null(fgets(text, sizeof text, f));
	fclose(f);
	p = strrchr(text, ')');
	for (int field = 2; field < 22; field++)
		p = strchr(p + 1, ' ');
	return strtoull(p + 1, NULL, 10);
}

static void set_number(struct maker *maker, const char *key, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	maker_set(maker, key, text);
}

/* A process that began to record at `start` ns. */
static struct maker *process(struct test *test, const char *name, uint64_t pid, uint64_t parent, uint64_t process_start, uint64_t start)
{
	struct maker *maker = maker_new(test->directory, name);

	set_number(maker, "pid", pid);
	set_number(maker, "parent", parent);
	set_number(maker, "process_start", process_start);
	set_number(maker, "start_ticks", start);
	set_number(maker, "start_monotonic", start);
	set_number(maker, "start_realtime", 1000000000000000000 + start);
	return maker;
}

/* The same, on this machine. */
static struct maker *own_process(struct test *test, const char *name, uint64_t pid, uint64_t process_start)
{
	struct maker *maker = process(test, name, pid, 1, process_start, 0);

	maker_set(maker, "host", host());
	maker_set(maker, "boot_id", boot_id());
	return maker;
}

/* A pid that no process has. */
static pid_t free_pid(void)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	return child;
}

static void the_logs_own_word_of_the_end_counts_first(void **state)
{
	struct test *test = *state;
	struct maker *one = own_process(test, "rip-1", (uint64_t)free_pid(), 1), *two = own_process(test, "rip-2", (uint64_t)free_pid(), 1);

	maker_ended(one, RH_ENDED_DISABLED, 5000);
	maker_finish(one);
	maker_ended(two, RH_ENDED_EXIT, 7000);
	maker_finish(two);
	TEST_RIP(test, "rip-1", "rip-2");
	test_rows(test, "SELECT ended, duration FROM processes", "disabled|0.005\nexit|0.007\n");
}

static void events_after_the_noted_exit_lengthen_the_life(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");

	maker_alloc(maker_stream(maker, 0, 1, 100), 9000, RH_CALL_MALLOC, 64, 1, MAKER_STACK(1));
	maker_ended(maker, RH_ENDED_EXIT, 7000);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT ended, duration FROM processes", "exit|0.009\n");
	test_rows(test, "SELECT count(*) FROM allocations WHERE dealloc_after IS NULL", "1\n");
}

static void an_end_of_a_kind_unknown_is_no_word(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");

	maker_ended(maker, 77, 7000);
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT ended, duration FROM processes", "unknown|0.0\n");
}

static void without_a_word_the_life_lasts_to_the_last_record(void **state)
{
	struct test *test = *state;
	struct maker *maker = maker_new(test->directory, "rip-1");

	maker_mark(maker_stream(maker, 0, 1, 100), 4000, "last");
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT ended, duration FROM processes", "unknown|0.004\n");
}

static void a_later_profile_of_the_same_process_tells_of_an_exec(void **state)
{
	struct test *test = *state;

	maker_finish(process(test, "rip-5", 5, 1, 100, 1000));
	maker_finish(process(test, "rip-5.1", 5, 1, 100, 2000)); /* by exec */
	maker_finish(process(test, "rip-5.2", 5, 1, 300, 3000)); /* another process that got the pid later */
	TEST_RIP(test, "rip-5.2", "rip-5", "rip-5.1");
	test_rows(test, lives, "1|unknown|-\n2|exec|-\n3|unknown|-\n");
}

static void another_boot_or_an_unknown_start_is_no_exec(void **state)
{
	struct test *test = *state;
	struct maker *other = process(test, "rip-7", 5, 1, 100, 2000), *two[2];

	maker_set(other, "boot_id", "boot-2");
	maker_finish(other);
	maker_finish(process(test, "rip-5", 5, 1, 100, 1000));
	for (int i = 0; i < 2; i++) {
		two[i] = process(test, i ? "rip-6.1" : "rip-6", 6, 1, 0, i ? 2000 : 1000);
		maker_set(two[i], "process_start", NULL);
		maker_finish(two[i]);
	}
	TEST_RIP(test, "rip-7", "rip-5", "rip-6", "rip-6.1");
	test_rows(test, "SELECT DISTINCT ended FROM processes", "unknown\n");
}

static void tracking_switched_off_and_on_is_no_exec(void **state)
{
	struct test *test = *state;
	struct maker *first = process(test, "rip-5", 5, 1, 100, 1000);

	maker_ended(first, RH_ENDED_DISABLED, 1500);
	maker_finish(first);
	maker_finish(process(test, "rip-5.1", 5, 1, 100, 2000));
	TEST_RIP(test, "rip-5", "rip-5.1");
	test_rows(test, lives, "1|disabled|-\n2|unknown|-\n");
}

static void who_said_nothing_and_is_gone_was_killed(void **state)
{
	struct test *test = *state;

	maker_finish(own_process(test, "rip-1", (uint64_t)free_pid(), 1));
	maker_finish(own_process(test, "rip-2", (uint64_t)getpid(), own_start() + 1)); /* its pid is mine now */
	TEST_RIP(test, "rip-1", "rip-2");
	test_rows(test, "SELECT ended FROM processes", "killed\nkilled\n");
}

static void who_is_dead_but_not_yet_waited_for_was_killed(void **state)
{
	struct test *test = *state;
	siginfo_t info;
	pid_t child = fork();

	if (!child)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	maker_finish(own_process(test, "rip-1", (uint64_t)child, 0));
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT ended FROM processes", "killed\n");
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void who_still_runs_has_not_ended(void **state)
{
	struct test *test = *state;
	struct maker *nameless = own_process(test, "rip-2", (uint64_t)getpid(), 0);

	maker_finish(own_process(test, "rip-1", (uint64_t)getpid(), own_start()));
	maker_set(nameless, "process_start", NULL); /* it may be the one */
	maker_finish(nameless);
	TEST_RIP(test, "rip-1", "rip-2");
	test_rows(test, "SELECT ended FROM processes", "unknown\nunknown\n");
}

static void an_earlier_boot_of_this_machine_is_over(void **state)
{
	struct test *test = *state;
	struct maker *maker = own_process(test, "rip-1", (uint64_t)getpid(), own_start());

	maker_set(maker, "boot_id", "ad4a2a1b-0000-0000-0000-000000000000");
	maker_finish(maker);
	TEST_RIP(test, "rip-1");
	test_rows(test, "SELECT ended FROM processes", "killed\n");
}

static void another_machine_s_processes_may_run(void **state)
{
	struct test *test = *state;
	struct maker *elsewhere = own_process(test, "rip-1", (uint64_t)free_pid(), 1),
		     *container = own_process(test, "rip-2", (uint64_t)free_pid(), 1),
		     *nowhere = own_process(test, "rip-3", (uint64_t)free_pid(), 1);

	maker_set(elsewhere, "host", "testhost");
	maker_set(elsewhere, "boot_id", "boot-1");
	maker_finish(elsewhere);
	maker_set(container, "host", "testhost"); /* this kernel, but pids of its own */
	maker_finish(container);
	maker_set(nowhere, "boot_id", NULL);
	maker_finish(nowhere);
	TEST_RIP(test, "rip-1", "rip-2", "rip-3");
	test_rows(test, "SELECT ended FROM processes", "unknown\nunknown\nunknown\n");
}

static void a_child_finds_its_parent_among_those_given(void **state)
{
	struct test *test = *state;
	struct maker *child = process(test, "rip-12", 12, 10, 300, 3000);
	char path[4200];

	maker_finish(process(test, "rip-10", 10, 1, 100, 1000));
	maker_finish(process(test, "rip-11", 11, 10, 200, 2000)); /* no path of a parent: by fork and exec */
	snprintf(path, sizeof path, "%s/rip-10", test->directory);
	maker_set(child, "parent_profile", path);
	maker_finish(child);
	maker_finish(process(test, "rip-13", 13, 12, 400, 4000));
	maker_finish(process(test, "rip-14", 14, 99, 500, 5000));
	TEST_RIP(test, "rip-12", "rip-10", "rip-13", "rip-11", "rip-14");
	test_rows(test, "SELECT id, pid, parent, parent_process FROM processes", "1|12|10|2\n2|10|1|-\n3|13|12|1\n4|11|10|2\n5|14|99|-\n");
	test_rows(test, "SELECT round((started - 1000000000000.0) * 1e3), duration FROM processes WHERE id = 1", "3.0|0.0\n");
	test_rows(test, "SELECT key FROM metadata WHERE key LIKE 'parent%' OR key LIKE 'process%'", "");
}

static void of_two_sessions_the_parents_is_the_one_that_the_child_names(void **state)
{
	struct test *test = *state;

	maker_finish(process(test, "rip-10", 10, 1, 100, 1000));
	maker_finish(process(test, "rip-10.1", 10, 1, 100, 2000));
	for (int i = 0; i < 2; i++) {
		struct maker *child = process(test, i ? "rip-12" : "rip-11", i ? 12 : 11, 10, 300, 3000);

		/* Both were moved here since. */
		maker_set(child, "parent_profile", i ? "/elsewhere/rip-10.1" : "/elsewhere/rip-10");
		maker_finish(child);
	}
	maker_finish(process(test, "rip-13", 13, 10, 300, 3000)); /* names none: the latest */
	maker_finish(process(test, "rip-14", 14, 10, 300, 1500)); /* the second had not begun */
	TEST_RIP(test, "rip-10", "rip-10.1", "rip-11", "rip-12", "rip-13", "rip-14");
	test_rows(test, "SELECT pid, parent_process FROM processes WHERE id > 2", "11|1\n12|2\n13|2\n14|1\n");
}

static void a_process_of_another_boot_is_no_parent(void **state)
{
	struct test *test = *state;
	struct maker *parent = process(test, "rip-10", 10, 1, 100, 1000);

	maker_set(parent, "boot_id", "boot-2");
	maker_finish(parent);
	maker_finish(process(test, "rip-11", 11, 10, 200, 2000));
	TEST_RIP(test, "rip-10", "rip-11");
	test_rows(test, "SELECT count(parent_process) FROM processes", "0\n");
}

static void a_childs_frees_of_inherited_blocks_are_its_own_unmatched_ones(void **state)
{
	struct test *test = *state;
	struct maker *parent = process(test, "rip-10", 10, 1, 100, 0), *child = process(test, "rip-11", 11, 10, 200, 2000);
	struct maker_stream *one = maker_stream(parent, 0, 1, 10), *two = maker_stream(child, 0, 1, 11);

	maker_set(child, "parent_profile", maker_path(parent));
	maker_alloc(one, 1000, RH_CALL_MALLOC, 64, 10, MAKER_STACK(1));
	maker_alloc(one, 1001, RH_CALL_MALLOC, 96, 20, MAKER_STACK(1));
	maker_free(two, 3000, RH_FREE_FREE, 64); /* the child's copy */
	maker_alloc(two, 3500, RH_CALL_MALLOC, 64, 30, MAKER_STACK(1));
	maker_free(one, 4000, RH_FREE_FREE, 64);
	maker_realloc(two, 5000, 100, RH_CALL_REALLOC, 96, 96, 40, MAKER_STACK(1));
	maker_finish(parent);
	maker_finish(child);
	TEST_RIP(test, "rip-10", "rip-11");
	assert_string_equal(test->warnings, "");
	test_rows(test, "SELECT process, addr, size, dealloc_after * 1e6, ended FROM allocations",
		  "1|64|10|4000.0|0\n1|96|20|-|-\n2|64|30|-|-\n2|96|40|-|-\n");
	test_rows(test, "SELECT id, unmatched_frees FROM processes", "1|0\n2|2\n");
	test_rows(test, "SELECT value FROM metadata WHERE key = 'unmatched_frees'", "2\n");
	test_rows(test, "SELECT process, tid FROM threads", "1|10\n2|11\n");
}

static void a_followed_child_without_events_is_no_news(void **state)
{
	struct test *test = *state;
	struct maker *parent = process(test, "rip-10", 10, 1, 100, 0), *child = process(test, "rip-11", 11, 10, 200, 2000);

	maker_alloc(maker_stream(parent, 0, 1, 10), 1000, RH_CALL_MALLOC, 64, 10, MAKER_STACK(1));
	maker_set(child, "parent_profile", maker_path(parent));
	maker_finish(parent);
	maker_finish(child);
	TEST_RIP(test, "rip-11", "rip-10");
	assert_string_equal(test->warnings, "");
	test_rows(test, lives, "1|unknown|2\n2|unknown|-\n");
	test_rows(test, "SELECT process, alloc_thread, alloc_after * 1e6 FROM allocations", "2|1|1000.0\n");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(the_logs_own_word_of_the_end_counts_first),
	    TEST(events_after_the_noted_exit_lengthen_the_life),
	    TEST(an_end_of_a_kind_unknown_is_no_word),
	    TEST(without_a_word_the_life_lasts_to_the_last_record),
	    TEST(a_later_profile_of_the_same_process_tells_of_an_exec),
	    TEST(another_boot_or_an_unknown_start_is_no_exec),
	    TEST(tracking_switched_off_and_on_is_no_exec),
	    TEST(who_said_nothing_and_is_gone_was_killed),
	    TEST(who_is_dead_but_not_yet_waited_for_was_killed),
	    TEST(who_still_runs_has_not_ended),
	    TEST(an_earlier_boot_of_this_machine_is_over),
	    TEST(another_machine_s_processes_may_run),
	    TEST(a_child_finds_its_parent_among_those_given),
	    TEST(of_two_sessions_the_parents_is_the_one_that_the_child_names),
	    TEST(a_process_of_another_boot_is_no_parent),
	    TEST(a_childs_frees_of_inherited_blocks_are_its_own_unmatched_ones),
	    TEST(a_followed_child_without_events_is_no_news),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
