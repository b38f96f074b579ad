/* SPDX-License-Identifier: MIT
 *
 * How each process ended, and which of the others it came from: told by the profiles side by side, and by this machine where it is the one
 * that they were recorded on.
 */
#ifndef REPLAY_LIVES_H
#define REPLAY_LIVES_H

#include "replay/world.h"

/* Fills ended and parent of all processes; their profiles are open and they are placed in time. false when memory is out. */
bool replay_lives_find(struct replay_world *world);

/* The word for table processes. */
const char *replay_life_word(enum replay_life ended);

#endif
