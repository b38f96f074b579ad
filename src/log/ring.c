/* SPDX-License-Identifier: MIT
 *
 * Opening a chunk.
 */
#include "config.h"

#include "log/ring.h"

void rh_ring_open_chunk(struct rh_ring *ring, uint32_t stream, uint32_t sequence, uint64_t first_event, uint64_t ticks,
			uint64_t monotonic)
{
	struct rh_chunk *chunk = &ring->slot->chunk;

	/* Emptied first: a kill between these stores must not leave old records under a new header. */
	__atomic_store_n(&chunk->length, 0, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	chunk->magic = RH_CHUNK_MAGIC;
	chunk->header_size = sizeof *chunk;
	chunk->version = RH_FORMAT_VERSION;
	chunk->stream = stream;
	chunk->sequence = sequence;
	chunk->events = 0;
	chunk->first_event = first_event;
	chunk->ticks = ticks;
	chunk->monotonic = monotonic;
	chunk->checksum = 0;
	chunk->reserved = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ring->length = 0;
	ring->events = 0;
	ring->last_time = ticks;
	ring->last_address = 0;
	ring->last_literal = 0;
	ring->depth = 0;
	memset(ring->dictionary, 0, sizeof ring->dictionary);
}
