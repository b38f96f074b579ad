/* SPDX-License-Identifier: MIT
 *
 * Fills every table but allocations.
 */
#ifndef STORE_TABLES_H
#define STORE_TABLES_H

#include "replay/names.h"
#include "replay/pair.h"
#include "replay/rows.h"
#include "replay/world.h"
#include "store/store.h"

/* Each: 0, or -1 with the store's fault filled. */

/* What the world is: metadata, calls, processes, threads, marks, losses. */
int store_world(struct store *store, const struct replay_world *world, const struct replay_pairs *pairs);

/* Where it happened: modules, locations, frames, stacks. */
int store_names(struct store *store, const struct replay_world *world, const struct replay_names *names);

/* What it adds up to: callsites, timeline, sizes, lifetimes. After the last row. */
int store_sums(struct store *store, const struct replay_rows *rows);

#endif
