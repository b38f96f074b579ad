/* SPDX-License-Identifier: MIT
 *
 * Fills table allocations, the one with millions of rows.
 */
#ifndef STORE_ALLOCATIONS_H
#define STORE_ALLOCATIONS_H

#include "replay/rows.h"
#include "store/store.h"

/* Writes all rows that are still to come. 0, or -1 with the store's fault filled. */
int store_allocations(struct store *store, struct replay_rows *rows);

#endif
