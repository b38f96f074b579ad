/* SPDX-License-Identifier: MIT
 *
 * The table of rows: open addressing over a short window, filled by compare-and-swap.
 *
 * A place is taken by swapping its key for BUSY, then the value is stored, then the key. Whoever meets BUSY passes on to the next place, so
 * nobody waits: neither another thread nor a signal handler that interrupts the filling. When the whole window is taken, the row is made
 * anew each time. Two threads may store the same row twice; that costs a place and nothing else.
 */
#include "unwind/rows.h"

#include <stdbool.h>

#if defined(__x86_64__)

/* Two cache lines. With a third of all places taken one window in 700 is full, with half of them one in 30. */
#define WINDOW 8

/* No code lies at address 1. */
#define BUSY 1

#define EPOCH_MASK (~(RH_EPOCH_STEP - 1))
#define EPOCHS (UINT64_C(1) << (64 - RH_CODE_BITS))

struct rh_rows_entry rh_rows[1 << RH_ROWS_BITS] __attribute__((aligned(64)));
uint64_t rh_rows_epoch_word;
static uint64_t misses; /* a statistic: orders nothing */

/* How many threads are unloading code right now: no row is kept then. Raised before an epoch begins, lowered when the next has. */
static uint32_t doubts;

static struct rh_rows_entry *place(uint64_t home, unsigned i)
{
	return &rh_rows[(home + i) & ((1 << RH_ROWS_BITS) - 1)];
}

/* Epochs wrap; an older one lies less than half a turn back. */
static bool older(uint64_t key, uint64_t epoch)
{
	return (int64_t)(epoch - (key & EPOCH_MASK)) > 0;
}

static bool lookup(uint64_t home, uint64_t key, struct rh_row *row)
{
	for (unsigned i = 0; i < WINDOW; i++) {
		const struct rh_rows_entry *entry = place(home, i);
		uint64_t value;

		if (__atomic_load_n(&entry->key, __ATOMIC_ACQUIRE) != key)
			continue;
		value = __atomic_load_n(&entry->value, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&entry->key, __ATOMIC_RELAXED) != key)
			continue;
		*row = rh_row_unpack(value);
		return true;
	}
	return false;
}

static void store(uint64_t home, uint64_t key, uint64_t epoch, struct rh_row row)
{
	union {
		struct rh_row row;
		uint64_t value;
	} pun = {.row = row};

	for (unsigned i = 0; i < WINDOW; i++) {
		struct rh_rows_entry *entry = place(home, i);
		uint64_t present = __atomic_load_n(&entry->key, __ATOMIC_RELAXED);

		if (present == key)
			return;
		if (present == BUSY || (present != 0 && !older(present, epoch)))
			continue;
		if (!__atomic_compare_exchange_n(&entry->key, &present, BUSY, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		/* Release: a reader that sees this value sees BUSY, or what followed, when it reads the key again. */
		__atomic_store_n(&entry->value, pun.value, __ATOMIC_RELEASE);
		__atomic_store_n(&entry->key, key, __ATOMIC_RELEASE);
		return;
	}
}

__attribute__((cold, noinline)) struct rh_row rh_row_miss(uintptr_t code, uint64_t epoch)
{
	uint64_t home = rh_rows_home(code), key = epoch | code;
	struct rh_row row;

	if (lookup(home, key, &row))
		return row;
	__atomic_fetch_add(&misses, 1, __ATOMIC_RELAXED);
	row = rh_row_make(code);
	if (!__atomic_load_n(&doubts, __ATOMIC_ACQUIRE))
		store(home, key, epoch, row);
	return row;
}

/* Twice a turn of the epochs everything is wiped, so that no row lives to see its epoch's number again. */
void rh_rows_forget(void)
{
	uint64_t epoch = __atomic_add_fetch(&rh_rows_epoch_word, RH_EPOCH_STEP, __ATOMIC_ACQ_REL);

	if ((epoch / RH_EPOCH_STEP) % (EPOCHS / 2) != 0)
		return;
	for (unsigned i = 0; i < 1 << RH_ROWS_BITS; i++) {
		uint64_t present = __atomic_load_n(&rh_rows[i].key, __ATOMIC_RELAXED);

		if (present != 0 && present != BUSY && older(present, epoch))
			__atomic_compare_exchange_n(&rh_rows[i].key, &present, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	}
}

void rh_rows_doubt(void)
{
	__atomic_fetch_add(&doubts, 1, __ATOMIC_SEQ_CST);
	rh_rows_forget();
}

void rh_rows_trust(bool entirely)
{
	uint32_t before = __atomic_load_n(&doubts, __ATOMIC_RELAXED);

	rh_rows_forget();
	while (before && !__atomic_compare_exchange_n(&doubts, &before, entirely ? 0 : before - 1, false, __ATOMIC_SEQ_CST,
						      __ATOMIC_RELAXED))
		;
}

uint64_t rh_rows_misses(void)
{
	return __atomic_load_n(&misses, __ATOMIC_RELAXED);
}

#endif
