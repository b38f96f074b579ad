/* SPDX-License-Identifier: MIT
 *
 * The front-end that stands behind GNU's malloc hooks: the C library before 2.34 calls them, later libc_malloc_debug.so.0 does, in any order beside this library in
 * LD_PRELOAD.
 *
 * The four variables are defined here, with their values: set by a constructor they would miss what comes before, and each that were left alone would clear the
 * others at its first use. calloc arrives here as malloc and all aligned functions as memalign; so the database says.
 */
#include "config.h"

#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdlib.h>

#include "capture/around.h"
#include "capture/hooks.h"
#include "capture/intercept.h"
#include "process/peer.h"
#include "process/say.h"
#include "process/syscalls.h"
#include "tracker/start.h"
#include "unwind/fallback.h"
#include "unwind/outward.h"

bool rh_hooks_native;

/* The probe's block; not the program's, so not recorded. */
static bool probing, called;

/* The caller of the allocator's function: `caller` is the return address there, outward of whoever called the hook. */
#define PROGRAM_FRAME(caller)                                              \
	({                                                                 \
		struct rh_frame frame_ = RH_CALLER();                      \
		rh_unwind_outward(&frame_, (uintptr_t)(caller));           \
		frame_;                                                    \
	})

/* Whether the inner functions know hooks, found out at the first call: that may come before any constructor. */
static bool known;

static __attribute__((cold)) void find_out(void)
{
	rh_hooks_native = rh_hooks_are_native(gnu_get_libc_version());
	known = true;
}

static bool is_recorded(void)
{
	if (__builtin_expect(!known, 0))
		find_out();
	if (__builtin_expect(probing, 0)) {
		called = true;
		return false;
	}
	return rh_tracking();
}

RH_KEEPS_FRAME void *rh_malloc_hook(size_t size, const void *caller)
{
	if (is_recorded()) {
		struct rh_frame frame = PROGRAM_FRAME(caller);

		return rh_tracked_malloc(size, &frame);
	}
	return rh_backend_malloc(size);
}

RH_KEEPS_FRAME void *rh_realloc_hook(void *block, size_t size, const void *caller)
{
	if (is_recorded()) {
		struct rh_frame frame = PROGRAM_FRAME(caller);

		return rh_tracked_realloc(block, size, RH_CALL_REALLOC, &frame);
	}
	return rh_backend_realloc(block, size);
}

RH_KEEPS_FRAME void *rh_memalign_hook(size_t alignment, size_t size, const void *caller)
{
	if (is_recorded()) {
		struct rh_frame frame = PROGRAM_FRAME(caller);

		return rh_tracked_memalign(alignment, size, size, RH_CALL_MEMALIGN, &frame);
	}
	return rh_backend_memalign(alignment, size);
}

void rh_free_hook(void *block, const void *caller)
{
	(void)caller;
	if (is_recorded())
		rh_tracked_free(block);
	else
		rh_backend_free(block);
}

/* malloc_hook(3). The program may still set them itself, and has itself to thank. */
#define RH_HOOK __attribute__((visibility("default")))
RH_HOOK void *(*volatile __malloc_hook)(size_t size, const void *caller) = rh_malloc_hook;
RH_HOOK void *(*volatile __realloc_hook)(void *block, size_t size, const void *caller) = rh_realloc_hook;
RH_HOOK void *(*volatile __memalign_hook)(size_t alignment, size_t size, const void *caller) = rh_memalign_hook;
RH_HOOK void (*volatile __free_hook)(void *block, const void *caller) = rh_free_hook;

/* ---- before glibc 2.34: hooks that the inner functions would call again ---- */

static uint32_t out; /* 1 while a thread has them out */

void rh_hooks_take_out(void)
{
	while (__atomic_exchange_n(&out, 1, __ATOMIC_ACQUIRE))
		rh_sys_sleep(1000);
	__malloc_hook = NULL;
	__realloc_hook = NULL;
	__memalign_hook = NULL;
	__free_hook = NULL;
}

void rh_hooks_put_back(void)
{
	__free_hook = rh_free_hook;
	__memalign_hook = rh_memalign_hook;
	__realloc_hook = rh_realloc_hook;
	__malloc_hook = rh_malloc_hook;
	__atomic_store_n(&out, 0, __ATOMIC_RELEASE);
}

bool rh_hooks_are_native(const char *version)
{
	char *end;
	unsigned long major = strtoul(version, &end, 10);
	unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;

	return major < 2 || (major == 2 && minor < 34);
}

/* ---- at the start ---- */

bool rh_hooks_probe(void)
{
	void *(*volatile allocate)(size_t) = malloc; /* volatile: not to be optimised away */
	void (*volatile release)(void *) = free;

	called = false;
	probing = true;
	release(allocate(1));
	probing = false;
	return called;
}

static __attribute__((constructor)) void begin(void)
{
	uintptr_t outer = rh_outer_begin();

	rh_around_begin();
	rh_fallback_load();
	find_out();
	if (rh_hooks_native)
		pthread_atfork(rh_hooks_take_out, rh_hooks_put_back, rh_hooks_put_back); /* else a child could find them out for ever */
	if (rh_hooks_probe())
		rh_tracking();
	else if (rh_start_reading() && !rh_peer)
		rh_say("not recording: nobody calls the malloc hooks; libc_malloc_debug.so.0 must be preloaded too", NULL);
	rh_outer_end(outer);
}
