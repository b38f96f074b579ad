/* SPDX-License-Identifier: MIT
 *
 * What each function of the allocator does when it is intercepted, written once. A front-end defines the functions that the program calls,
 * under its names, each with one of these as its whole body: they are always inlined, so that RH_CALLER() is the program. The front-end's
 * functions must keep a frame pointer.
 *
 * With tracking off each is one test and a jump to the backend. Nothing is recorded of a call that fails; errno is the backend's.
 */
#ifndef RH_CAPTURE_INTERCEPT_H
#define RH_CAPTURE_INTERCEPT_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "backend/backend.h"
#include "tracker/tracker.h"

#define RH_INTERCEPT static inline __attribute__((always_inline))

/* A function of the C library that allocates inside itself, and what of that is not a row of its own: it is the same block as the outer
 * call's. Only static programs have such inner calls intercepted. This is one word of each thread's for each of two questions. */
struct rh_outer {
	uintptr_t frame; /* not 0: calls from deeper than this stack address belong to the outer call (rh_outer_begin) */
	void *buffer;    /* a realloc of this block, from deeper than buffer_frame, belongs to the getline or getdelim that runs */
	uintptr_t buffer_frame;
};
extern _Thread_local struct rh_outer rh_outer __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* How deep the C library's own calls go. What is further away runs on another stack, or the outer call was left by longjmp. */
#define RH_OUTER_REACH (64u * 1024)

/* The C library is called to allocate something on the program's behalf; between these two, this thread's calls from below are its own. */
RH_INTERCEPT uintptr_t rh_outer_begin(void)
{
	uintptr_t before = rh_outer.frame;

	rh_outer.frame = (uintptr_t)__builtin_frame_address(0);
	return before;
}

RH_INTERCEPT void rh_outer_end(uintptr_t before)
{
	rh_outer.frame = before;
}

RH_INTERCEPT bool rh_is_inner(void)
{
	return __builtin_expect(rh_outer.frame != 0, 0) && rh_outer.frame - (uintptr_t)__builtin_frame_address(0) - 1 < RH_OUTER_REACH;
}

/* What happens with tracking on stands in functions of its own (RH_TRACKED), which are told the caller: so with tracking off nothing is
 * saved on the stack before the jump to the backend. */
#define RH_TRACKED static __attribute__((noinline, unused))

/* Records a block that the backend has just returned, or not if that is NULL. */
RH_INTERCEPT void *rh_record(void *block, size_t size, enum rh_call call, const struct rh_frame *caller)
{
	if (block && !rh_is_inner())
		rh_event_alloc(block, size, call, caller);
	return block;
}

RH_TRACKED void *rh_tracked_malloc(size_t size, const struct rh_frame *caller)
{
	return rh_record(rh_backend_malloc(size), size, RH_CALL_MALLOC, caller);
}

RH_INTERCEPT void *rh_intercept_malloc(size_t size)
{
	if (rh_tracking()) {
		struct rh_frame caller = RH_CALLER();

		return rh_tracked_malloc(size, &caller);
	}
	return rh_backend_malloc(size);
}

RH_TRACKED void *rh_tracked_calloc(size_t count, size_t size, const struct rh_frame *caller)
{
	return rh_record(rh_backend_calloc(count, size), count * size, RH_CALL_CALLOC, caller);
}

RH_INTERCEPT void *rh_intercept_calloc(size_t count, size_t size)
{
	if (rh_tracking()) {
		struct rh_frame caller = RH_CALLER();

		return rh_tracked_calloc(count, size, &caller);
	}
	return rh_backend_calloc(count, size);
}

RH_TRACKED void rh_tracked_free(void *block)
{
	if (block && !rh_is_inner())
		rh_event_free(block, RH_FREE_FREE);
	rh_backend_free(block);
}

RH_INTERCEPT void rh_intercept_free(void *block)
{
	if (rh_tracking())
		rh_tracked_free(block);
	else
		rh_backend_free(block);
}

/* realloc and reallocarray. */
RH_TRACKED void *rh_tracked_realloc(void *old, size_t size, enum rh_call call, const struct rh_frame *caller)
{
	void *block, *ended = old;
	uint64_t begin;

	if (!old)
		return rh_record(rh_backend_realloc(NULL, size), size, call, caller);
	if (__builtin_expect(rh_outer.buffer == old, 0) &&
	    rh_outer.buffer_frame - (uintptr_t)__builtin_frame_address(0) - 1 < RH_OUTER_REACH) {
		block = rh_backend_realloc(old, size);
		if (block)
			rh_outer.buffer = block;
		return block;
	}
	if (rh_is_inner())
		return rh_backend_realloc(old, size);
	if (size == 0) {
		rh_event_free(old, RH_FREE_FREE);
		return rh_record(rh_backend_realloc(old, 0), 0, call, caller);
	}
	__asm__("" : "+r"(ended)); /* only its address is meant below, after its end */
	begin = rh_event_realloc_begin();
	block = rh_backend_realloc(old, size);
	if (block)
		rh_event_realloc(ended, block, size, call, begin, caller);
	return block;
}

RH_INTERCEPT void *rh_intercept_realloc(void *old, size_t size)
{
	if (rh_tracking()) {
		struct rh_frame caller = RH_CALLER();

		return rh_tracked_realloc(old, size, RH_CALL_REALLOC, &caller);
	}
	return rh_backend_realloc(old, size);
}

RH_INTERCEPT void *rh_intercept_reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	if (rh_tracking()) {
		struct rh_frame caller = RH_CALLER();

		return rh_tracked_realloc(old, bytes, RH_CALL_REALLOCARRAY, &caller);
	}
	return rh_backend_realloc(old, bytes);
}

/* ---- aligned blocks ---- */

/* size is what was asked for, allocated what the backend is to give. */
RH_TRACKED void *rh_tracked_memalign(size_t alignment, size_t allocated, size_t size, enum rh_call call, const struct rh_frame *caller)
{
	return rh_record(rh_backend_memalign(alignment, allocated), size, call, caller);
}

RH_INTERCEPT void *rh_intercept_aligned(size_t alignment, size_t allocated, size_t size, enum rh_call call)
{
	if (rh_tracking()) {
		struct rh_frame caller = RH_CALLER();

		return rh_tracked_memalign(alignment, allocated, size, call, &caller);
	}
	return rh_backend_memalign(alignment, allocated);
}

RH_INTERCEPT void *rh_intercept_memalign(size_t alignment, size_t size)
{
	return rh_intercept_aligned(alignment, size, size, RH_CALL_MEMALIGN);
}

RH_TRACKED void *rh_tracked_aligned_alloc(size_t alignment, size_t size, const struct rh_frame *caller)
{
	return rh_record(rh_backend_aligned_alloc(alignment, size), size, RH_CALL_ALIGNED_ALLOC, caller);
}

RH_INTERCEPT void *rh_intercept_aligned_alloc(size_t alignment, size_t size)
{
	if (rh_tracking()) {
		struct rh_frame caller = RH_CALLER();

		return rh_tracked_aligned_alloc(alignment, size, &caller);
	}
	return rh_backend_aligned_alloc(alignment, size);
}

RH_TRACKED int rh_tracked_posix_memalign(void **result, size_t alignment, size_t size, const struct rh_frame *caller)
{
	int error = rh_backend_posix_memalign(result, alignment, size);

	if (!error)
		rh_record(*result, size, RH_CALL_POSIX_MEMALIGN, caller);
	return error;
}

/* The allocator's own, because what becomes of a size of 0 differs between allocators. */
RH_INTERCEPT int rh_intercept_posix_memalign(void **result, size_t alignment, size_t size)
{
	if (rh_tracking()) {
		struct rh_frame caller = RH_CALLER();

		return rh_tracked_posix_memalign(result, alignment, size, &caller);
	}
	return rh_backend_posix_memalign(result, alignment, size);
}

RH_INTERCEPT void *rh_intercept_valloc(size_t size)
{
	return rh_intercept_aligned((size_t)sysconf(_SC_PAGESIZE), size, size, RH_CALL_VALLOC);
}

/* Allocates whole pages; the size recorded is the one asked for. */
RH_INTERCEPT void *rh_intercept_pvalloc(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), rounded;

	if (__builtin_add_overflow(size, page - 1, &rounded)) {
		errno = ENOMEM;
		return NULL;
	}
	return rh_intercept_aligned(page, rounded & ~(page - 1), size, RH_CALL_PVALLOC);
}

#endif
