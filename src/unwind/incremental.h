/* SPDX-License-Identifier: MIT
 *
 * The incremental walk by rows.
 */
#ifndef RH_INCREMENTAL_H
#define RH_INCREMENTAL_H

#include "unwind/unwind.h"

/* rh_walk by rows, on x86-64. */
uint32_t rh_walk_rows(struct rh_walker *walker, const struct rh_frame *from);

#endif
