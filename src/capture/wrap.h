/* SPDX-License-Identifier: MIT
 *
 * How the wrap front-end names things: its own functions, and the C library's that they stand for.
 */
#ifndef RH_CAPTURE_WRAP_H
#define RH_CAPTURE_WRAP_H

#include "unwind/unwind.h"

/* In front of each __wrap function. Only the linker knows them, so each is its own declaration. */
#define RH_WRAPPER RH_KEEPS_FRAME __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* In the shared library the plain name; in the archive, which --wrap applies to, __real_NAME (see backend/linked.h). */
#if defined(PIC)
#define RH_LIBC(name) name
#define RH_LIBC_DECLARE(name) extern __typeof__(name) name
#else
#define RH_LIBC(name) __real_##name
#define RH_LIBC_DECLARE(name) extern __typeof__(name) __real_##name
#endif

#endif
