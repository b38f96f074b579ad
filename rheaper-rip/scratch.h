/* SPDX-License-Identifier: MIT
 *
 * Room for what does not fit into memory: files without a name, gone with the process however it ends.
 */
#ifndef SCRATCH_H
#define SCRATCH_H

#include "fault.h"

/* A new, empty file in the directory of `neighbour`, which need not exist; to be closed. -1 with fault filled, which calls it by the
 * neighbour's name. */
int scratch_open(const char *neighbour, struct fault *fault);

#endif
