/* SPDX-License-Identifier: MIT
 *
 * From call frame information to a row.
 */
#ifndef RH_DERIVE_H
#define RH_DERIVE_H

#include <stdint.h>

#include "unwind/eh_frame.h"
#include "unwind/rows.h"

/* The row that the rules at a code address come down to; RH_ROW_HARD when they do not. `end`: of the object that holds the expressions. */
struct rh_row rh_row_from(const struct rh_cfi *cfi, const uint8_t *end, uintptr_t code);

#endif
