/* SPDX-License-Identifier: MIT
 *
 * The file `rings`: one shared mapping that carries the rings of all local trackers, so that no descriptor is held and a killed process
 * leaves its last events in the page cache.
 */
#ifndef RH_LOG_SLAB_H
#define RH_LOG_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log/format.h"

struct rh_slab_map {
	struct rh_slab *slab; /* NULL: none */
	size_t size;
};

/* Makes and maps the file. Nothing but its header takes room on the disk yet. Returns 0 or an enum rheaper_error.

 * Not on the event path; one caller at a time. */
int rh_slab_create(struct rh_slab_map *map, const char *directory, uint32_t slots, uint32_t slot_size);

void rh_slab_unmap(struct rh_slab_map *map);

/* Unmaps all but the header, which is returned and the caller's to unmap. */
struct rh_slab *rh_slab_unmap_slots(struct rh_slab_map *map);

static inline struct rh_slot *rh_slab_slot(const struct rh_slab_map *map, uint32_t index)
{
	return (struct rh_slot *)((char *)map->slab + map->slab->header_size + (size_t)index * map->slab->slot_size);
}

/* Gets a slot its disk blocks, so that writing to it can never meet a full disk (SIGBUS). scratch: RH_PATH_SCRATCH bytes.
 * False when there is no room. Async-signal-safe. */
bool rh_slab_populate(const struct rh_slab_map *map, uint32_t index, const char *directory, char *scratch);

#endif
