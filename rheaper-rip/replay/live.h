/* SPDX-License-Identifier: MIT
 *
 * The blocks that are live: a table by process, domain and address. Linear probing; removal shifts back (D. E. Knuth, The Art of
 * Computer Programming, vol. 3, 6.4, algorithm R), so that no tombstones pile up in a log with billions of frees.
 */
#ifndef REPLAY_LIVE_H
#define REPLAY_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLAY_SERIAL_BITS 40
#define REPLAY_HEAP_BITS 24 /* of a heap's number: process * 2 + (1 for the domain of rheaper_report_*) */

struct replay_block {
	uint64_t address;
	uint64_t serial : REPLAY_SERIAL_BITS; /* which allocation it is */
	uint64_t heap : REPLAY_HEAP_BITS;
	uint64_t size; /* UINT64_MAX: the slot is free */
};

struct replay_live {
	struct replay_block *blocks;
	size_t mask, count;
};

/* Frees what the table holds; a zeroed struct is an empty table. */
void replay_live_free(struct replay_live *live);

/* The block at an address, or NULL. Valid until the next insertion or removal. */
struct replay_block *replay_live_find(const struct replay_live *live, uint32_t heap, uint64_t address);

/* Adds a block that is not there. false when memory is out. */
bool replay_live_add(struct replay_live *live, uint32_t heap, uint64_t address, uint64_t serial, uint64_t size);

void replay_live_remove(struct replay_live *live, struct replay_block *block);

#endif
