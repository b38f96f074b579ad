/* SPDX-License-Identifier: MIT
 *
 * What a worker process may do while it reads debug information: crash, loop, devour memory, talk nonsense, vanish. The reading of DWARF
 * is this test's own here, and does so by name of the file; everything around it is real.
 */
#include "config.h"

#include "fixture.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbols/dwarf-file.h"
#include "symbols/question.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true /* workers have no limit of memory, and tell no last words: symbols/worker.c */
#else
#define SANITIZED false
#endif

/* ---- DWARF that this test makes up ---- */

struct symbols_dwarf {
	char name[32];
	unsigned lookups;
};

static bool is(const struct symbols_dwarf *dwarf, const char *name)
{
	return !strcmp(dwarf->name, name);
}

static void devour(void)
{
	for (size_t i = 0; i < (size_t)64 << 30; i += 1 << 20) {
		char *memory = malloc(1 << 20);

		if (!memory)
			abort();
		memset(memory, 1, 1 << 20);
	}
}

/* What a memory that was overwritten may send: to whatever socket the worker has. */
static void talk(const void *bytes, size_t size)
{
	for (int i = 3; i < 64; i++)
		if (send(i, bytes, size, MSG_NOSIGNAL) == (ssize_t)size)
			break;
}

struct symbols_dwarf *symbols_dwarf_open(struct symbols_elf *elf, const char *binary, struct symbols_elf *shared,
					 struct symbols_strings *strings, bool no_demangle)
{
	struct symbols_dwarf *dwarf = calloc(1, sizeof *dwarf);

	(void)binary;
	(void)shared;
	(void)strings;
	(void)no_demangle;
	snprintf(dwarf->name, sizeof dwarf->name, "%.31s", strrchr(elf->path, '/') + 1);
	if (is(dwarf, "crashes-at-once"))
		raise(SIGSEGV);
	if (is(dwarf, "vanishes"))
		_exit(0);
	if (is(dwarf, "babbles")) {
		unsigned char noise[4096];

		for (size_t i = 0; i < sizeof noise; i++)
			noise[i] = (unsigned char)(i * 37);
		talk(noise, sizeof noise);
	}
	if (is(dwarf, "promises")) /* a message of 4 GB */
		talk((const uint32_t[]){1, UINT32_MAX}, 8);
	if (is(dwarf, "refers")) /* a place whose function is string 7 of none */
		talk((const uint32_t[]){2, 20, 7, 0, 0, 0, 1}, 28);
	if (is(dwarf, "finishes")) /* without an answer */
		talk((const uint32_t[]){1, 1, 0x41414141}, 9), talk((const uint32_t[]){4, 12, 1, 0, 0}, 20);
	return dwarf;
}

void symbols_dwarf_close(struct symbols_dwarf *dwarf)
{
	free(dwarf);
}

size_t symbols_dwarf_lookup(struct symbols_dwarf *dwarf, uint64_t address, struct symbols_frame *frames, size_t max)
{
	(void)max;
	dwarf->lookups++;
	if (is(dwarf, "crashes-later") && dwarf->lookups == 3)
		raise(SIGSEGV);
	if (is(dwarf, "loops"))
		for (volatile int forever = 1; forever;)
			;
	if (is(dwarf, "devours"))
		devour();
	frames[0].function = "of dwarf";
	frames[0].line = (unsigned)address;
	return 1;
}

/* ---- Asking ---- */

static struct symbols_question questions[16];
static size_t count;
static struct symbols_strings strings;

static const uint64_t four[] = {0, 1, 2, 3}; /* where no symbol is */

static void question(const char *name, const uint64_t *addresses, size_t address_count)
{
	questions[count++] = (struct symbols_question){.path = strdup(in_directory(name)), .addresses = addresses, .count = address_count};
}

static void ask_all(const struct symbols_limits *limits)
{
	assert_true(symbols_ask(questions, count, NULL, limits, &strings, NULL));
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(questions[i].answered, questions[i].count);
		assert_int_equal(questions[i].first[questions[i].count], questions[i].frame_count);
		assert_non_null(questions[i].status);
	}
}

static int forget(void **state)
{
	(void)state;
	symbols_questions_free(questions, count);
	for (size_t i = 0; i < count; i++)
		free((char *)questions[i].path);
	memset(questions, 0, sizeof questions);
	count = 0;
	symbols_strings_free(&strings);
	return 0;
}

static void expect_function(const struct symbols_question *asked, size_t address, const char *function)
{
	const struct symbols_frame *frame = &asked->frames[asked->first[address]];

	assert_int_equal(asked->first[address + 1] - asked->first[address], 1);
	if (!function) {
		assert_null(frame->function);
		return;
	}
	assert_non_null(frame->function);
	assert_string_equal(frame->function, function);
}

static void build(const char *name)
{
	must("[ -e chain ] || ${CC:-cc} -g -O2 -o chain \"$S/chain.c\"; cp chain %s", name);
}

static void expect_all_of_dwarf(const struct symbols_question *asked)
{
	for (size_t i = 0; i < asked->count; i++)
		expect_function(asked, i, "of dwarf");
	assert_string_equal(asked->status, "dwarf");
	assert_null(asked->reason);
	assert_int_equal(asked->named[SYMBOLS_DWARF], asked->count);
}

/* ---- Tests ---- */

static void all_answers_come_back(void **state)
{
	enum { MANY = 20000 };
	static uint64_t many[MANY];

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		many[i] = i;
	build("sound");
	build("sound-too");
	question("sound", many, MANY);
	question("sound-too", four, 4);
	question("nowhere", four, 1);
	ask_all(NULL);
	expect_all_of_dwarf(&questions[0]);
	expect_all_of_dwarf(&questions[1]);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(questions[0].frames[i].line, i);
	assert_string_equal(questions[0].debug_file, in_directory("sound"));
	assert_string_equal(questions[2].status, "missing");
	assert_string_equal(questions[2].reason, "No such file or directory");
}

/* Of the file that this test breaks: the symbol table still names what it can; the others lose nothing. */
static void expect_only_its_dwarf_lost(const char *name, const char *reason, const struct symbols_limits *limits)
{
	char expected[PATH_MAX + 256];

	build("sound");
	build(name);
	const uint64_t outer[] = {address_of("chain", "outer")};

	question(name, outer, 1);
	question("sound", four, 4);
	ask_all(limits);
	expect_function(&questions[0], 0, "outer");
	assert_int_equal(questions[0].named[SYMBOLS_TABLE], 1);
	assert_string_equal(questions[0].status, "damaged");
	snprintf(expected, sizeof expected, "the worker %s while it read %s", reason, in_directory(name));
	if (!SANITIZED)
		assert_string_equal(questions[0].reason, expected);
	expect_all_of_dwarf(&questions[1]);
}

static void a_crash_costs_one_files_dwarf(void **state)
{
	(void)state;
	expect_only_its_dwarf_lost("crashes-at-once", "crashed (Segmentation fault)", NULL);
}

static void one_worker_for_all_is_replaced_after_a_crash(void **state)
{
	(void)state;
	expect_only_its_dwarf_lost("crashes-at-once", "crashed (Segmentation fault)", &(struct symbols_limits){.workers = 1});
}

static void what_was_found_before_a_crash_is_kept(void **state)
{
	(void)state;
	build("crashes-later");
	question("crashes-later", four, 4);
	ask_all(NULL);
	if (!SANITIZED) {
		expect_function(&questions[0], 0, "of dwarf");
		expect_function(&questions[0], 1, "of dwarf");
	}
	expect_function(&questions[0], 2, NULL);
	expect_function(&questions[0], 3, NULL);
	assert_string_equal(questions[0].status, "damaged");
}

static void a_loop_ends_after_its_time(void **state)
{
	(void)state;
	expect_only_its_dwarf_lost("loops", "used up its time", &(struct symbols_limits){.cpu_seconds = 1});
}

static void memory_is_bounded(void **state)
{
	(void)state;
	if (SANITIZED) {
		print_message("skipped: no limit of memory with the address sanitizer\n");
		skip();
	}
	expect_only_its_dwarf_lost("devours", "crashed (Aborted)", &(struct symbols_limits){.memory = (size_t)256 << 20});
}

static void a_worker_that_vanishes_is_noticed(void **state)
{
	(void)state;
	expect_only_its_dwarf_lost("vanishes", "ended unexpectedly", NULL);
}

static void nonsense_is_not_believed(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		forget(state);
		expect_only_its_dwarf_lost(((const char *[]){"babbles", "promises", "refers", "finishes"})[i], "ended unexpectedly", NULL);
	}
}

static size_t descriptors(void)
{
	DIR *open = opendir("/proc/self/fd");
	size_t number = 0;

	if (!open)
		return 0;
	while (readdir(open))
		number++;
	closedir(open);
	return number;
}

static void neither_processes_nor_descriptors_remain(void **state)
{
	size_t before = descriptors();

	(void)state;
	build("sound");
	build("crashes-at-once");
	question("sound", four, 4);
	question("crashes-at-once", four, 4);
	ask_all(&(struct symbols_limits){.workers = 2});
	assert_int_equal(descriptors(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* In a child, because limits of a process cannot be raised again by everyone. root is not bound by this one. */
static void without_processes_names_are_left_out_with_the_reason(void **state)
{
	int status;
	pid_t child;

	(void)state;
	build("sound");
	child = fork();
	if (!child) {
		const struct rlimit none = {0, 0};
		bool told;

		if (!geteuid() && setuid(65534))
			_exit(2);
		if (setrlimit(RLIMIT_NPROC, &none))
			_exit(3);
		question("sound", four, 4);
		ask_all(NULL);
		told = !strcmp(questions[0].status, "failed") && !strncmp(questions[0].reason, "no process could be started", 27) &&
		       !questions[0].frames[0].function;
		_exit(told ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(all_answers_come_back, forget),
		cmocka_unit_test_teardown(a_crash_costs_one_files_dwarf, forget),
		cmocka_unit_test_teardown(one_worker_for_all_is_replaced_after_a_crash, forget),
		cmocka_unit_test_teardown(what_was_found_before_a_crash_is_kept, forget),
		cmocka_unit_test_teardown(a_loop_ends_after_its_time, forget),
		cmocka_unit_test_teardown(memory_is_bounded, forget),
		cmocka_unit_test_teardown(a_worker_that_vanishes_is_noticed, forget),
		cmocka_unit_test_teardown(nonsense_is_not_believed, forget),
		cmocka_unit_test_teardown(neither_processes_nor_descriptors_remain, forget),
		cmocka_unit_test_teardown(without_processes_names_are_left_out_with_the_reason, forget),
	};

	return cmocka_run_group_tests_name("symbols: workers", tests, symbols_fixture_make, symbols_fixture_remove);
}
