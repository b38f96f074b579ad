/* SPDX-License-Identifier: MIT
 *
 * The nothrow forms of operator new: as the standard's own, they do what the throwing form does, call it if it is the program's, and
 * catch what comes ([new.delete.single]). They are here because the allocators' own C++ libraries define them too, past us.
 *
 * Catching needs C++. The archive's members are taken by C++ programs only and refer to the C++ library strongly, so that a static
 * program gets it; the shared library refers to it weakly, so that C programs do without.
 */
#ifndef RH_CAPTURE_NOTHROW_H
#define RH_CAPTURE_NOTHROW_H

#include <new>

extern "C" {
#include "unwind/unwind.h"

/* operators.h, which is C */
__attribute__((visibility("hidden"))) void *rh_nothrow_new(std::size_t size, bool array, const rh_frame *caller);
__attribute__((visibility("hidden"))) void *rh_nothrow_new_aligned(std::size_t size, std::size_t alignment, bool array,
								    const rh_frame *caller);
}

#if defined(PIC)
__asm__(".weak __gxx_personality_v0\n\t.weak __cxa_begin_catch\n\t.weak __cxa_end_catch\n\t.weak _ZSt9terminatev");
#endif

#endif
