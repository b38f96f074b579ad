/* SPDX-License-Identifier: MIT
 *
 * The replacement operators new and delete ([new.delete] in the C++ standard), in C, so that C programs link with the library too. Each
 * stands in a file of its own, so that an archive member never brings in an operator that the program replaces itself.
 *
 * They forward as the standard's own do: array to scalar, sized to unsized, nothrow to throwing (nothrow.h). Only an array form that
 * would forward to our own scalar form allocates by itself: then its row says new[], and its caller is frame 0.
 *
 * The names are those of the Itanium C++ ABI; m is size_t where that is unsigned long.
 */
#ifndef RH_CAPTURE_OPERATORS_H
#define RH_CAPTURE_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>

#include "capture/intercept.h"

#define RH_OPERATOR RH_KEEPS_FRAME __attribute__((visibility("default")))

RH_OPERATOR void *_Znwm(size_t size);
RH_OPERATOR void *_Znam(size_t size);
RH_OPERATOR void *_ZnwmSt11align_val_t(size_t size, size_t alignment);
RH_OPERATOR void *_ZnamSt11align_val_t(size_t size, size_t alignment);
RH_OPERATOR void _ZdlPv(void *block);
RH_OPERATOR void _ZdaPv(void *block);
RH_OPERATOR void _ZdlPvm(void *block, size_t size);
RH_OPERATOR void _ZdaPvm(void *block, size_t size);
RH_OPERATOR void _ZdlPvSt11align_val_t(void *block, size_t alignment);
RH_OPERATOR void _ZdaPvSt11align_val_t(void *block, size_t alignment);
RH_OPERATOR void _ZdlPvmSt11align_val_t(void *block, size_t size, size_t alignment);
RH_OPERATOR void _ZdaPvmSt11align_val_t(void *block, size_t size, size_t alignment);
RH_OPERATOR void _ZdlPvRKSt9nothrow_t(void *block, const void *nothrow);
RH_OPERATOR void _ZdaPvRKSt9nothrow_t(void *block, const void *nothrow);
RH_OPERATOR void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *block, size_t alignment, const void *nothrow);
RH_OPERATOR void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *block, size_t alignment, const void *nothrow);

/* The throwing forms once more, under names that nobody replaces. In the archive they exist in those programs that took our form; in
 * the shared library they always do, and the public name tells whose is in use. */
#if defined(PIC)
#define RH_MARKER __attribute__((visibility("hidden")))
#define RH_IS_OURS(operator, marker) rh_is_one_function((void *)&(operator), (void *)&(marker))
#else
#define RH_MARKER __attribute__((weak)) /* not hidden: gold takes a hidden one that is absent for present in a PIE */
#define RH_IS_OURS(operator, marker) (&(marker) != NULL)
#endif
/* Compares at run time: a compiler takes two names for two functions. */
RH_INTERCEPT bool rh_is_one_function(void *one, void *other)
{
	__asm__("" : "+r"(one));
	return one == other;
}

extern RH_MARKER void *rh_operator_new(size_t size);
extern RH_MARKER void *rh_operator_new_aligned(size_t size, size_t alignment);
extern RH_MARKER void *rh_operator_new_array(size_t size);
extern RH_MARKER void *rh_operator_new_array_aligned(size_t size, size_t alignment);

/* The nothrow forms' work (nothrow.h): allocates as our operator would, and records caller; throws. NULL: operator new is not ours. */
__attribute__((visibility("hidden"))) void *rh_nothrow_new(size_t size, bool array, const struct rh_frame *caller);
__attribute__((visibility("hidden"))) void *rh_nothrow_new_aligned(size_t size, size_t alignment, bool array,
								    const struct rh_frame *caller);

/* After a failed allocation: calls the new handler, or throws std::bad_alloc. */
__attribute__((visibility("hidden"))) void rh_out_of_memory(void);

/* An object of no bytes has an address too; not every malloc gives one. The size recorded is the one asked for. */
RH_INTERCEPT void *rh_allocate_object(size_t size)
{
	size_t allocated = size ? size : 1;
	void *block;

	while (__builtin_expect(!(block = rh_backend_malloc(allocated)), 0))
		rh_out_of_memory();
	return block;
}

RH_INTERCEPT void *rh_allocate_aligned_object(size_t size, size_t alignment)
{
	size_t allocated = size ? size : 1;
	void *block;

	while (__builtin_expect(!(block = rh_backend_memalign(alignment, allocated)), 0))
		rh_out_of_memory();
	return block;
}

RH_INTERCEPT void *rh_intercept_new(size_t size, enum rh_call call)
{
	void *block = rh_allocate_object(size);

	if (rh_tracking()) {
		struct rh_frame caller = RH_CALLER();

		rh_record(block, size, call, &caller);
	}
	return block;
}

RH_INTERCEPT void *rh_intercept_new_aligned(size_t size, size_t alignment, enum rh_call call)
{
	void *block = rh_allocate_aligned_object(size, alignment);

	if (rh_tracking()) {
		struct rh_frame caller = RH_CALLER();

		rh_record(block, size, call, &caller);
	}
	return block;
}

#endif
