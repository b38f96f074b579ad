/* SPDX-License-Identifier: MIT
 *
 * The running session, and the seats from which threads record. Internal to src/tracker/.
 *
 * A seat is a thread's place at a slot of the slab. It outlives sessions and threads: its robust mutex is held by a thread for
 * the rest of that thread's life, so that the kernel tells the next one (EOWNERDEAD) that the seat is free, after the last event and without any
 * exit handler. A tracker is what a seat records with in one session.
 *
 * Who waits for whom. Enable and disable are serialised by the gate page's lock. Threads never take that lock: a thread announces itself in its seat's
 * `busy`, then looks at the gate; disable closes the gate, makes that visible with membarrier(2), then waits for the seats that are busy.
 */
#ifndef RH_TRACKER_SESSION_H
#define RH_TRACKER_SESSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "log/format.h"
#include "log/ring.h"
#include "log/slab.h"
#include "log/writer.h"
#include "process/modules.h"
#include "rheaper.h"
#include "tracker/clock.h"
#include "tracker/tracker.h"
#include "unwind/unwind.h"

#define RH_TRACKERS_MAX 4096
/* Seats that threads share when all others are taken. */
#define RH_SHARED_SEATS 8
#define RH_SEATS_MAX (RH_TRACKERS_MAX + RH_SHARED_SEATS)
/* Recordings that may be under way in one thread: its own, and those of signal handlers that interrupt it. */
#define RH_LEVELS 4

/* Ticks of the time stamp counter are converted by pairs of readings. A process may be killed before its first chunk is written, so events say
 * such pairs as well: the first soon after the start, each further one at twice its distance. So whenever it ends, the pairs reach over half
 * of its life, and the error of a pair, some 50 ns, is at most doubled. */
#define RH_SYNC_FIRST (UINT64_C(1) << 14) /* ticks: some 100 us */

/* A record holds at most so many frames for each one of max_stack_depth. */
#define RH_PUSH_FACTOR 2

/* One seat's recording state in one session. Private memory, zeroed. */
struct rh_tracker {
	struct rh_ring ring;
	struct rh_walker walker;
	uint64_t random;          /* the sampler's state */
	uint64_t misses;          /* rh_unwind_misses when modules were last looked at */
	uint64_t log_inode;       /* of this stream's log file; 0: none yet */
	bool chunk_has_modules;   /* the open chunk holds module records: they must be said again if it is lost */
	bool modules_due;         /* all modules are to be recorded: at the start of a session, or after such a loss */
	uint32_t thread;          /* serial of the thread that the log was last told of */
	uint32_t tid;             /* of that thread */
	bool populated;           /* the slot has its disk blocks */
	uint32_t max_depth;       /* of the session that this tracker belongs to, like writer: a recording may be interrupted by the next session's enable */
	struct rh_writer *writer;
	uint32_t level;
	uint32_t log_base;        /* outermost frames of walker.kept that the log does not have */
	char scratch[RH_PATH_SCRATCH];
	char walker_memory[] __attribute__((aligned(16))); /* what walker.kept and the like point to */
};

struct rh_seat {
	uintptr_t busy;           /* 0, or a stack address inside the recording under way. Holder writes, disable reads. */
	uint32_t session;         /* for which tracker is ready */
	uint32_t lock;            /* shared seats only: 1 while a thread uses it */
	struct rh_tracker *tracker;
	pthread_mutex_t owner;    /* robust; see above. Not used by shared seats. */
} __attribute__((aligned(64)));

/* Written by enable while the gate is closed, read by recording threads while it is open. */
struct rh_session {
	uint32_t number;          /* of the latest session, from RH_GATE_OFF + 1 */
	bool recording;           /* a session runs; still true in the child of a process that records, until it decides for itself */
	bool counting;            /* strict mode: what would be recorded is only counted */
	int64_t pid;              /* of the process that the session is, or was, of */
	uint32_t incarnation;     /* grows when a forked child starts anew: what threads remember of before is void */
	uint32_t private_seats;   /* config.max_trackers */
	uint32_t next_thread;     /* atomic: serial to give next */
	uint64_t sample_threshold;
	uint64_t last_rss;        /* atomic: CLOCK_MONOTONIC at the latest RSS record */
	struct rh_instant start;
	uint64_t next_sync;       /* atomic: ticks at which an event is to say a pair of clock readings; UINT64_MAX: never */
	struct rh_seat *seats;    /* RH_SEATS_MAX */
	struct rh_slab_map slab;
	struct rh_slab *losses;   /* header of the slab, for counting losses without being busy: mapped until the next session has ended */
	struct rh_writer writer;
	rheaper_config config;
	char home[PATH_MAX];      /* the directory that the profile was made in, absolute */
	char *trackers;           /* one per seat, tracker_size apart */
	size_t tracker_size, trackers_count;
	struct rh_writer *shared_writer; /* in front of them, in the same mapping: what they write with, also when a later session has begun */
	size_t trackers_size;            /* of that mapping */
};
extern struct rh_session rh_session __attribute__((visibility("hidden")));

/* A sandbox is coming (process/sandbox.h): does beforehand what will not be allowed any more, or, before strict mode, stops to record. */
void rh_prepare_for_sandbox(bool strict);

/* This thread's id, or 0 in a sandbox. */
uint32_t rh_thread_id(void);

/* A number that no other running thread has, without a system call. Not 0. */
uint32_t rh_thread_mark(void);

/* Gets the slots of the first `count` private seats, and of all shared ones, their disk blocks, as far as there is room. */
void rh_seats_populate(uint32_t count);

/* In the child of a process that records: begins a profile of its own with its parent's configuration. */
void rh_follow(void);

/* Name of the front-end that this process is captured by, for the manifest. */
extern const char *rh_frontend __attribute__((visibility("hidden")));

static inline struct rh_tracker *rh_tracker_at(size_t index)
{
	return (struct rh_tracker *)(rh_session.trackers + index * rh_session.tracker_size);
}

/* A seat's tracker that a thread has entered. */
struct rh_entry {
	struct rh_seat *seat;
	struct rh_tracker *tracker; /* NULL: the event is not to be recorded (off, or lost and counted) */
	uint64_t mask;              /* signal mask to restore, shared seats only */
};

/* What a thread remembers. 64 bytes of initial-exec TLS: more would not fit into a program that is already running. */
struct rh_self {
	struct rh_seat *seat[RH_LEVELS]; /* 0: its own; further ones for signal handlers */
	uint32_t incarnation;            /* to which these seats belong */
	uint32_t session;                /* for which serial is */
	uint32_t serial;
	uint32_t starved;                /* times that it had to share since it last looked for a seat of its own */
};
extern __thread struct rh_self rh_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

struct rh_entry rh_seat_enter_slowly(uint32_t number, uintptr_t here, bool gate_open);
void rh_seat_leave_shared(struct rh_entry *entry);

/* Makes this thread's tracker ready for session `number` and marks it busy; here is the address of a local variable of the caller's. When
 * gate_open is false the session is still being set up by this very thread. Async-signal-safe; keeps errno. */
static inline struct rh_entry rh_seat_enter(uint32_t number, uintptr_t here, bool gate_open)
{
	struct rh_seat *seat = rh_self.seat[0];

	if (__builtin_expect(seat && !seat->busy, 1)) {
		__atomic_store_n(&seat->busy, here, __ATOMIC_RELAXED);
		__atomic_signal_fence(__ATOMIC_SEQ_CST); /* disable's membarrier is the other half */
		/* Seats of before a fork never have a number of after it: a child's seats are new. */
		if (__builtin_expect(seat->session == number && rh_self.session == number &&
					     (!gate_open || __atomic_load_n(&rh_gate.session, __ATOMIC_RELAXED) == number), 1))
			return (struct rh_entry){seat, seat->tracker, 0};
		__atomic_store_n(&seat->busy, 0, __ATOMIC_RELEASE);
	}
	return rh_seat_enter_slowly(number, here, gate_open);
}

static inline void rh_seat_leave(struct rh_entry *entry)
{
	struct rh_seat *seat = entry->seat;

	if (__builtin_expect(!seat, 0))
		return;
	__atomic_store_n(&seat->busy, 0, __ATOMIC_RELEASE);
	if (__builtin_expect(seat >= rh_session.seats + RH_TRACKERS_MAX, 0))
		rh_seat_leave_shared(entry);
}

/* Sets up seats [0, count) and the shared ones, once in the life of a process; a forked child gets new ones. False when memory is out. */
bool rh_seats_prepare(uint32_t count, bool child);

/* Whether this thread is inside a recording: then we are in a signal handler. */
bool rh_seats_busy_here(void);

/* In the child of a fork, as soon as that can be known. */
void rh_forked(void);

/* After the gate was closed: waits until no thread records, at most a second in all, and finishes the trackers of session `number`. False if some
 * thread is stuck inside a recording: then what it may still touch must stay mapped. */
bool rh_seats_finish(uint32_t number);

/* Opens a chunk and says whose it is. The tracker is entered. */
void rh_tracker_begin_chunk(struct rh_tracker *tracker, uint32_t stream, uint32_t sequence, uint64_t first_event);

/* The events that follow are tracker->thread's. */
void rh_tracker_say_thread(struct rh_tracker *tracker);

/* Writes out the open chunk and starts the next. A chunk that cannot be written is lost, which the next one's first_event says. */
void rh_tracker_drain(struct rh_tracker *tracker);

/* At the end of a session: writes out the open chunk; if it cannot be written it stays in the slab, for the reader to find. */
void rh_tracker_finish(struct rh_tracker *tracker);

/* Ensures room for one record of `bytes`. */
static inline void rh_tracker_room(struct rh_tracker *tracker, uint32_t bytes)
{
	if (__builtin_expect(rh_ring_room(&tracker->ring) < bytes || tracker->ring.events >= tracker->ring.event_limit, 0))
		rh_tracker_drain(tracker);
}

/* Records a module, or that one is gone. Only while this thread has entered the tracker. */
void rh_tracker_module(struct rh_tracker *tracker, const struct rh_module *module, uint64_t time);
void rh_tracker_unload(struct rh_tracker *tracker, uint64_t start, uint64_t time);

#endif
