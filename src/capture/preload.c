/* SPDX-License-Identifier: MIT
 *
 * The front-end of unmodified programs: this library is preloaded and defines the allocator's functions, over the next definition of each. What
 * else allocates, allocates by these: strdup in the C library, operator new in the C++ library, other libraries for themselves.
 */
#include "config.h"

#include "capture/around.h"
#include "capture/intercept.h"
#include "process/peer.h"
#include "process/say.h"
#include "tracker/start.h"
#include "unwind/fallback.h"
#include "unwind/unwind.h"

#include "backend/early.h"

#define RH_PRELOADED_FUNCTION RH_KEEPS_FRAME __attribute__((visibility("default")))
#define RETURN_ADDRESS ((uintptr_t)__builtin_return_address(0))

/* What the early arena gives is aligned to that at least. */
#define PAGE 4096

/* Tracking is off, and the next allocator known: asked first and alone where it is called most, so that nothing is saved on the stack before the jump. */
static inline bool passes_on(void)
{
	return __builtin_expect(__atomic_load_n(&rh_next.malloc, __ATOMIC_ACQUIRE) != NULL, 1) &&
	       __builtin_expect(__atomic_load_n(&rh_gate.session, __ATOMIC_RELAXED) == RH_GATE_OFF, 1);
}

RH_PRELOADED_FUNCTION void *malloc(size_t size)
{
	if (passes_on())
		return rh_backend_malloc(size);
	if (!rh_next_ready())
		return rh_early_alloc(1, size, RH_CALL_MALLOC, RETURN_ADDRESS);
	return rh_intercept_malloc(size);
}

RH_PRELOADED_FUNCTION void *calloc(size_t count, size_t size)
{
	if (passes_on())
		return rh_backend_calloc(count, size);
	if (!rh_next_ready())
		return rh_early_calloc(count, size, RETURN_ADDRESS);
	return rh_intercept_calloc(count, size);
}

RH_PRELOADED_FUNCTION void *realloc(void *block, size_t size)
{
	if (passes_on())
		return rh_backend_realloc(block, size);
	if (!rh_next_ready())
		return rh_early_realloc(block, size, RH_CALL_REALLOC, RETURN_ADDRESS);
	return rh_intercept_realloc(block, size);
}

RH_PRELOADED_FUNCTION void *reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes;

	if (!rh_next_ready())
		return __builtin_mul_overflow(count, size, &bytes)
			       ? NULL
			       : rh_early_realloc(block, bytes, RH_CALL_REALLOCARRAY, RETURN_ADDRESS);
	return rh_intercept_reallocarray(block, count, size);
}

RH_PRELOADED_FUNCTION void free(void *block)
{
	if (passes_on())
		rh_backend_free(block);
	else if (!rh_next_ready())
		rh_early_free(block);
	else
		rh_intercept_free(block);
}

/* C23, 7.24.3.4 and 7.24.3.5. What the sizes promise is of use to the allocator only. */
RH_PRELOADED_FUNCTION void free_sized(void *block, size_t size)
{
	(void)size;
	if (!rh_next_ready())
		rh_early_free(block);
	else
		rh_intercept_free(block);
}

RH_PRELOADED_FUNCTION void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	if (!rh_next_ready())
		rh_early_free(block);
	else
		rh_intercept_free(block);
}

RH_PRELOADED_FUNCTION int posix_memalign(void **result, size_t alignment, size_t size)
{
	void *block;

	if (rh_next_ready())
		return rh_intercept_posix_memalign(result, alignment, size);
	block = rh_early_alloc(alignment, size, RH_CALL_POSIX_MEMALIGN, RETURN_ADDRESS);
	if (!block)
		return ENOMEM;
	*result = block;
	return 0;
}

RH_PRELOADED_FUNCTION void *aligned_alloc(size_t alignment, size_t size)
{
	if (!rh_next_ready())
		return rh_early_alloc(alignment, size, RH_CALL_ALIGNED_ALLOC, RETURN_ADDRESS);
	return rh_intercept_aligned_alloc(alignment, size);
}

RH_PRELOADED_FUNCTION void *memalign(size_t alignment, size_t size)
{
	if (!rh_next_ready())
		return rh_early_alloc(alignment, size, RH_CALL_MEMALIGN, RETURN_ADDRESS);
	return rh_intercept_memalign(alignment, size);
}

RH_PRELOADED_FUNCTION void *valloc(size_t size)
{
	if (!rh_next_ready())
		return rh_early_alloc(PAGE, size, RH_CALL_VALLOC, RETURN_ADDRESS);
	return rh_intercept_valloc(size);
}

RH_PRELOADED_FUNCTION void *pvalloc(size_t size)
{
	if (!rh_next_ready())
		return rh_early_alloc(PAGE, size, RH_CALL_PVALLOC, RETURN_ADDRESS);
	return rh_intercept_pvalloc(size);
}

RH_PRELOADED_FUNCTION size_t malloc_usable_size(void *block)
{
	if (!rh_next_ready())
		return block ? rh_early_size(block) : 0;
	return rh_backend_usable_size(block);
}

/* ---- at the start ---- */

/* Whether the program's malloc is ours: its own would come before. Addresses do not tell (that of malloc may be a stub in the program), so it is called, while
 * ours gives blocks of the arena. */
static bool is_first(void)
{
	void *(*volatile allocate)(size_t) = malloc; /* volatile: not to be optimised away */
	void (*volatile release)(void *) = free;
	void *block = allocate(1);
	bool first = rh_early_owns(block);

	release(block);
	return first;
}

/* By now at the latest tracking is on, if it is to be: also a program that never allocates leaves a profile, which says so. */
static __attribute__((constructor)) void begin(void)
{
	uintptr_t outer;
	bool first;

	if (!rh_next_ready())
		return;
	outer = rh_outer_begin();
	rh_around_begin();
	rh_next_set_apart();
	rh_fallback_load();
	first = is_first();
	rh_next_put_back();
	if (!first && rh_start_reading() && rh_environment.enable && !rh_peer)
		rh_say("not recording: the program has a malloc of its own, which comes before Rheaper's", NULL);
	else
		rh_tracking();
	rh_outer_end(outer);
}
