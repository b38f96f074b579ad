/* SPDX-License-Identifier: MIT
 *
 * A local tracker's ring: the open chunk in its slot of the slab, and the state that records are differences from.
 * Used by one thread at a time (its tracker's holder). Async-signal-safe; see local.h for what may interrupt what.
 *
 * A record is written behind the commit position, then becomes visible to readers, and survives a kill, by rh_ring_commit.
 */
#ifndef RH_LOG_RING_H
#define RH_LOG_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "log/format.h"

struct rh_ring {
	struct rh_slot *slot;
	uint8_t *records;     /* of the open chunk */
	uint32_t room;        /* bytes for records */
	uint32_t event_limit; /* drain once the chunk holds this many events */
	uint32_t length;      /* committed so far */
	uint32_t events;      /* in this chunk, control records not counted */
	uint64_t last_time;
	uint64_t last_address; /* divided by 16 */
	uint64_t last_literal;
	uint32_t depth;        /* of the last stack that was logged; 0: the next one is to be logged whole */
	uint64_t dictionary[1u << RH_DICTIONARY_BITS];
};

/* Room that an event may take at most, besides its stack; and a frame. */
#define RH_EVENT_BYTES 96u
#define RH_FRAME_BYTES 11u

static inline uint8_t *rh_put_varint(uint8_t *p, uint64_t value)
{
	while (__builtin_expect(value >= 0x80, 0)) {
		*p++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*p++ = (uint8_t)value;
	return p;
}

static inline uint64_t rh_zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint8_t *rh_put_string(uint8_t *p, const void *bytes, size_t size)
{
	p = rh_put_varint(p, size);
	memcpy(p, bytes, size);
	return p + size;
}

/* Time never runs backwards within a stream, whatever the clock does. */
static inline uint8_t *rh_put_time(struct rh_ring *ring, uint8_t *p, uint64_t time)
{
	uint64_t difference = time > ring->last_time ? time - ring->last_time : 0;

	ring->last_time += difference;
	return rh_put_varint(p, difference);
}

static inline uint8_t *rh_put_address(struct rh_ring *ring, uint8_t *p, uint64_t address)
{
	uint64_t granule = address >> 4;
	unsigned rest = (unsigned)(address & 15);

	p = rh_put_varint(p, rh_zigzag(granule - ring->last_address) << 1 | (rest != 0));
	if (rest)
		*p++ = (uint8_t)rest;
	ring->last_address = granule;
	return p;
}

static inline uint8_t *rh_put_frame(struct rh_ring *ring, uint8_t *p, uint64_t pc)
{
	uint32_t slot = rh_pc_slot(pc);

	if (__builtin_expect(ring->dictionary[slot] == pc, 1))
		return rh_put_varint(p, slot + 1u);
	ring->dictionary[slot] = pc;
	*p++ = 0;
	p = rh_put_varint(p, rh_zigzag((pc & ~RH_PC_EXACT) - ring->last_literal) << 1 | pc >> 63);
	ring->last_literal = pc & ~RH_PC_EXACT;
	return p;
}

/* Begins the field `stack`: of the last stack logged, `pop` frames go and `push` come, which the caller then puts one by one by rh_put_frame,
 * outermost first. */
static inline uint8_t *rh_put_stack(struct rh_ring *ring, uint8_t *p, uint32_t pop, uint32_t push)
{
	*p++ = (uint8_t)((pop < 15 ? pop : 15) | (push < 15 ? push : 15) << 4);
	if (__builtin_expect(pop >= 15, 0))
		p = rh_put_varint(p, pop - 15);
	if (__builtin_expect(push >= 15, 0))
		p = rh_put_varint(p, push - 15);
	ring->depth += push - pop;
	return p;
}

/* Where the next record goes. */
static inline uint8_t *rh_ring_position(struct rh_ring *ring)
{
	return ring->records + ring->length;
}

/* Bytes until the chunk is full. */
static inline uint32_t rh_ring_room(const struct rh_ring *ring)
{
	return ring->room - ring->length;
}

/* All up to end is whole: publish it. */
static inline void rh_ring_commit(struct rh_ring *ring, const uint8_t *end)
{
	ring->length = (uint32_t)(end - ring->records);
	__atomic_store_n(&ring->slot->chunk.length, ring->length, __ATOMIC_RELEASE);
}

/* Opens chunk `sequence` in the slot: empty, with the state that format.h says a chunk starts from. */
void rh_ring_open_chunk(struct rh_ring *ring, uint32_t stream, uint32_t sequence, uint64_t first_event, uint64_t ticks,
			uint64_t monotonic);


#endif
