/* SPDX-License-Identifier: MIT
 *
 * A preload library that compares the incremental walk with rh_unwind and with unw_backtrace at every allocation of a real program, and says
 * at the end how often they differed. Not part of `make check`: tests/unit/unwind/agree.sh runs it.
 */
#include <errno.h>
#include <libunwind.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log/format.h"
#include "unwind/rows.h"
#include "unwind/unwind.h"

#define DEPTH 256
#define ASKED 128 /* of the incremental walk: less, so that it meets its limits */
#define OWN_FRAMES 4 /* frames of this file that unw_backtrace shows above the caller */
#define REPORTED 3

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static uint64_t walks, frames, mismatches, hard_rows, lost_rows, same_frames, deepest;
static __thread __attribute__((tls_model("initial-exec"))) bool inside;
static __thread __attribute__((tls_model("initial-exec"))) struct rh_walker *walker;
static __thread __attribute__((tls_model("initial-exec"))) uint64_t *logged; /* what a log of differences would hold, outermost first */
static uint64_t truncated, fallbacks;

static void report(const char *what, const uint64_t *pcs, unsigned count)
{
	fprintf(stderr, "%s:", what);
	for (unsigned i = 0; i < count; i++)
		fprintf(stderr, " %llx", (unsigned long long)pcs[i]);
	fprintf(stderr, "\n");
}

static void count_rows(const uint64_t *pcs, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned kind = rh_row_of((pcs[i] & ~RH_PC_EXACT) - !(pcs[i] & RH_PC_EXACT), rh_rows_epoch()).kind;

		if (kind == RH_ROW_HARD)
			__atomic_fetch_add(&hard_rows, 1, __ATOMIC_RELAXED);
		else if (kind == RH_ROW_LOST)
			__atomic_fetch_add(&lost_rows, 1, __ATOMIC_RELAXED);
	}
}

/* The incremental walk, as a log of differences makes it appear to a reader. */
static bool incremental_agrees(const struct rh_frame *from, const uint64_t *pcs, unsigned count)
{
	uint32_t same = rh_walk(walker, from), depth = walker->depth;
	unsigned asked = count < ASKED ? count : ASKED;

	__atomic_fetch_add(&same_frames, same, __ATOMIC_RELAXED);
	if (depth > deepest)
		deepest = depth;
	for (uint32_t i = same; i < depth; i++)
		logged[i] = rh_kept_pc(&walker->kept[i]);
	if (count < ASKED ? depth != count : depth < ASKED)
		return false;
	for (unsigned i = 0; i < asked; i++)
		if (logged[depth - 1 - i] != pcs[i])
			return false;
	return true;
}

static void make_walker(void)
{
	walker = __libc_calloc(1, sizeof(*walker) + rh_walker_size(ASKED));
	logged = __libc_calloc(4 * ASKED, sizeof(*logged));
	if (!walker || !logged)
		abort();
	rh_walker_equip(walker, walker + 1, ASKED);
}

static __attribute__((noinline)) void compare(const struct rh_frame *from)
{
	void *theirs[DEPTH + OWN_FRAMES];
	uint64_t ours[DEPTH], plain[DEPTH + OWN_FRAMES];
	int saved_errno = errno, their_count;
	unsigned count, skip = 0;
	uint64_t before[2];

	if (inside)
		return;
	inside = true;
	if (!walker)
		make_walker();
	before[0] = walker->truncated;
	before[1] = walker->fallbacks;
	count = rh_unwind(walker, from, ours, DEPTH);
	their_count = unw_backtrace(theirs, DEPTH + OWN_FRAMES);
	while (skip < OWN_FRAMES && (int)skip < their_count && (uintptr_t)theirs[skip] != from->pc)
		skip++;
	their_count -= (int)skip;
	if (their_count > DEPTH)
		their_count = DEPTH;
	for (int i = 0; i < their_count; i++)
		plain[i] = (uintptr_t)theirs[skip + (unsigned)i];
	count_rows(ours, count);
	__atomic_fetch_add(&truncated, walker->truncated - before[0], __ATOMIC_RELAXED);
	__atomic_fetch_add(&fallbacks, walker->fallbacks - before[1], __ATOMIC_RELAXED);
	__atomic_fetch_add(&walks, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&frames, count, __ATOMIC_RELAXED);
	bool same = their_count == (int)count;
	for (unsigned i = 0; same && i < count; i++)
		same = (ours[i] & ~RH_PC_EXACT) == plain[i];
	if (!incremental_agrees(from, ours, count)) {
		if (mismatches < REPORTED)
			report("incremental  ", walker->pcs, rh_walker_pcs(walker));
		same = false;
	}
	if (!same && __atomic_fetch_add(&mismatches, 1, __ATOMIC_RELAXED) < REPORTED) {
		report("rh_unwind    ", ours, count);
		report("unw_backtrace", plain, (unsigned)their_count);
	}
	inside = false;
	errno = saved_errno;
}

#define COMPARE()                                                                                                              \
	do {                                                                                                                   \
		struct rh_frame caller_ = RH_CALLER();                                                                         \
		compare(&caller_);                                                                                             \
	} while (0)

RH_KEEPS_FRAME void *malloc(size_t size)
{
	COMPARE();
	return __libc_malloc(size);
}

RH_KEEPS_FRAME void *calloc(size_t count, size_t size)
{
	COMPARE();
	return __libc_calloc(count, size);
}

RH_KEEPS_FRAME void *realloc(void *block, size_t size)
{
	COMPARE();
	return __libc_realloc(block, size);
}

RH_KEEPS_FRAME void *memalign(size_t alignment, size_t size)
{
	COMPARE();
	return __libc_memalign(alignment, size);
}

RH_KEEPS_FRAME void *aligned_alloc(size_t alignment, size_t size)
{
	COMPARE();
	return __libc_memalign(alignment, size);
}

static __attribute__((constructor)) void start(void)
{
	inside = true;
	rh_unwind_init();
	inside = false;
}

static __attribute__((destructor)) void finish(void)
{
	inside = true;
	fprintf(stderr, "agree: %s: %llu walks, %llu frames, %llu mismatches; %.2f new frames a walk, at most %llu; %llu fallbacks, %llu truncated, %llu hard and %llu lost frames, %llu rows\n",
		program_invocation_short_name, (unsigned long long)walks, (unsigned long long)frames, (unsigned long long)mismatches,
		walks ? (double)(frames - same_frames) / (double)walks : 0.0, (unsigned long long)deepest,
		(unsigned long long)fallbacks, (unsigned long long)truncated, (unsigned long long)hard_rows,
		(unsigned long long)lost_rows, (unsigned long long)rh_unwind_misses());
}
