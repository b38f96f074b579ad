/* SPDX-License-Identifier: MIT
 *
 * Tracking on and off: the sessions, and the public functions that start and end them.
 */
#include "config.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/name.h"
#include "log/directory.h"
#include "process/floating.h"
#include "process/modules.h"
#include "process/peer.h"
#include "process/say.h"
#include "process/syscalls.h"
#include "rheaper.h"
#include "tracker/clock.h"
#include "tracker/sampler.h"
#include "tracker/session.h"
#include "tracker/start.h"
#include "tracker/tracker.h"

union rh_gate rh_gate __attribute__((aligned(RH_GATE_SIZE)));
struct rh_session rh_session;

/* The front-end that this library is made for. */
#ifndef RH_FRONTEND
#define RH_FRONTEND "wrap"
#endif
const char *rh_frontend = RH_FRONTEND;

_Static_assert(sizeof(union rh_gate) == RH_GATE_SIZE, "the gate is wiped as a page, and nothing else with it");

/* What a slot holds at least, headers included; and at most. */
#define SLOT_SIZE_MIN (64u * 1024)
#define SLOT_SIZE_MAX (1024u * 1024)
/* Bytes that an event takes on the average, with room to spare: a slot is made large enough for the events that are to be buffered. */
#define EVENT_BYTES_USUAL 12u

#define EVENTS_MAX 65536u
#define DEPTH_MAX 4096u

/* The config as it was before sample_interval was added. */
#define CONFIG_SIZE_MIN offsetof(rheaper_config, sample_interval)

/* ---- who may switch ---- */

/* While a thread holds the lock its signals wait (mask: what they were): a handler that jumped out would leave it locked. */
static int lock_gate(uint64_t *mask)
{
	uint32_t me = rh_sandboxed ? rh_thread_mark() : rh_thread_id();
	uint64_t all = RH_SIGNALS_THAT_WAIT;

	rh_sys_sigmask(SIG_BLOCK, &all, mask);
	for (;;) {
		uint32_t holder = 0;

		if (__atomic_compare_exchange_n(&rh_gate.lock, &holder, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return 0;
		if (holder == me) { /* in the handler of a signal that cannot wait: a fault in this very code */
			rh_sys_sigmask(SIG_SETMASK, mask, NULL);
			return RHEAPER_ERROR_BUSY;
		}
		rh_sys_sleep(20000);
	}
}

static void unlock_gate(const uint64_t *mask)
{
	__atomic_store_n(&rh_gate.lock, 0, __ATOMIC_RELEASE);
	rh_sys_sigmask(SIG_SETMASK, mask, NULL);
}

/* Makes a closed gate visible to every running thread, so that each either is seen to be busy or sees it closed (membarrier(2)). Without that call, waits longer
 * than any processor keeps a store to itself. */
static void barrier(void)
{
	if (rh_sys_extra(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
		rh_sys_sleep(20000000);
}

static void unmap_trackers(void)
{
	if (!rh_session.trackers)
		return;
	for (size_t i = 0; i < rh_session.trackers_count; i++)
		rh_walker_release(&rh_tracker_at(i)->walker);
	munmap(rh_session.shared_writer, rh_session.trackers_size);
	rh_session.trackers = NULL;
}

void rh_forked(void)
{
	/* A signal handler forked, and the recording that it interrupted goes on here too: let it write into memory of this process's own. */
	if (rh_session.slab.slab && rh_seats_busy_here())
		mmap(rh_session.slab.slab, rh_session.slab.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
		     0);
}

static void forked(void)
{
	memset(&rh_gate, 0, sizeof rh_gate); /* as the kernel has done already, from 4.14 on */
	rh_forked();
}

/* The first time in a process: the gate is made to close itself in children. In a forked child the page reads zeros, so this runs again there. */
static bool come_alive(bool *is_child)
{
	const bool child = rh_session.seats != NULL;

	*is_child = false;
	if (rh_gate.alive)
		return true;
	*is_child = child;
	if (child) {
		rh_writer_end(&rh_session.writer);
		if (!rh_seats_busy_here()) {
			rh_slab_unmap(&rh_session.slab);
			unmap_trackers();
		}
		rh_session.slab.slab = NULL;
		rh_session.trackers = NULL;
	}
	if (!rh_seats_prepare(0, child))
		return false;
	if (!child) /* registrations are inherited; without this one, for want of memory, only what rh_forked is about is amiss */
		pthread_atfork(NULL, NULL, forked);
	madvise(&rh_gate, sizeof rh_gate, MADV_WIPEONFORK);
	rh_sys(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	rh_gate.alive = 1;
	return true;
}

/* ---- enable ---- */

static int read_config(const rheaper_config *given, rheaper_config *config)
{
	static const rheaper_config defaults = RHEAPER_CONFIG_INIT;
	size_t size;

	*config = defaults;
	if (given) {
		size = given->struct_size;
		if (size < CONFIG_SIZE_MIN)
			return RHEAPER_ERROR_INVALID_CONFIG;
		memcpy(config, given, size < sizeof *config ? size : sizeof *config);
		config->struct_size = sizeof *config;
	}
	if (config->max_stack_depth < 1 || config->max_stack_depth > DEPTH_MAX || config->max_trackers < 1 ||
	    config->max_trackers > RH_TRACKERS_MAX || config->tracker_event_buffer_size < 1 ||
	    config->tracker_event_buffer_size > EVENTS_MAX || !(config->sample_rate >= 0.0 && config->sample_rate <= 1.0) ||
	    config->sample_interval != 0)
		return RHEAPER_ERROR_INVALID_CONFIG;
	return 0;
}

static uint32_t slot_size(const rheaper_config *config)
{
	uint64_t wanted = sizeof(struct rh_slot) + (uint64_t)config->tracker_event_buffer_size * EVENT_BYTES_USUAL +
			  RH_EVENT_BYTES + (uint64_t)RH_FRAME_BYTES * RH_PUSH_FACTOR * config->max_stack_depth;
	uint32_t size = SLOT_SIZE_MIN;

	while (size < wanted && size < SLOT_SIZE_MAX)
		size *= 2;
	return size;
}

static bool map_trackers(const rheaper_config *config)
{
	const size_t size = sizeof(struct rh_tracker) + rh_walker_size(config->max_stack_depth);
	const size_t writer_size = (sizeof(struct rh_writer) + 63) & ~(size_t)63;
	char *memory;

	rh_session.tracker_size = (size + 63) & ~(size_t)63;
	rh_session.trackers_count = config->max_trackers + RH_SHARED_SEATS;
	rh_session.trackers_size = writer_size + rh_session.tracker_size * rh_session.trackers_count;
	memory = mmap(NULL, rh_session.trackers_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	rh_session.shared_writer = (struct rh_writer *)memory;
	rh_session.trackers = memory + writer_size;
	return true;
}

/* Fills in the session and its files; on an error nothing of them is left. */
static int set_up(const rheaper_config *config, bool followed, char *path, size_t path_size)
{
	static char parent_profile[PATH_MAX];
	char *directory = rh_session.writer.directory;
	struct rh_manifest manifest = {
		.frontend = rh_frontend, .backend = rh_backend_name(), .clock = rh_clock_name(), .config = config};
	struct rh_instant start;
	int error;

	strcpy(parent_profile, directory);
	manifest.no_arguments = rh_environment.no_arguments;
	manifest.parent = followed ? rh_session.pid : getppid();
	manifest.parent_profile = followed ? parent_profile : NULL;
	error = rh_directory_make(config->profile_dir, directory, sizeof rh_session.writer.directory);
	if (error)
		return error;
	start = rh_clock_instant();
	manifest.start_ticks = start.ticks;
	manifest.start_monotonic = start.monotonic;
	manifest.start_realtime = rh_clock_read(CLOCK_REALTIME);
	if (path && strlen(directory) >= path_size)
		error = RHEAPER_ERROR_PATH_TOO_LONG;
	if (!error)
		error = rh_manifest_write(directory, &manifest);
	if (!error)
		error = rh_slab_create(&rh_session.slab, directory, config->max_trackers + RH_SHARED_SEATS, slot_size(config));
	if (!error && (!map_trackers(config) || !rh_seats_prepare(config->max_trackers, false)))
		error = RHEAPER_ERROR_NO_MEMORY;
	if (error) {
		rh_slab_unmap(&rh_session.slab);
		unmap_trackers();
		rh_directory_remove(directory);
		return error;
	}
	rh_session.config = *config;
	rh_session.config.profile_dir = NULL; /* the caller's */
	rh_session.private_seats = config->max_trackers;
	rh_session.sample_threshold = rh_sampler_threshold(config->sample_rate);
	rh_session.next_thread = 0;
	rh_session.last_rss = 0;
	rh_session.start = start;
	rh_session.next_sync = rh_clock_tsc ? start.ticks + RH_SYNC_FIRST : UINT64_MAX;
	rh_session.pid = getpid();
	strcpy(rh_session.home, directory);
	strrchr(rh_session.home, '/')[rh_session.home == strrchr(rh_session.home, '/')] = '\0'; /* "/" stays */
	rh_writer_begin(&rh_session.writer);
	*rh_session.shared_writer = rh_session.writer;
	__atomic_store_n(&rh_session.losses, rh_session.slab.slab, __ATOMIC_RELEASE);
	if (path)
		strcpy(path, directory);
	return 0;
}

/* The modules are the first thing that the profile says, before other threads can record. */
static void say_modules(uint32_t number)
{
	struct rh_entry entry = rh_seat_enter(number, (uintptr_t)__builtin_frame_address(0), false);
	bool done;

	if (entry.tracker) {
		entry.tracker->modules_due = true;
		rh_modules_check(entry.tracker, NULL, 0, &done);
	}
	rh_seat_leave(&entry);
}

/* Slots that are made ready for threads that will come in a sandbox. */
#define SANDBOX_SEATS 32

void rh_prepare_for_sandbox(bool strict)
{
	uint64_t mask;
	int error = lock_gate(&mask);
	uint32_t undecided = RH_GATE_UNDECIDED;

	__atomic_compare_exchange_n(&rh_gate.session, &undecided, RH_GATE_OFF, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	if (rh_gate.session > RH_GATE_OFF && strict) {
		/* No seat is equipped for the new number, so every event takes the way on which counting is looked at. */
		rh_session.counting = true;
		__atomic_store_n(&rh_gate.session, ++rh_session.number, __ATOMIC_RELEASE);
	} else if (rh_gate.session > RH_GATE_OFF) {
		rh_seats_populate(SANDBOX_SEATS);
	}
	if (!error)
		unlock_gate(&mask);
}

static __attribute__((noinline)) int enable_held(const rheaper_config *given, bool followed, char *path, size_t path_size)
{
	rheaper_config config;
	static bool had_modules;
	uint64_t mine = UINT64_C(1) << (SIGXFSZ - 1), mask, pending = 0;
	bool child = false;
	int saved = errno, error = read_config(given, &config);

	if (!error && rh_sandboxed)
		error = RHEAPER_ERROR_SANDBOX;
	if (!error)
		error = lock_gate(&mask);
	if (error) {
		errno = saved;
		return error;
	}
	rh_clock_choose();
	rh_sys_extra(SYS_rt_sigpending, &pending, sizeof pending);
	if (__atomic_load_n(&rh_gate.session, __ATOMIC_RELAXED) > RH_GATE_OFF)
		error = RHEAPER_ERROR_ALREADY_ENABLED;
	else if (!come_alive(&child))
		error = RHEAPER_ERROR_NO_MEMORY;
	else
		error = set_up(&config, followed && child, path, path_size);
	if (!error) {
		if (rh_session.number <= RH_GATE_OFF)
			rh_session.number = RH_GATE_OFF;
		rh_session.number++;
		rh_unwind_init();
		rh_unwind_forget(); /* what was unloaded while nobody looked */
		rh_modules_begin(child && had_modules);
		had_modules = true;
		say_modules(rh_session.number);
		rh_session.recording = true;
		__atomic_store_n(&rh_gate.session, rh_session.number, __ATOMIC_RELEASE);
	} else if (child) {
		rh_session.recording = false; /* the parent's session is not this process's any more */
	}
	if (error == RHEAPER_ERROR_NO_SPACE && !(pending & mine)) {
		struct timespec at_once = {0, 0};

		rh_sys_extra(SYS_rt_sigtimedwait, &mine, NULL, &at_once, sizeof mine); /* RLIMIT_FSIZE's signal, if it came */
	}
	unlock_gate(&mask);
	errno = saved;
	return error;
}

static int enable(const rheaper_config *given, bool followed, char *path, size_t path_size)
{
	uint32_t held = rh_floating_hold();
	int error = enable_held(given, followed, path, path_size);

	rh_floating_release(held);
	return error;
}

int rheaper_enable_tracking(const rheaper_config *config, char *path, size_t path_size)
{
	int saved = errno;

	rh_start_reading();
	errno = saved;
	if (rh_peer)
		return rh_peer->enable_tracking(config, path, path_size);
	return enable(config, false, path, path_size);
}

void rh_follow(void)
{
	static char home[PATH_MAX];
	rheaper_config config = rh_session.config;

	strcpy(home, rh_session.home);
	config.profile_dir = home;
	enable(&config, true, NULL, 0);
}

/* ---- disable ---- */

int rheaper_disable_tracking(void)
{
	int saved = errno, error;
	uint32_t number;
	uint64_t mask;

	if (!rh_tracking() && rh_peer)
		return rh_peer->disable_tracking();
	error = lock_gate(&mask);
	if (error)
		goto out;
	number = rh_gate.session;
	if (number > RH_GATE_OFF && rh_session.counting) {
		/* In strict mode no file can be written; all that was recorded is in the slab. */
		rh_session.recording = rh_session.counting = false;
		__atomic_store_n(&rh_gate.session, RH_GATE_OFF, __ATOMIC_SEQ_CST);
		rh_session.slab.slab->ended = RH_ENDED_DISABLED;
		rh_session.slab.slab = NULL;
		rh_session.trackers = NULL;
	} else if (number > RH_GATE_OFF) {
		bool quiet;
		struct rh_instant end;

		rh_session.recording = false;
		__atomic_store_n(&rh_gate.session, RH_GATE_OFF, __ATOMIC_SEQ_CST);
		barrier();
		quiet = rh_seats_finish(number);
		end = rh_clock_instant();
		rh_session.slab.slab->end_ticks = end.ticks;
		rh_session.slab.slab->ended = RH_ENDED_DISABLED;
		rh_manifest_end(rh_session.writer.directory, end.ticks, end.monotonic);
		rh_writer_end(&rh_session.writer);
		if (quiet) {
			static struct rh_slab *retired;

			if (retired)
				munmap(retired, RH_SLAB_HEADER_SIZE);
			retired = rh_slab_unmap_slots(&rh_session.slab);
			unmap_trackers();
		} else {
			rh_session.slab.slab = NULL; /* left to the thread that is stuck in it */
			rh_session.trackers = NULL;
		}
	} else {
		error = RHEAPER_ERROR_NOT_ENABLED;
	}
	unlock_gate(&mask);
out:
	errno = saved;
	return error;
}

int rheaper_tracking_enabled(void)
{
	return rh_tracking() || (rh_peer && rh_peer->tracking_enabled());
}

void rh_note_exit(void)
{
	uint32_t number = __atomic_load_n(&rh_gate.session, __ATOMIC_RELAXED);
	struct rh_entry entry;
	int saved = errno;

	/* A child of vfork shares our memory until it leaves by _exit; that is not our end. */
	if (number <= RH_GATE_OFF || rh_session.counting || (!rh_sandboxed && rh_session.pid != getpid()))
		return;
	entry = rh_seat_enter(number, (uintptr_t)__builtin_frame_address(0), true);
	if (entry.tracker) {
		rh_session.slab.slab->end_ticks = rh_clock_now();
		rh_session.slab.slab->ended = RH_ENDED_EXIT;
	}
	rh_seat_leave(&entry);
	errno = saved;
}

bool rh_closing_line_due(void)
{
	return !rh_sandboxed && rh_environment.launched == getpid() && !rh_environment.quiet && *rh_session.writer.directory && !rh_peer;
}

void rh_say_closing_line(void)
{
	static bool said;
	const char *directory = rh_session.writer.directory;

	if (rh_closing_line_due() && !__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		rh_say("recorded to ", directory, "; next: rheaper-rip ", directory, " profile.db", NULL);
}

static __attribute__((destructor)) void at_exit(void)
{
	rh_note_exit();
	rh_say_closing_line();
}

const char *rheaper_strerror(int error)
{
	switch (error) {
	case RHEAPER_OK:
		return "no error";
	case RHEAPER_ERROR_ALREADY_ENABLED:
		return "tracking is already enabled";
	case RHEAPER_ERROR_NOT_ENABLED:
		return "tracking is not enabled";
	case RHEAPER_ERROR_INVALID_CONFIG:
		return "a configuration value is out of range";
	case RHEAPER_ERROR_DIRECTORY:
		return "the profile directory cannot be made";
	case RHEAPER_ERROR_PATH_TOO_LONG:
		return "the path of the profile is too long";
	case RHEAPER_ERROR_NO_SPACE:
		return "there is no room for the profile";
	case RHEAPER_ERROR_NO_MEMORY:
		return "there is no memory for the profile";
	case RHEAPER_ERROR_BUSY:
		return "tracking is being switched by this very thread";
	case RHEAPER_ERROR_SANDBOX:
		return "the program has locked itself up (seccomp)";
	case RHEAPER_ERROR_INVALID_ARGUMENT:
		return "an argument is missing";
	default:
		return "unknown error";
	}
}
