/* SPDX-License-Identifier: MIT
 *
 * Who records where: taking a seat, keeping it for a thread's life, sharing when there are more threads than seats, and signal handlers that interrupt a
 * recording. See session.h for the protocol.
 */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "process/syscalls.h"
#include "tracker/clock.h"
#include "tracker/session.h"
#include "tracker/tracker.h"

#define self rh_self
__thread struct rh_self self;

/* Looks at a shared seat before a thread in a sandbox gives up. */
#define SHARED_TRIES (1u << 20)

/* A thread without a seat looks for one at every so many events: others may have ended. */
#define RETRY_SEAT 64

/* ---- seats ---- */

/* The recording in this seat will not be finished. Its ring's state may be ahead of what is committed: begin a new chunk before the next. */
static void give_up(struct rh_seat *seat, uint32_t number)
{
	if (seat->session == number)
		seat->tracker->thread = 0;
	seat->busy = 0;
}

static struct rh_seat *take_seat(uint32_t number)
{
	struct rh_seat *seats = rh_session.seats;
	uint32_t count = rh_session.private_seats;

	for (uint32_t i = 0; i < count; i++) {
		int result = pthread_mutex_trylock(&seats[i].owner);

		if (result == EOWNERDEAD) {
			pthread_mutex_consistent(&seats[i].owner);
			if (seats[i].busy) /* it ended inside a recording: by pthread_exit in a signal handler */
				give_up(&seats[i], number);
		}
		if (result == 0 || result == EOWNERDEAD)
			return &seats[i];
	}
	return NULL;
}

static uint32_t seat_index(const struct rh_seat *seat)
{
	return (uint32_t)(seat - rh_session.seats);
}

static bool seat_fits(const struct rh_seat *seat)
{
	uint32_t index = seat_index(seat);

	return index < rh_session.private_seats || index >= RH_TRACKERS_MAX;
}

/* Its slot in the slab: the shared seats come after the private ones. */
static uint32_t slot_index(const struct rh_seat *seat)
{
	uint32_t index = seat_index(seat);

	return index < RH_TRACKERS_MAX ? index : rh_session.private_seats + (index - RH_TRACKERS_MAX);
}

/* ---- losses ---- */

static void count_loss(enum rh_loss kind)
{
	struct rh_slab *slab = __atomic_load_n(&rh_session.losses, __ATOMIC_ACQUIRE);

	__atomic_fetch_add(&slab->lost[kind], 1, __ATOMIC_RELAXED);
}

/* ---- trackers ---- */

static uint32_t own_serial(uint32_t number)
{
	if (self.session != number) {
		self.serial = __atomic_add_fetch(&rh_session.next_thread, 1, __ATOMIC_RELAXED);
		self.session = number;
	}
	return self.serial;
}

/* Gives a seat its tracker for this session. False when the slot has no room on the disk. */
static bool equip(struct rh_seat *seat, uint32_t number)
{
	uint32_t index = slot_index(seat);
	struct rh_tracker *tracker = rh_tracker_at(index);
	struct rh_slot *slot = rh_slab_slot(&rh_session.slab, index);
	struct rh_ring *ring = &tracker->ring;

	if (!tracker->populated && !rh_slab_populate(&rh_session.slab, index, rh_session.writer.directory, tracker->scratch))
		return false;
	tracker->populated = true;
	ring->slot = slot;
	ring->records = (uint8_t *)(slot + 1);
	ring->room = rh_session.slab.slab->slot_size - (uint32_t)sizeof *slot;
	ring->event_limit = rh_session.config.tracker_event_buffer_size;
	rh_walker_equip(&tracker->walker, tracker->walker_memory, rh_session.config.max_stack_depth);
	tracker->random = (rh_clock_now() ^ (uint64_t)(uintptr_t)tracker) | 1;
	tracker->log_inode = 0;
	tracker->max_depth = rh_session.config.max_stack_depth;
	tracker->writer = rh_session.shared_writer;
	slot->used = 1;
	seat->tracker = tracker;
	seat->session = number;
	return true;
}

/* Tells the log whose events follow. */
static void introduce(struct rh_seat *seat, uint32_t level, uint32_t number)
{
	struct rh_tracker *tracker = seat->tracker;
	struct rh_chunk *chunk = &tracker->ring.slot->chunk;
	uint32_t serial = own_serial(number);
	bool given_up = tracker->thread == 0 && chunk->magic == RH_CHUNK_MAGIC;

	if (tracker->thread == serial && tracker->level == level)
		return;
	if (tracker->thread != serial)
		tracker->tid = rh_thread_id();
	tracker->thread = serial;
	tracker->level = level;
	rh_walker_reset(&tracker->walker);
	__atomic_store_n(&tracker->ring.slot->thread, serial, __ATOMIC_RELAXED);
	if (chunk->magic != RH_CHUNK_MAGIC) {
		rh_tracker_begin_chunk(tracker, slot_index(seat), 0, 0);
	} else if (given_up) {
		rh_tracker_drain(tracker);
	} else {
		rh_tracker_room(tracker, RH_EVENT_BYTES);
		rh_tracker_say_thread(tracker);
	}
}

/* ---- entering ---- */

static struct rh_entry nothing(void)
{
	return (struct rh_entry){NULL, NULL, 0};
}

static bool still_open(uint32_t number, bool gate_open)
{
	return !gate_open || __atomic_load_n(&rh_gate.session, __ATOMIC_RELAXED) == number;
}

/* Marks the seat busy and makes sure that disable either sees that or is seen. */
static bool announce(struct rh_seat *seat, uint32_t number, uintptr_t here, bool gate_open)
{
	__atomic_store_n(&seat->busy, here, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (still_open(number, gate_open) && (seat->session == number || equip(seat, number)))
		return true;
	if (still_open(number, gate_open))
		count_loss(RH_LOSS_MEMORY);
	__atomic_store_n(&seat->busy, 0, __ATOMIC_RELEASE);
	return false;
}

/* More threads than seats. Signals wait until it is given back (their mask before is `mask`), so a handler never finds a shared seat held by the
 * thread that it interrupted, and whoever holds one is on its way to give it back. */
static struct rh_entry enter_shared(uint32_t number, uintptr_t here, bool gate_open, uint64_t mask)
{
	struct rh_seat *shared = rh_session.seats + RH_TRACKERS_MAX;
	struct rh_entry entry = {NULL, NULL, mask};
	uint32_t first = own_serial(number);

	for (uint32_t i = 0;; i++) {
		struct rh_seat *seat = &shared[(first + i) % RH_SHARED_SEATS];

		if (__atomic_load_n(&seat->lock, __ATOMIC_RELAXED) == 0 &&
		    __atomic_exchange_n(&seat->lock, 1, __ATOMIC_ACQUIRE) == 0) {
			entry.seat = seat;
			break;
		}
		if (i % RH_SHARED_SEATS == RH_SHARED_SEATS - 1)
			rh_sys_extra(SYS_sched_yield);
		if (i == SHARED_TRIES && rh_sandboxed) { /* signals could not be made to wait: we may be in a handler of the holder */
			count_loss(RH_LOSS_TRACKER);
			return nothing();
		}
	}
	if (announce(entry.seat, number, here, gate_open)) {
		introduce(entry.seat, 0, number);
		entry.tracker = entry.seat->tracker;
	}
	return entry;
}

/* Was the recording in this seat given up, by a jump out of a signal handler that had interrupted it? It was if no handler runs here: then nothing is
 * interrupted. Whether one does, the stack tells: a walk through a handler crosses the frame that the signal interrupted. If the walk cannot be made
 * to its end the recording may still be under way. */
static __attribute__((noinline)) bool abandoned(void)
{
	static uint64_t pcs[4096]; /* guarded by taken; who finds it taken, does without */
	static uint32_t taken;
	const struct rh_frame from = RH_CALLER();
	struct rh_walker walker = {0};
	uint64_t all = RH_SIGNALS_THAT_WAIT, mask;
	bool in_handler = true;

	rh_sys_sigmask(SIG_BLOCK, &all, &mask);
	if (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE) == 0) {
		unsigned depth = rh_unwind(&walker, &from, pcs, sizeof pcs / sizeof *pcs);

		in_handler = walker.truncated || depth == sizeof pcs / sizeof *pcs;
		for (unsigned i = 0; i < depth && !in_handler; i++)
			in_handler = pcs[i] & RH_PC_EXACT;
		rh_walker_release(&walker);
		__atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
	}
	rh_sys_sigmask(SIG_SETMASK, &mask, NULL);
	return !in_handler;
}

static void forget_past(void)
{
	if (self.incarnation == rh_session.incarnation)
		return;
	memset(&self, 0, sizeof self);
	self.incarnation = rh_session.incarnation;
}

/* Enters this thread's seat of that level, takes one if it has none, else shares. Signals wait meanwhile: a handler would find the level half
 * bound, and might jump out and leave it so. */
static struct rh_entry bind(uint32_t level, uint32_t number, uintptr_t here, bool gate_open)
{
	struct rh_seat *seat = self.seat[level];
	struct rh_entry entry = nothing();
	uint64_t all = RH_SIGNALS_THAT_WAIT, mask;

	rh_sys_sigmask(SIG_BLOCK, &all, &mask);
	if (!seat || !seat_fits(seat)) {
		seat = self.starved % RETRY_SEAT == 0 ? take_seat(number) : NULL;
		self.starved = seat ? 0 : self.starved + 1;
	}
	self.seat[level] = seat;
	if (!seat)
		return enter_shared(number, here, gate_open, mask);
	if (announce(seat, number, here, gate_open)) {
		introduce(seat, level, number);
		entry.seat = seat;
		entry.tracker = seat->tracker;
	}
	rh_sys_sigmask(SIG_SETMASK, &mask, NULL);
	return entry;
}

static struct rh_entry enter_slowly(uint32_t number, uintptr_t here, bool gate_open)
{
	if (number <= RH_GATE_OFF)
		return nothing();
	if (rh_session.counting) {
		count_loss(RH_LOSS_STRICT);
		return nothing();
	}
	forget_past();
	for (uint32_t level = 0; level < RH_LEVELS; level++) {
		struct rh_seat *seat = self.seat[level];

		if (seat && seat->busy) {
			if (!abandoned())
				continue;
			give_up(seat, number);
		}
		return bind(level, number, here, gate_open);
	}
	count_loss(RH_LOSS_NESTED);
	return nothing();
}

__attribute__((cold, noinline)) struct rh_entry rh_seat_enter_slowly(uint32_t number, uintptr_t here, bool gate_open)
{
	int saved = errno;
	struct rh_entry entry = enter_slowly(number, here, gate_open);

	errno = saved;
	return entry;
}

__attribute__((cold, noinline)) void rh_seat_leave_shared(struct rh_entry *entry)
{
	int saved = errno;

	__atomic_store_n(&entry->seat->lock, 0, __ATOMIC_RELEASE);
	rh_sys_sigmask(SIG_SETMASK, &entry->mask, NULL);
	errno = saved;
}

/* ---- for enable and disable ---- */

bool rh_seats_busy_here(void)
{
	for (int level = 0; level < RH_LEVELS; level++)
		if (self.seat[level] && self.seat[level]->busy)
			return true;
	return false;
}

uint32_t rh_thread_id(void)
{
	long id = rh_sys_extra(SYS_gettid);

	return id > 0 ? (uint32_t)id : 0;
}

uint32_t rh_thread_mark(void)
{
	return (uint32_t)((uintptr_t)&self >> 4) | 1;
}

void rh_seats_populate(uint32_t count)
{
	if (count > rh_session.private_seats)
		count = rh_session.private_seats;
	for (uint32_t i = 0; i < rh_session.private_seats + RH_SHARED_SEATS; i++) {
		struct rh_tracker *tracker;

		if (i == count)
			i = rh_session.private_seats; /* the shared ones come behind */
		tracker = rh_tracker_at(i);
		if (!tracker->populated)
			tracker->populated = rh_slab_populate(&rh_session.slab, i, rh_session.writer.directory, tracker->scratch);
	}
}

static uint32_t prepared; /* private seats whose mutex is made */

bool rh_seats_prepare(uint32_t count, bool child)
{
	pthread_mutexattr_t attributes;

	if (!rh_session.seats || child) {
		void *memory = mmap(NULL, RH_SEATS_MAX * sizeof(struct rh_seat), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (memory == MAP_FAILED)
			return false;
		/* The parent's seats stay mapped and closed: threads of its time still point to them. */
		rh_session.seats = memory;
		rh_session.incarnation++;
		prepared = 0;
	}
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	for (; prepared < count; prepared++)
		pthread_mutex_init(&rh_session.seats[prepared].owner, &attributes);
	pthread_mutexattr_destroy(&attributes);
	return true;
}

static bool has_no_owner(struct rh_seat *seat)
{
	int result = pthread_mutex_trylock(&seat->owner);

	if (result == EOWNERDEAD)
		pthread_mutex_consistent(&seat->owner);
	if (result != 0 && result != EOWNERDEAD)
		return false;
	pthread_mutex_unlock(&seat->owner);
	return true;
}

bool rh_seats_finish(uint32_t number)
{
	const long pause = 50000;                                 /* ns */
	const uint64_t patience = rh_clock_now() + 1000000000; /* ns */
	bool all = true;

	for (uint32_t i = 0; i < RH_SEATS_MAX; i++) {
		struct rh_seat *seat = &rh_session.seats[i];

		if (i >= prepared && i < RH_TRACKERS_MAX)
			continue;
		while (__atomic_load_n(&seat->busy, __ATOMIC_ACQUIRE) && rh_clock_now() < patience) {
			bool mine = false;

			for (int level = 0; level < RH_LEVELS; level++)
				mine |= self.seat[level] == seat; /* we are in a signal handler that interrupted it */
			if (mine)
				break;
			if (i < RH_TRACKERS_MAX && has_no_owner(seat)) {
				seat->busy = 0; /* its thread ended inside a recording, by pthread_exit in a signal handler */
				break;
			}
			rh_sys_sleep(pause);
		}
		if (__atomic_load_n(&seat->busy, __ATOMIC_ACQUIRE)) {
			all = false; /* what it has committed is in the slab */
			continue;
		}
		if (seat->session == number)
			rh_tracker_finish(seat->tracker);
	}
	return all;
}
