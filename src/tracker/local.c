/* SPDX-License-Identifier: MIT
 *
 * One thread's recording: events into the ring of its tracker. This is the event path: nothing here may call malloc, take a lock, print, or use
 * more than 2 KB of stack.
 *
 * A signal handler may interrupt any of this and allocate: rh_seat_enter gives it another seat, so a ring has one writer at a time.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "process/modules.h"
#include "process/path.h"
#include "process/peer.h"
#include "process/syscalls.h"
#include "tracker/clock.h"
#include "tracker/sampler.h"
#include "tracker/session.h"
#include "tracker/tracker.h"

/* RSS records are at least this far apart. */
#define RSS_INTERVAL 10000000 /* ns */

#define THREAD_NAME_SIZE 16 /* prctl(2), PR_GET_NAME */

/* The process's resident set in bytes, or 0. (proc_pid_statm(5): the second number, in pages.) */
static uint64_t resident_set(void)
{
	char text[96], *p = text;
	ssize_t n = rh_sys_read_file("/proc/self/statm", text, sizeof text - 1);
	uint64_t pages = 0;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	while (*p && *p != ' ')
		p++;
	while (*p == ' ')
		p++;
	for (; *p >= '0' && *p <= '9'; p++)
		pages = pages * 10 + (uint64_t)(*p - '0');
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void rh_tracker_say_thread(struct rh_tracker *tracker)
{
	struct rh_ring *ring = &tracker->ring;
	uint8_t *p = rh_ring_position(ring);
	char name[THREAD_NAME_SIZE + 1] = "";

	*p++ = RH_TAG(RH_RECORD_CONTROL, RH_CONTROL_THREAD);
	p = rh_put_varint(p, tracker->thread);
	p = rh_put_varint(p, tracker->tid);
	p = rh_put_varint(p, tracker->level);
	ring->depth = 0;
	if (rh_sys_extra(SYS_prctl, PR_GET_NAME, name) == 0 && *name) {
		*p++ = RH_TAG(RH_RECORD_CONTROL, RH_CONTROL_NAME);
		p = rh_put_string(p, name, strlen(name));
	}
	rh_ring_commit(ring, p);
}

static void record_rss(struct rh_tracker *tracker, struct rh_instant instant)
{
	uint64_t last = __atomic_load_n(&rh_session.last_rss, __ATOMIC_RELAXED), now = instant.monotonic, bytes;
	uint8_t *p = rh_ring_position(&tracker->ring);

	if (now - last < RSS_INTERVAL ||
	    !__atomic_compare_exchange_n(&rh_session.last_rss, &last, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	bytes = resident_set();
	if (!bytes)
		return;
	*p++ = RH_TAG(RH_RECORD_CONTROL, RH_CONTROL_RSS);
	p = rh_put_time(&tracker->ring, p, instant.ticks);
	p = rh_put_varint(p, bytes);
	rh_ring_commit(&tracker->ring, p);
}

void rh_tracker_begin_chunk(struct rh_tracker *tracker, uint32_t stream, uint32_t sequence, uint64_t first_event)
{
	struct rh_instant now = rh_clock_instant();

	rh_ring_open_chunk(&tracker->ring, stream, sequence, first_event, now.ticks, now.monotonic);
	tracker->chunk_has_modules = false;
	rh_tracker_say_thread(tracker);
	record_rss(tracker, now);
}

static bool write_out(struct rh_tracker *tracker)
{
	struct rh_chunk *chunk = &tracker->ring.slot->chunk;

	chunk->events = tracker->ring.events;
	chunk->checksum = rh_checksum(tracker->ring.records, tracker->ring.length);
	return rh_writer_append(tracker->writer, chunk, &tracker->log_inode, tracker->scratch);
}

/* Signals wait: a handler that jumps out would leave a chunk between two states, and a descriptor behind. */
__attribute__((cold)) void rh_tracker_drain(struct rh_tracker *tracker)
{
	struct rh_chunk *chunk = &tracker->ring.slot->chunk;
	uint64_t all = RH_SIGNALS_THAT_WAIT, mask;
	int saved = errno;

	rh_sys_sigmask(SIG_BLOCK, &all, &mask);
	if (!write_out(tracker) && tracker->chunk_has_modules)
		tracker->modules_due = true;
	rh_tracker_begin_chunk(tracker, chunk->stream, chunk->sequence + 1, chunk->first_event + tracker->ring.events);
	rh_sys_sigmask(SIG_SETMASK, &mask, NULL);
	errno = saved;
}

void rh_tracker_finish(struct rh_tracker *tracker)
{
	struct rh_chunk *chunk = &tracker->ring.slot->chunk;
	struct rh_instant now = rh_clock_instant();

	if (write_out(tracker))
		rh_ring_open_chunk(&tracker->ring, chunk->stream, chunk->sequence + 1, chunk->first_event + tracker->ring.events, now.ticks,
				   now.monotonic);
}

void rh_tracker_module(struct rh_tracker *tracker, const struct rh_module *module, uint64_t time)
{
	uint8_t *p;

	rh_tracker_room(tracker, RH_EVENT_BYTES + module->path_size + module->build_id_size);
	p = rh_ring_position(&tracker->ring);
	*p++ = RH_TAG(RH_RECORD_CONTROL, RH_CONTROL_MODULE);
	p = rh_put_time(&tracker->ring, p, time);
	p = rh_put_varint(p, module->base);
	p = rh_put_varint(p, module->start);
	p = rh_put_varint(p, module->end);
	p = rh_put_string(p, module->path, module->path_size);
	p = rh_put_string(p, module->build_id, module->build_id_size);
	rh_ring_commit(&tracker->ring, p);
	tracker->chunk_has_modules = true;
}

void rh_tracker_unload(struct rh_tracker *tracker, uint64_t start, uint64_t time)
{
	uint8_t *p;

	rh_tracker_room(tracker, RH_EVENT_BYTES);
	p = rh_ring_position(&tracker->ring);
	*p++ = RH_TAG(RH_RECORD_CONTROL, RH_CONTROL_UNLOAD);
	p = rh_put_time(&tracker->ring, p, time);
	p = rh_put_varint(p, start);
	rh_ring_commit(&tracker->ring, p);
	tracker->chunk_has_modules = true;
}

/* What the log needs to hear about a stack. */
struct difference {
	uint32_t pop, push;
};

/* Code that was never seen before, or is owed to the log, is made known before the event: its module record must not be younger. Returns how
 * many outermost frames are still the same. */
static __attribute__((cold, noinline)) uint32_t look_at_modules(struct rh_tracker *tracker, const struct rh_frame *caller, uint64_t misses,
								uint32_t same)
{
	struct rh_walker *walker = &tracker->walker;
	int saved = errno;
	bool done;

	if (rh_modules_check(tracker, walker->pcs, rh_walker_pcs(walker), &done)) {
		uint32_t again = rh_walk(walker, caller);

		if (again < same)
			same = again;
	}
	if (done)
		tracker->misses = misses;
	errno = saved;
	return same;
}

/* The log's stack ends where walker.kept does, but may begin further in: what nobody asks for is not logged again after a new chunk. Two are
 * asked for in a row so that a stack that becomes shallower by one does not begin further out each time. */
static __attribute__((noinline)) struct difference begin_anew(struct rh_tracker *tracker)
{
	const uint32_t most = RH_PUSH_FACTOR * tracker->walker.max, depth = tracker->walker.depth;
	struct difference difference;

	difference.push = depth < most ? depth : most;
	rh_tracker_room(tracker, RH_EVENT_BYTES + RH_FRAME_BYTES * difference.push);
	difference.pop = tracker->ring.depth;
	tracker->log_base = depth - difference.push;
	return difference;
}

/* Walks the stack and makes room for the record. */
static inline __attribute__((always_inline)) struct difference prepare(struct rh_tracker *tracker, const struct rh_frame *caller)
{
	struct rh_walker *walker = &tracker->walker;
	uint32_t same = rh_walk(walker, caller), depth;
	uint64_t misses = rh_unwind_misses();

	if (__builtin_expect(misses != tracker->misses || tracker->modules_due, 0))
		same = look_at_modules(tracker, caller, misses, same);
	depth = walker->depth;
	rh_tracker_room(tracker, RH_EVENT_BYTES + RH_FRAME_BYTES * (depth - same));
	if (__builtin_expect(tracker->ring.depth == 0 || tracker->log_base, 0)) {
		const uint32_t base = tracker->log_base;

		if (tracker->ring.depth == 0 || same <= base || depth - base < walker->max)
			return begin_anew(tracker);
		return (struct difference){base + tracker->ring.depth - same, depth - same};
	}
	return (struct difference){tracker->ring.depth - same, depth - same};
}

static inline __attribute__((always_inline)) uint8_t *put_stack(struct rh_tracker *tracker, uint8_t *p, struct difference difference)
{
	const struct rh_kept *frame = tracker->walker.kept + tracker->walker.depth - difference.push;

	p = rh_put_stack(&tracker->ring, p, difference.pop, difference.push);
	for (uint32_t i = 0; i < difference.push; i++)
		p = rh_put_frame(&tracker->ring, p, rh_kept_pc(&frame[i]));
	return p;
}

#define HERE ((uintptr_t)__builtin_frame_address(0))

/* Enters the tracker for an event. errno is saved where something may change it, off the usual way. */
static inline struct rh_entry enter(void)
{
	return rh_seat_enter(__atomic_load_n(&rh_gate.session, __ATOMIC_RELAXED), HERE, true);
}

/* Says a pair of clock readings, if no other thread is at it. */
static __attribute__((cold, noinline)) void sync_clocks(struct rh_tracker *tracker, uint64_t due)
{
	struct rh_instant now = rh_clock_instant(); /* clock_gettime leaves errno alone: it succeeds */
	uint64_t next = now.ticks + (now.ticks - rh_session.start.ticks);
	uint8_t *p;

	if (!__atomic_compare_exchange_n(&rh_session.next_sync, &due, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	rh_tracker_room(tracker, RH_EVENT_BYTES);
	p = rh_ring_position(&tracker->ring);
	*p++ = RH_TAG(RH_RECORD_CONTROL, RH_CONTROL_SYNC);
	p = rh_put_time(&tracker->ring, p, now.ticks);
	p = rh_put_varint(p, now.monotonic);
	rh_ring_commit(&tracker->ring, p);
}

static inline __attribute__((always_inline)) void commit_event(struct rh_tracker *tracker, const uint8_t *end)
{
	tracker->ring.events++; /* first: of an event that is abandoned in between, the log will say that it is missing */
	rh_ring_commit(&tracker->ring, end);
	if (__builtin_expect(tracker->ring.last_time >= __atomic_load_n(&rh_session.next_sync, __ATOMIC_RELAXED), 0))
		sync_clocks(tracker, __atomic_load_n(&rh_session.next_sync, __ATOMIC_RELAXED));
}

void rh_event_alloc(void *block, size_t size, enum rh_call call, const struct rh_frame *caller)
{
	struct rh_entry entry = enter();
	struct rh_tracker *tracker = entry.tracker;

	if (tracker && rh_sampler_takes(&tracker->random, rh_session.sample_threshold)) {
		struct difference stack = prepare(tracker, caller);
		uint8_t *p = rh_ring_position(&tracker->ring);

		*p++ = RH_TAG(RH_RECORD_ALLOC, call);
		p = rh_put_time(&tracker->ring, p, rh_clock_now());
		p = rh_put_address(&tracker->ring, p, (uint64_t)block);
		p = rh_put_varint(p, size);
		p = put_stack(tracker, p, stack);
		commit_event(tracker, p);
	}
	rh_seat_leave(&entry);
}

/* The free is published when this returns, so it stands in the log before any event of the block's next owner. */
void rh_event_free(void *block, enum rh_free how)
{
	struct rh_entry entry = enter();
	struct rh_tracker *tracker = entry.tracker;

	if (tracker && rh_session.sample_threshold) {
		uint8_t *p;

		rh_tracker_room(tracker, RH_EVENT_BYTES);
		p = rh_ring_position(&tracker->ring);
		*p++ = RH_TAG(RH_RECORD_FREE, how);
		p = rh_put_time(&tracker->ring, p, rh_clock_now());
		p = rh_put_address(&tracker->ring, p, (uint64_t)block);
		commit_event(tracker, p);
	}
	rh_seat_leave(&entry);
}

uint64_t rh_event_realloc_begin(void)
{
	return rh_session.counting ? 0 : rh_clock_now(); /* strict mode forbids the time stamp counter */
}

void rh_event_realloc(void *old, void *block, size_t size, enum rh_call call, uint64_t begin, const struct rh_frame *caller)
{
	struct rh_entry entry = enter();
	struct rh_tracker *tracker = entry.tracker;
	struct rh_ring *ring = tracker ? &tracker->ring : NULL;
	uint8_t *p;

	if (tracker && rh_sampler_takes(&tracker->random, rh_session.sample_threshold)) {
		struct difference stack = prepare(tracker, caller);
		uint64_t now = rh_clock_now();

		p = rh_ring_position(ring);
		*p++ = RH_TAG(RH_RECORD_REALLOC, call);
		p = rh_put_time(ring, p, now);
		p = rh_put_varint(p, ring->last_time > begin ? ring->last_time - begin : 0);
		p = rh_put_address(ring, p, (uint64_t)old);
		p = rh_put_address(ring, p, (uint64_t)block);
		p = rh_put_varint(p, size);
		p = put_stack(tracker, p, stack);
		commit_event(tracker, p);
	} else if (tracker && rh_session.sample_threshold) {
		rh_tracker_room(tracker, RH_EVENT_BYTES);
		p = rh_ring_position(ring);
		*p++ = RH_TAG(RH_RECORD_FREE, call == RH_CALL_POOL_REALLOC ? RH_FREE_POOL_REALLOC : RH_FREE_REALLOC);
		p = rh_put_time(ring, p, begin);
		p = rh_put_address(ring, p, (uint64_t)old);
		commit_event(tracker, p);
	}
	rh_seat_leave(&entry);
}

int rheaper_mark(const char *name)
{
	struct rh_entry entry;
	size_t size;
	int result = RHEAPER_ERROR_NOT_ENABLED;

	if (!name)
		return RHEAPER_ERROR_INVALID_ARGUMENT;
	if (!rh_tracking())
		return rh_peer ? rh_peer->mark(name) : RHEAPER_ERROR_NOT_ENABLED;
	size = strnlen(name, 255);
	entry = enter();
	if (entry.tracker) {
		struct rh_ring *ring = &entry.tracker->ring;
		uint8_t *p;

		rh_tracker_room(entry.tracker, RH_EVENT_BYTES + 255);
		p = rh_ring_position(ring);
		*p++ = RH_TAG(RH_RECORD_CONTROL, RH_CONTROL_MARK);
		p = rh_put_time(ring, p, rh_clock_now());
		p = rh_put_string(p, name, size);
		rh_ring_commit(ring, p);
		result = RHEAPER_OK;
	}
	rh_seat_leave(&entry);
	return result;
}
