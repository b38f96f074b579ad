/* SPDX-License-Identifier: MIT
 *
 * The backend of a program that does not define one. An archive member of its own, so that a program's definition takes its place.
 */
#include "config.h"

#include "backend/linked.h"

const struct rheaper_backend rheaper_backend = {
	RH_LINKED(malloc), RH_LINKED(calloc), RH_LINKED(realloc), RH_LINKED(free), RH_LINKED(memalign), RH_LINKED(malloc_usable_size),
};

extern const struct rheaper_backend rh_backend_linked __attribute__((alias("rheaper_backend"))) RH_MARKER_VISIBILITY;
