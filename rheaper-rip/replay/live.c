/* SPDX-License-Identifier: MIT
 *
 * The table of live blocks.
 */
#include "config.h"

#include "replay/live.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 4096
#define FREE_SLOT UINT64_MAX

static inline size_t home(const struct replay_live *live, uint32_t heap, uint64_t address)
{
	uint64_t h = ((address >> 4) ^ (address << 60) ^ (uint64_t)heap << 40) * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(h >> 20 ^ h >> 44) & live->mask;
}

void replay_live_free(struct replay_live *live)
{
	free(live->blocks);
	memset(live, 0, sizeof *live);
}

static void put(struct replay_live *live, const struct replay_block *block)
{
	size_t at = home(live, (uint32_t)block->heap, block->address);

	while (live->blocks[at].size != FREE_SLOT)
		at = (at + 1) & live->mask;
	live->blocks[at] = *block;
}

static bool grow(struct replay_live *live)
{
	struct replay_live grown = {.mask = live->mask ? live->mask * 2 + 1 : FIRST_SLOTS - 1, .count = live->count};

	grown.blocks = malloc((grown.mask + 1) * sizeof *grown.blocks);
	if (!grown.blocks)
		return false;
	for (size_t i = 0; i <= grown.mask; i++)
		grown.blocks[i].size = FREE_SLOT;
	for (size_t i = 0; live->blocks && i <= live->mask; i++)
		if (live->blocks[i].size != FREE_SLOT)
			put(&grown, &live->blocks[i]);
	free(live->blocks);
	*live = grown;
	return true;
}

struct replay_block *replay_live_find(const struct replay_live *live, uint32_t heap, uint64_t address)
{
	if (!live->blocks)
		return NULL;
	for (size_t at = home(live, heap, address); live->blocks[at].size != FREE_SLOT; at = (at + 1) & live->mask)
		if (live->blocks[at].address == address && live->blocks[at].heap == heap)
			return &live->blocks[at];
	return NULL;
}

bool replay_live_add(struct replay_live *live, uint32_t heap, uint64_t address, uint64_t serial, uint64_t size)
{
	struct replay_block block = {.address = address, .serial = serial, .heap = heap, .size = size};

	if ((!live->blocks || live->count * 4 >= live->mask * 3) && !grow(live))
		return false;
	if (block.size == FREE_SLOT) /* no block is that large: a damaged log */
		block.size--;
	put(live, &block);
	live->count++;
	return true;
}

void replay_live_remove(struct replay_live *live, struct replay_block *block)
{
	size_t hole = (size_t)(block - live->blocks), at = hole;

	for (;;) {
		size_t wanted;

		at = (at + 1) & live->mask;
		if (live->blocks[at].size == FREE_SLOT)
			break;
		wanted = home(live, (uint32_t)live->blocks[at].heap, live->blocks[at].address);
		if (((at - wanted) & live->mask) >= ((at - hole) & live->mask)) { /* it may stand in the hole */
			live->blocks[hole] = live->blocks[at];
			hole = at;
		}
	}
	live->blocks[hole].size = FREE_SLOT;
	live->count--;
}
