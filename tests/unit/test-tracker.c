/* SPDX-License-Identifier: MIT
 *
 * Sessions and events: what the tracker is told comes back from the profile, by way of rheaper-rip's reader.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "read/profile.h"
#include "read/record.h"
#include "process/sandbox.h"
#include "rheaper.h"
#include "tracker/tracker.h"

static char home[] = "/tmp/rheaper-test-XXXXXX";
static char path[4096];

/* ---- reading back ---- */

struct event {
	uint8_t kind, argument;
	uint64_t serial, ticks, duration, old, address, size;
	uint32_t depth, stream, sequence;
	uint64_t caller;
};

static struct event events[200000];
static size_t event_count;
static unsigned mark_count;
static char last_mark[300], last_name[64];

static void read_chunk_events(const struct read_chunks *chunks, const struct read_chunk *chunk, uint32_t stream)
{
	static struct read_cursor cursor;
	uint8_t *buffer = NULL;
	size_t capacity = 0;
	struct fault fault = {""};
	const uint8_t *records = read_chunk_records(chunks, chunk, &buffer, &capacity, &fault);
	struct read_record r;
	uint64_t serial = 0;
	int result;

	assert_non_null(records);
	read_cursor_start(&cursor, records, chunk->length, chunk->head.ticks);
	while ((result = read_record_next(&cursor, &r)) == 1) {
		if (r.kind == RH_RECORD_CONTROL) {
			if (r.argument == RH_CONTROL_THREAD)
				serial = r.field[0];
			if (r.argument == RH_CONTROL_NAME)
				snprintf(last_name, sizeof last_name, "%.*s", (int)r.text_size[0], (const char *)r.text[0]);
			if (r.argument == RH_CONTROL_MARK) {
				mark_count++;
				snprintf(last_mark, sizeof last_mark, "%.*s", (int)r.text_size[0], (const char *)r.text[0]);
			}
			continue;
		}
		assert_true(event_count < sizeof events / sizeof *events);
		events[event_count++] = (struct event){r.kind,    r.argument, serial,       r.ticks, r.duration,
						       r.old,     r.address,  r.size,       cursor.depth, stream,
						       chunk->head.sequence, cursor.depth ? cursor.pcs[cursor.depth - 1] : 0};
	}
	assert_int_equal(result, 0);
	free(buffer);
}

static void read_back(const char *directory)
{
	struct read_chunks chunks;
	struct fault fault = {""};

	event_count = mark_count = 0;
	*last_mark = *last_name = '\0';
	memset(&chunks, 0, sizeof chunks);
	if (read_chunks_find(&chunks, directory, &fault) != 0)
		fail_msg("%s", fault.text);
	assert_true(chunks.damaged == 0 && chunks.cut == 0);
	for (size_t s = 0; s < chunks.stream_count; s++)
		for (size_t c = 0; c < chunks.streams[s].count; c++)
			read_chunk_events(&chunks, &chunks.chunks[chunks.streams[s].first + c], chunks.streams[s].number);
	read_chunks_free(&chunks);
}

/* ---- telling the tracker ---- */

static __attribute__((noinline)) void alloc(uintptr_t address, size_t size)
{
	struct rh_frame caller = RH_CALLER();

	if (rh_tracking())
		rh_event_alloc((void *)address, size, RH_CALL_MALLOC, &caller);
}

static void release(uintptr_t address)
{
	if (rh_tracking())
		rh_event_free((void *)address, RH_FREE_FREE);
}

static rheaper_config config_here(void)
{
	rheaper_config config = RHEAPER_CONFIG_INIT;

	config.profile_dir = home;
	return config;
}

static void enable(const rheaper_config *given)
{
	rheaper_config config = config_here();

	assert_int_equal(rheaper_enable_tracking(given ? given : &config, path, sizeof path), 0);
}

static unsigned entries_in_home(void)
{
	struct stat status;

	assert_int_equal(stat(home, &status), 0);
	return (unsigned)status.st_nlink - 2; /* a directory has a link a subdirectory, on most file systems */
}

/* ---- tests ---- */

static void a_profile_is_private_and_never_an_existing_one(void **state)
{
	char expected[4096], file[4200];
	struct stat status;

	(void)state;
	for (int i = 0; i < 3; i++) {
		enable(NULL);
		assert_int_equal(rheaper_tracking_enabled(), 1);
		assert_int_equal(rheaper_disable_tracking(), 0);
		assert_int_equal(rheaper_tracking_enabled(), 0);
		snprintf(expected, sizeof expected, i ? "%s/rip-%d.%d" : "%s/rip-%d", home, getpid(), i);
		assert_string_equal(path, expected);
		assert_int_equal(stat(path, &status), 0);
		assert_int_equal(status.st_mode & 0777, 0700);
		snprintf(file, sizeof file, "%s/rings", path);
		assert_int_equal(stat(file, &status), 0);
		assert_int_equal(status.st_mode & 0777, 0600);
	}
}

static void events_come_back_as_they_were_told(void **state)
{
	uint64_t begin;
	struct rh_frame caller = {0x401234, 0, 0};

	(void)state;
	enable(NULL);
	alloc(0x1000, 100);
	release(0x1000);
	alloc(0x2008, 0);
	begin = rh_event_realloc_begin();
	rh_event_realloc((void *)0x2008, (void *)0x3000, 70000, RH_CALL_REALLOC, begin, &caller);
	assert_int_equal(rheaper_disable_tracking(), 0);
	alloc(0x4000, 1);
	read_back(path);
	assert_int_equal(event_count, 4);
	assert_true(events[0].kind == RH_RECORD_ALLOC && events[0].address == 0x1000 && events[0].size == 100 && events[0].depth >= 1);
	assert_true(events[1].kind == RH_RECORD_FREE && events[1].address == 0x1000 && events[1].ticks >= events[0].ticks);
	assert_true(events[2].kind == RH_RECORD_ALLOC && events[2].address == 0x2008 && events[2].size == 0);
	assert_true(events[3].kind == RH_RECORD_REALLOC && events[3].old == 0x2008 && events[3].address == 0x3000 &&
		    events[3].size == 70000);
	assert_true(events[3].ticks - events[3].duration == begin);
	assert_true(events[3].caller == 0x401234);
	for (int i = 0; i < 4; i++)
		assert_int_equal(events[i].serial, events[0].serial);
}

static void a_second_enable_leaves_the_first_alone(void **state)
{
	rheaper_config config = config_here();
	char first[4096];
	unsigned before;

	(void)state;
	enable(NULL);
	strcpy(first, path);
	alloc(0x1000, 1);
	before = entries_in_home();
	assert_int_equal(rheaper_enable_tracking(&config, path, sizeof path), RHEAPER_ERROR_ALREADY_ENABLED);
	assert_int_equal(entries_in_home(), before);
	alloc(0x2000, 1);
	assert_int_equal(rheaper_disable_tracking(), 0);
	assert_int_equal(rheaper_disable_tracking(), RHEAPER_ERROR_NOT_ENABLED);
	read_back(first);
	assert_int_equal(event_count, 2);
}

static void refuses(rheaper_config config, int error)
{
	unsigned before = entries_in_home();

	errno = 4711;
	assert_int_equal(rheaper_enable_tracking(&config, NULL, 0), error);
	assert_int_equal(errno, 4711);
	assert_int_equal(rheaper_tracking_enabled(), 0);
	assert_int_equal(entries_in_home(), before);
}

#define REFUSES(field, value)                                                                                                  \
	do {                                                                                                                   \
		rheaper_config config_ = config_here();                                                                        \
		config_.field = (value);                                                                                       \
		refuses(config_, RHEAPER_ERROR_INVALID_CONFIG);                                                                \
	} while (0)

static void bad_values_are_refused_and_leave_tracking_off(void **state)
{
	(void)state;
	REFUSES(struct_size, 0);
	REFUSES(struct_size, 8);
	REFUSES(max_stack_depth, 0);
	REFUSES(max_stack_depth, 4097);
	REFUSES(max_trackers, 0);
	REFUSES(max_trackers, 4097);
	REFUSES(tracker_event_buffer_size, 0);
	REFUSES(tracker_event_buffer_size, 65537);
	REFUSES(sample_rate, -0.1);
	REFUSES(sample_rate, 1.1);
	REFUSES(sample_rate, NAN);
	REFUSES(sample_interval, 1);
}

static void a_config_of_the_first_version_is_taken(void **state)
{
	rheaper_config config = config_here();

	(void)state;
	config.struct_size = offsetof(rheaper_config, sample_interval);
	config.sample_interval = 77; /* behind the end of what that version knew */
	enable(&config);
	assert_int_equal(rheaper_disable_tracking(), 0);
}

static void unusable_directories_are_refused(void **state)
{
	rheaper_config config = config_here();
	char file[200], deep[5000];

	(void)state;
	config.profile_dir = "/nonexistent/anywhere";
	refuses(config, RHEAPER_ERROR_DIRECTORY);
	snprintf(file, sizeof file, "%s/file", home);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	config.profile_dir = file;
	refuses(config, RHEAPER_ERROR_DIRECTORY);
	unlink(file);
	memset(deep, 'x', sizeof deep - 1);
	deep[0] = '/';
	deep[sizeof deep - 1] = '\0';
	config.profile_dir = deep;
	refuses(config, RHEAPER_ERROR_PATH_TOO_LONG);
}

static void a_path_that_does_not_fit_leaves_nothing_behind(void **state)
{
	rheaper_config config = config_here();
	unsigned before = entries_in_home();
	char tiny[10];

	(void)state;
	assert_int_equal(rheaper_enable_tracking(&config, tiny, sizeof tiny), RHEAPER_ERROR_PATH_TOO_LONG);
	assert_int_equal(rheaper_tracking_enabled(), 0);
	assert_int_equal(entries_in_home(), before);
}

static void the_buffer_holds_as_many_events_as_asked_for(void **state)
{
	rheaper_config config = config_here();

	(void)state;
	config.tracker_event_buffer_size = 10;
	enable(&config);
	for (uintptr_t i = 0; i < 25; i++)
		alloc(0x1000 + i * 16, 1);
	read_back(path); /* while tracking: two chunks are written, the third is in the rings */
	assert_int_equal(event_count, 25);
	for (uint32_t i = 0; i < 25; i++)
		assert_int_equal(events[i].sequence - events[0].sequence, i / 10);
	assert_int_equal(rheaper_disable_tracking(), 0);
	read_back(path);
	assert_int_equal(event_count, 25);
}

static void large_buffers_and_deep_stacks_work(void **state)
{
	rheaper_config config = config_here();

	(void)state;
	config.tracker_event_buffer_size = 65536;
	config.max_stack_depth = 4096;
	config.max_trackers = 4096;
	enable(&config);
	for (uintptr_t i = 0; i < 70000; i++)
		alloc(0x1000 + i * 16, i);
	assert_int_equal(rheaper_disable_tracking(), 0);
	read_back(path);
	assert_int_equal(event_count, 70000);
	for (uint32_t i = 0; i < 70000; i++)
		assert_true(events[i].size == i);
}

static void *pairs(void *count)
{
	for (uintptr_t i = 0; i < (uintptr_t)count; i++) {
		alloc((uintptr_t)pthread_self() + i * 16, 8);
		release((uintptr_t)pthread_self() + i * 16);
	}
	return NULL;
}

static unsigned distinct(size_t offset)
{
	static bool seen[100000];
	unsigned count = 0;

	memset(seen, 0, sizeof seen);
	for (size_t i = 0; i < event_count; i++) {
		uint64_t value = offset == offsetof(struct event, stream) ? events[i].stream : events[i].serial;

		count += !seen[value];
		seen[value] = true;
	}
	return count;
}

static void threads_in_turn_share_a_ring_and_keep_their_names_apart(void **state)
{
	(void)state;
	enable(NULL);
	for (int i = 0; i < 300; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, pairs, (void *)5), 0);
		pthread_join(thread, NULL);
	}
	assert_int_equal(rheaper_disable_tracking(), 0);
	read_back(path);
	assert_int_equal(event_count, 300 * 10);
	assert_int_equal(distinct(offsetof(struct event, serial)), 300);
	assert_in_range(distinct(offsetof(struct event, stream)), 1, 3);
}

static void more_threads_than_trackers_lose_nothing(void **state)
{
	rheaper_config config = config_here();
	pthread_t threads[40];

	(void)state;
	config.max_trackers = 2;
	enable(&config);
	for (int i = 0; i < 40; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, pairs, (void *)1000), 0);
	for (int i = 0; i < 40; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(rheaper_disable_tracking(), 0);
	read_back(path);
	assert_int_equal(event_count, 40 * 2000);
	assert_int_equal(distinct(offsetof(struct event, serial)), 40);
	for (size_t i = 1; i < event_count; i++)
		assert_true(events[i].stream != events[i - 1].stream || events[i].ticks >= events[i - 1].ticks);
}

static void switching_while_threads_record_is_safe(void **state)
{
	pthread_t threads[3];

	(void)state;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 3; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, pairs, (void *)5000), 0);
		for (int i = 0; i < 5; i++) {
			enable(NULL);
			usleep(200);
			assert_int_equal(rheaper_disable_tracking(), 0);
			read_back(path);
		}
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
	}
}

static void a_forked_child_records_into_a_profile_of_its_own(void **state)
{
	char parents[4096], childs[4096];
	struct read_profile profile;
	struct fault fault = {""};
	int status;
	pid_t child;

	(void)state;
	enable(NULL);
	strcpy(parents, path);
	alloc(0x1000, 1);
	child = fork();
	if (child == 0) {
		alloc(0x2000, 2);
		alloc(0x3000, 3);
		_exit(rheaper_disable_tracking() != 0);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	alloc(0x4000, 4);
	assert_int_equal(rheaper_disable_tracking(), 0);
	read_back(parents);
	assert_int_equal(event_count, 2);
	assert_true(events[0].size == 1 && events[1].size == 4);
	snprintf(childs, sizeof childs, "%s/rip-%d", home, child);
	read_back(childs);
	assert_int_equal(event_count, 2);
	assert_true(events[0].size == 2 && events[1].size == 3);
	assert_int_equal(read_profile_open(&profile, childs, &fault), 0);
	assert_int_equal(read_manifest_number(&profile.manifest, "parent", 0), getpid());
	assert_string_equal(read_manifest_text(&profile.manifest, "parent_profile"), parents);
	assert_true(read_manifest_number(&profile.manifest, "process_start", 0) > 0);
	assert_true(profile.module_count > 1);
	read_profile_close(&profile);
}

static void a_forked_child_can_switch_and_a_grandchild_follows_it(void **state)
{
	char parents[4096], grandchilds[4096];
	int status;
	pid_t child;

	(void)state;
	enable(NULL);
	strcpy(parents, path);
	child = fork();
	if (child == 0) {
		pid_t grandchild;
		int ok = rheaper_tracking_enabled() && rheaper_disable_tracking() == 0;

		grandchild = fork();
		if (grandchild == 0)
			_exit(rheaper_tracking_enabled()); /* its parent was off */
		waitpid(grandchild, &status, 0);
		ok &= status == 0;
		enable(NULL);
		ok &= strcmp(parents, path) != 0;
		grandchild = fork();
		if (grandchild == 0) {
			alloc(0x5000, 5);
			_exit(0);
		}
		waitpid(grandchild, &status, 0);
		snprintf(grandchilds, sizeof grandchilds, "%s/rip-%d", home, grandchild);
		read_back(grandchilds);
		ok &= event_count == 1 && events[0].size == 5;
		_exit(!ok);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(rheaper_disable_tracking(), 0);
	read_back(parents);
	assert_int_equal(event_count, 0);
}

static void what_a_process_recorded_outlives_its_exit_without_disable(void **state)
{
	static const int ways[] = {0, 1, 2};
	char profile[4096];

	(void)state;
	for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
		int status;
		pid_t child = fork();

		if (child == 0) {
			enable(NULL);
			for (uintptr_t i = 0; i < 12345; i++)
				alloc(0x1000 + i * 16, 1);
			if (way == 0)
				_exit(0);
			if (way == 1)
				quick_exit(0);
			kill(getpid(), SIGKILL);
		}
		waitpid(child, &status, 0);
		snprintf(profile, sizeof profile, "%s/rip-%d", home, child);
		read_back(profile);
		assert_int_equal(event_count, 12345);
	}
}

static void marks_and_thread_names_are_kept(void **state)
{
	char longer[400];

	(void)state;
	assert_int_equal(rheaper_mark("early"), RHEAPER_ERROR_NOT_ENABLED);
	prctl(PR_SET_NAME, "a-test");
	enable(NULL);
	assert_int_equal(rheaper_mark(NULL), RHEAPER_ERROR_INVALID_ARGUMENT);
	assert_int_equal(rheaper_mark("half time"), 0);
	memset(longer, 'm', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	assert_int_equal(rheaper_mark(longer), 0);
	assert_int_equal(rheaper_disable_tracking(), 0);
	read_back(path);
	assert_int_equal(mark_count, 2);
	assert_int_equal(strlen(last_mark), 255);
	assert_string_equal(last_name, "a-test");
}

static void events_leave_errno_alone(void **state)
{
	rheaper_config config = config_here();

	(void)state;
	config.tracker_event_buffer_size = 1; /* a drain at every event */
	enable(&config);
	errno = 1234;
	alloc(0x1000, 1);
	release(0x1000);
	rheaper_mark("x");
	assert_int_equal(errno, 1234);
	assert_int_equal(rheaper_disable_tracking(), 0);
	assert_int_equal(errno, 1234);
}

static void a_rate_of_zero_records_nothing(void **state)
{
	rheaper_config config = config_here();

	(void)state;
	config.sample_rate = 0.0;
	enable(&config);
	for (uintptr_t i = 0; i < 1000; i++) {
		alloc(0x1000 + i * 16, 1);
		release(0x1000 + i * 16);
	}
	assert_int_equal(rheaper_disable_tracking(), 0);
	read_back(path);
	assert_int_equal(event_count, 0);
}

/* A seccomp(2) filter that kills whoever makes a call not in the list. */
static void lock_up(const uint32_t *allowed, unsigned count)
{
	struct sock_filter filter[40];
	struct sock_fprog program = {0, filter};

	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < count; i++) {
		filter[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		_exit(10);
	rh_sandbox_prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER); /* as the intercepted prctl does */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(11);
}

static void in_a_sandbox_recording_goes_on_with_few_system_calls(void **state)
{
	static const uint32_t allowed[] = {SYS_write, SYS_openat, SYS_close, SYS_mmap, SYS_munmap, SYS_exit_group};
	char profile[4096];
	int status;
	pid_t child;

	(void)state;
#if defined(__SANITIZE_ADDRESS__)
	print_message("in a sandbox: the sanitizer makes system calls of its own\n");
	skip();
#endif
	child = fork();
	if (child == 0) {
		rheaper_config config = config_here();

		config.tracker_event_buffer_size = 100;
		enable(&config);
		alloc(0x1000, 1);
		rh_sandbox_syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1); /* with a flag it is refused: so libseccomp looks for the call */
		lock_up(allowed, sizeof allowed / sizeof *allowed);
		for (uintptr_t i = 1; i < 1000; i++)
			alloc(0x1000 + i * 16, 1);
		rheaper_mark("locked up");
		_exit(rheaper_enable_tracking(&config, NULL, 0) != RHEAPER_ERROR_SANDBOX || rheaper_disable_tracking() != 0);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	snprintf(profile, sizeof profile, "%s/rip-%d", home, child);
	read_back(profile);
	assert_int_equal(event_count, 1000);
	assert_int_equal(mark_count, 1);
}

static void in_strict_mode_events_are_counted(void **state)
{
	char profile[4096];
	struct read_chunks chunks;
	struct fault fault = {""};
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		enable(NULL);
		alloc(0x1000, 1);
		rh_sandbox_prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
			_exit(10);
		for (uintptr_t i = 1; i < 1000; i++)
			alloc(0x1000 + i * 16, 1);
		release(0x1000);
		rheaper_disable_tracking();
		syscall(SYS_exit, 0); /* the only way out that is allowed */
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	snprintf(profile, sizeof profile, "%s/rip-%d", home, child);
	read_back(profile);
	assert_int_equal(event_count, 1);
	memset(&chunks, 0, sizeof chunks);
	assert_int_equal(read_chunks_find(&chunks, profile, &fault), 0);
	assert_int_equal(chunks.lost[RH_LOSS_STRICT], 1000);
	read_chunks_free(&chunks);
}

static void every_error_has_a_sentence(void **state)
{
	(void)state;
	for (int error = 0; error >= RHEAPER_ERROR_SANDBOX; error--)
		assert_string_not_equal(rheaper_strerror(error), rheaper_strerror(-1000));
	assert_non_null(rheaper_strerror(5));
}

static int make_home(void **state)
{
	(void)state;
	return mkdtemp(home) ? 0 : -1;
}

static int remove_entry(const char *name, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(name);
}

static int remove_home(void **state)
{
	(void)state;
	return nftw(home, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_profile_is_private_and_never_an_existing_one),
		cmocka_unit_test(events_come_back_as_they_were_told),
		cmocka_unit_test(a_second_enable_leaves_the_first_alone),
		cmocka_unit_test(bad_values_are_refused_and_leave_tracking_off),
		cmocka_unit_test(a_config_of_the_first_version_is_taken),
		cmocka_unit_test(unusable_directories_are_refused),
		cmocka_unit_test(a_path_that_does_not_fit_leaves_nothing_behind),
		cmocka_unit_test(the_buffer_holds_as_many_events_as_asked_for),
		cmocka_unit_test(large_buffers_and_deep_stacks_work),
		cmocka_unit_test(threads_in_turn_share_a_ring_and_keep_their_names_apart),
		cmocka_unit_test(more_threads_than_trackers_lose_nothing),
		cmocka_unit_test(switching_while_threads_record_is_safe),
		cmocka_unit_test(a_forked_child_records_into_a_profile_of_its_own),
		cmocka_unit_test(a_forked_child_can_switch_and_a_grandchild_follows_it),
		cmocka_unit_test(what_a_process_recorded_outlives_its_exit_without_disable),
		cmocka_unit_test(marks_and_thread_names_are_kept),
		cmocka_unit_test(events_leave_errno_alone),
		cmocka_unit_test(a_rate_of_zero_records_nothing),
		cmocka_unit_test(in_a_sandbox_recording_goes_on_with_few_system_calls),
		cmocka_unit_test(in_strict_mode_events_are_counted),
		cmocka_unit_test(every_error_has_a_sentence),
	};

	return cmocka_run_group_tests(tests, make_home, remove_home);
}
