/* SPDX-License-Identifier: MIT
 *
 * What the manifest calls the backend.
 */
#ifndef RH_BACKEND_NAME_H
#define RH_BACKEND_NAME_H

#if defined(RH_PRELOADED)

/* The one that the program was linked with, whatever this library was configured for. */
static inline const char *rh_backend_name(void)
{
	return "glibc";
}

#else

#include "rheaper.h"

extern const struct rheaper_backend rheaper_backend __attribute__((weak)); /* unit tests of the core have none */

#include "backend/linked.h"

static inline const char *rh_backend_name(void)
{
	return &rheaper_backend && rh_backend_is_own() ? "program" : RH_BACKEND;
}

#endif

#endif
