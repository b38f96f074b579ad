/* SPDX-License-Identifier: MIT
 *
 * The public interface, as a program meets it.
 *   api errors     each error code, and that an error leaves nothing behind
 *   api marks      marks of two threads, in turn
 *   api pool       a pool's objects, of which the first has the address of the slab that it lies in */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "program.h"

static char path[PATH_MAX];

/* Starting with that config is that error, and changes nothing. */
static void refused(const rheaper_config *config, int error)
{
	int running = rheaper_tracking_enabled(), got;

	errno = 77;
	strcpy(path, "unchanged");
	got = rheaper_enable_tracking(config, path, sizeof path);
	if (got != error)
		dprintf(2, "got %d (%s), wanted %d (%s)\n", got, rheaper_strerror(got), error, rheaper_strerror(error));
	CHECK(got == error);
	CHECK(errno == 77);
	CHECK(strcmp(path, "unchanged") == 0);
	CHECK(rheaper_tracking_enabled() == running);
}

#define REFUSED(field, value, error)                          \
	do {                                                  \
		rheaper_config config_ = RHEAPER_CONFIG_INIT; \
		config_.field = (value);                      \
		refused(&config_, error);                     \
	} while (0)

static void values(void)
{
	REFUSED(struct_size, 0, RHEAPER_ERROR_INVALID_CONFIG);
	REFUSED(struct_size, sizeof(size_t), RHEAPER_ERROR_INVALID_CONFIG);
	REFUSED(max_stack_depth, 0, RHEAPER_ERROR_INVALID_CONFIG);
	REFUSED(max_stack_depth, 4097, RHEAPER_ERROR_INVALID_CONFIG);
	REFUSED(max_trackers, 0, RHEAPER_ERROR_INVALID_CONFIG);
	REFUSED(max_trackers, 4097, RHEAPER_ERROR_INVALID_CONFIG);
	REFUSED(max_trackers, UINT32_MAX, RHEAPER_ERROR_INVALID_CONFIG);
	REFUSED(tracker_event_buffer_size, 0, RHEAPER_ERROR_INVALID_CONFIG);
	REFUSED(tracker_event_buffer_size, 65537, RHEAPER_ERROR_INVALID_CONFIG);
	REFUSED(sample_rate, NAN, RHEAPER_ERROR_INVALID_CONFIG);
	REFUSED(sample_rate, -NAN, RHEAPER_ERROR_INVALID_CONFIG);
	REFUSED(sample_rate, -0.1, RHEAPER_ERROR_INVALID_CONFIG);
	REFUSED(sample_rate, 1.1, RHEAPER_ERROR_INVALID_CONFIG);
	REFUSED(sample_rate, INFINITY, RHEAPER_ERROR_INVALID_CONFIG);
	REFUSED(sample_interval, 1, RHEAPER_ERROR_INVALID_CONFIG);
}

static void directories(void)
{
	static char deep[PATH_MAX + 100];
	FILE *file = fopen("file", "w");

	CHECK(file && fclose(file) == 0);
	REFUSED(profile_dir, "missing", RHEAPER_ERROR_DIRECTORY);
	REFUSED(profile_dir, "file", RHEAPER_ERROR_DIRECTORY);
	REFUSED(profile_dir, "/proc", RHEAPER_ERROR_DIRECTORY);
	memset(deep, '/', sizeof deep - 1);
	REFUSED(profile_dir, deep, RHEAPER_ERROR_PATH_TOO_LONG);
	for (size_t i = 0; i < sizeof deep - 1; i++)
		deep[i] = i % 100 ? 'd' : '/';
	REFUSED(profile_dir, deep, RHEAPER_ERROR_PATH_TOO_LONG);
	CHECK(remove("file") == 0);
}

static int from_handler;

static void enable_again(int number)
{
	(void)number;
	from_handler = rheaper_enable_tracking(NULL, NULL, 0);
}

static void memory(void)
{
	struct rlimit before, tight = {64 << 20, RLIM_INFINITY};
	rheaper_config config = RHEAPER_CONFIG_INIT;

	CHECK(getrlimit(RLIMIT_AS, &before) == 0);
	tight.rlim_max = before.rlim_max;
	CHECK(setrlimit(RLIMIT_AS, &tight) == 0);
	config.max_trackers = 4096;
	config.tracker_event_buffer_size = 65536;
	refused(&config, RHEAPER_ERROR_NO_MEMORY);
	CHECK(setrlimit(RLIMIT_AS, &before) == 0);
}

static int busy_enable, busy_disable;
static char *guarded;

static void interrupt(int number)
{
	(void)number;
	busy_enable = rheaper_enable_tracking(NULL, NULL, 0);
	busy_disable = rheaper_disable_tracking();
	CHECK(mprotect(guarded, 4096, PROT_READ | PROT_WRITE) == 0);
	strcpy(guarded, ".");
}

/* The directory's name cannot be read at first: the handler of that fault runs in the middle of an enable. */
static void busy(void)
{
	rheaper_config config = RHEAPER_CONFIG_INIT;

	guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(guarded != MAP_FAILED);
	config.profile_dir = guarded;
	signal(SIGSEGV, interrupt);
	CHECK(rheaper_enable_tracking(&config, path, sizeof path) == 0);
	signal(SIGSEGV, SIG_DFL);
	CHECK(busy_enable == RHEAPER_ERROR_BUSY);
	CHECK(busy_disable == RHEAPER_ERROR_BUSY);
	CHECK(rheaper_disable_tracking() == 0);
}

/* A config of a program that was compiled before the last field was there: what lies behind it is not the library's. */
static void older(void)
{
	struct {
		char config[offsetof(rheaper_config, sample_interval)];
		uint64_t not_a_field;
	} old;
	rheaper_config config = RHEAPER_CONFIG_INIT;

	config.struct_size = sizeof old.config;
	config.max_stack_depth = 7;
	memcpy(old.config, &config, sizeof old.config);
	old.not_a_field = 12345;
	CHECK(rheaper_enable_tracking((const rheaper_config *)(const void *)&old, path, sizeof path) == 0);
	CHECK(rheaper_disable_tracking() == 0);
	puts(path);
}

static void errors(void)
{
	char small[8] = "small";

	CHECK(rheaper_tracking_enabled() == 0);
	CHECK(rheaper_disable_tracking() == RHEAPER_ERROR_NOT_ENABLED);
	CHECK(rheaper_mark("m") == RHEAPER_ERROR_NOT_ENABLED);
	CHECK(rheaper_mark(NULL) == RHEAPER_ERROR_INVALID_ARGUMENT);
	rheaper_report_alloc(small, 1);
	rheaper_report_realloc(small, small, 1);
	rheaper_report_free(small);
	values();
	directories();
	memory();
	CHECK(rheaper_enable_tracking(NULL, small, sizeof small) == RHEAPER_ERROR_PATH_TOO_LONG);
	CHECK(strcmp(small, "small") == 0);
	CHECK(rheaper_enable_tracking(NULL, small, 0) == RHEAPER_ERROR_PATH_TOO_LONG);
	CHECK(rheaper_tracking_enabled() == 0);

	CHECK(rheaper_enable_tracking(NULL, NULL, 12345) == 0);
	refused(NULL, RHEAPER_ERROR_ALREADY_ENABLED);
	REFUSED(sample_rate, NAN, RHEAPER_ERROR_INVALID_CONFIG);
	CHECK(rheaper_mark(NULL) == RHEAPER_ERROR_INVALID_ARGUMENT);
	CHECK(rheaper_mark("m") == 0);
	signal(SIGUSR1, enable_again);
	CHECK(raise(SIGUSR1) == 0 && from_handler == RHEAPER_ERROR_ALREADY_ENABLED);
	CHECK(rheaper_disable_tracking() == 0);
	CHECK(rheaper_disable_tracking() == RHEAPER_ERROR_NOT_ENABLED);
	busy();
	older();

	for (int error = -200; error < 50; error++)
		CHECK(rheaper_strerror(error) && *rheaper_strerror(error));
	for (int a = RHEAPER_ERROR_INVALID_ARGUMENT; a <= 0; a++) {
		CHECK(strcmp(rheaper_strerror(a), rheaper_strerror(1)) != 0);
		for (int b = RHEAPER_ERROR_INVALID_ARGUMENT; b < a; b++)
			CHECK(strcmp(rheaper_strerror(a), rheaper_strerror(b)) != 0);
	}
	CHECK(strcmp(rheaper_strerror(1), rheaper_strerror(INT_MIN)) == 0);
}

static pthread_barrier_t turn;

static void *second(void *argument)
{
	pthread_setname_np(pthread_self(), "second");
	for (int i = 0; i < 100; i++) {
		char name[16];

		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
		snprintf(name, sizeof name, "b%03d", i);
		CHECK(rheaper_mark(name) == 0);
		pthread_barrier_wait(&turn);
	}
	return argument;
}

static void marks(void)
{
	char name[400];
	pthread_t thread;

	pthread_setname_np(pthread_self(), "first");
	track(".", 0, 0);
	CHECK(pthread_barrier_init(&turn, NULL, 2) == 0);
	CHECK(pthread_create(&thread, NULL, second, NULL) == 0);
	for (int i = 0; i < 100; i++) {
		pthread_barrier_wait(&turn);
		snprintf(name, sizeof name, "a%03d", i);
		CHECK(rheaper_mark(name) == 0);
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
	}
	pthread_join(thread, NULL);
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	CHECK(rheaper_mark(name) == 0);
	CHECK(rheaper_mark("") == 0);
	CHECK(rheaper_mark("Gr\xc3\xbc\xc3\x9f 'e; --\n") == 0);
	untrack();
}

static void pool(void)
{
	char *slab;

	track(".", 0, 0);
	slab = keep(malloc(1 << 16));
	for (int i = 0; i < 100; i++)
		rheaper_report_alloc(slab + i * 16, 10 + (size_t)i);
	for (int i = 0; i < 50; i++)
		rheaper_report_free(slab + i * 16);
	rheaper_report_realloc(slab + 50 * 16, slab, 5000);	      /* moves to where the slab begins */
	rheaper_report_realloc(slab + 51 * 16, slab + 51 * 16, 5001); /* stays */
	rheaper_report_realloc(NULL, slab + 50 * 16, 5002);	      /* is new */
	rheaper_report_alloc(NULL, 1);
	rheaper_report_realloc(slab + 52 * 16, NULL, 1);
	rheaper_report_free(NULL);
	free(slab);
	untrack();
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	if (*argv[1] == 'e')
		errors();
	else if (*argv[1] == 'm')
		marks();
	else
		pool();
	return 0;
}
