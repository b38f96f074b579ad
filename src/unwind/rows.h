/* SPDX-License-Identifier: MIT
 *
 * Rows: how to get from the frame at a code address to the next one outward. Each is made once from .eh_frame and kept in one global
 * table that all threads read and fill without a lock, signal handlers among them.
 *
 * x86-64 only. On other machines libunwind walks (unwind/fallback.h).
 */
#ifndef RH_ROWS_H
#define RH_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/* The CFA of a frame is the stack pointer of the next one outward; its return address lies at CFA - 8. */
enum rh_row_kind {
	RH_ROW_SP = 1,	/* CFA = rsp + cfa_offset */
	RH_ROW_FP,	/* CFA = rbp + cfa_offset */
	RH_ROW_REALIGN, /* CFA = *(rbp + cfa_offset), and rbp was saved at rbp + fp_offset: a frame that aligned its stack */
	RH_ROW_SIGNAL,	/* a signal's return trampoline: rsp points at the ucontext */
	RH_ROW_END,	/* the outermost frame */
	RH_ROW_LOST,	/* nothing describes this code */
	RH_ROW_HARD	/* described, but in a way that a row cannot express */
};

/* fp_offset of a frame that leaves rbp alone. */
#define RH_FP_KEPT INT16_MAX

struct rh_row {
	int32_t cfa_offset;
	int16_t fp_offset; /* rbp was saved at CFA + fp_offset */
	uint8_t kind;
	uint8_t unused;
};

/* Makes the row of a code address, uncached. */
struct rh_row rh_row_make(uintptr_t code);

/* Keys hold a code address and, above it, the epoch in which its row was learnt. User space ends at 2^47 (57-bit addresses are handed out
 * on request only; such code has no rows). */
#define RH_CODE_BITS 47
#define RH_EPOCH_STEP (UINT64_C(1) << RH_CODE_BITS)

#define RH_ROWS_BITS 16 /* 65,536 rows, 1 MB of address space; cc1plus has some thousands of return addresses */

struct rh_rows_entry {
	uint64_t key;	/* 0: free. Published last, with release order */
	uint64_t value; /* a struct rh_row */
};

extern struct rh_rows_entry rh_rows[1 << RH_ROWS_BITS] __attribute__((visibility("hidden")));
extern uint64_t rh_rows_epoch_word __attribute__((visibility("hidden")));

/* The epoch of a walk: read once, at its start. */
static inline uint64_t rh_rows_epoch(void)
{
	return __atomic_load_n(&rh_rows_epoch_word, __ATOMIC_ACQUIRE);
}

/* Begins a new epoch: the rows of the earlier ones are not found any more, and their places are used again. */
void rh_rows_forget(void);

/* What rh_unwind_doubt and rh_unwind_trust do about rows. */
void rh_rows_doubt(void);
void rh_rows_trust(bool entirely);

uint64_t rh_rows_misses(void);

struct rh_row rh_row_miss(uintptr_t code, uint64_t epoch);

static inline uint64_t rh_rows_home(uintptr_t code)
{
	return (code * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - RH_ROWS_BITS);
}

static inline struct rh_row rh_row_unpack(uint64_t value)
{
	union {
		uint64_t value;
		struct rh_row row;
	} pun = {.value = value};

	return pun.row;
}

/* The row of a code address below 2^RH_CODE_BITS. The key is read again after the value: an entry may be given to another address between,
 * but never back to one of an earlier epoch, so the same key twice means that the value belongs to it. */
static inline struct rh_row rh_row_of(uintptr_t code, uint64_t epoch)
{
	const struct rh_rows_entry *entry = &rh_rows[rh_rows_home(code)];
	uint64_t key = epoch | code;

	if (__builtin_expect(__atomic_load_n(&entry->key, __ATOMIC_ACQUIRE) == key, 1)) {
		uint64_t value = __atomic_load_n(&entry->value, __ATOMIC_ACQUIRE);

		if (__builtin_expect(__atomic_load_n(&entry->key, __ATOMIC_RELAXED) == key, 1))
			return rh_row_unpack(value);
	}
	return rh_row_miss(code, epoch);
}

#endif
