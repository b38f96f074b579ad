/* SPDX-License-Identifier: MIT
 *
 * Which object's call frame information covers a pc. Async-signal-safe; holds no lock of ours.
 */
#ifndef RH_FIND_H
#define RH_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/eh_frame.h"

/* Notes the objects that are never unloaded: the program and the vDSO. Before the first walk. */
void rh_find_init(void);

/* False when no object covers the pc (code made at run time) or it has no .eh_frame_hdr; object->start is then the start of the object
 * that covers it, or NULL. */
bool rh_find_object(uintptr_t pc, struct rh_object *object);

#endif
