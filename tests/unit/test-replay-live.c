/* SPDX-License-Identifier: MIT
 *
 * The table of live blocks, against a table that cannot be wrong.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay/live.h"

#define ADDRESSES 6000
#define STEPS 400000

/* D. E. Knuth's MMIX generator: The Art of Computer Programming, vol. 2, 3.3.4, table 1. */
static uint64_t seed = 1;

static uint32_t random_below(uint32_t limit)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((seed >> 32) % limit);
}

static void a_block_is_found_until_it_is_removed_whatever_happens_to_its_neighbours(void **state)
{
	static uint64_t serials[2][ADDRESSES]; /* by heap and address; 0: not live */
	struct replay_live live = {0};
	size_t count = 0;

	(void)state;
	for (uint64_t step = 1; step <= STEPS; step++) {
		/* Fills up, empties, and so on: the table grows, and at its fullest most blocks do not stand at home. */
		uint32_t heap = random_below(2), index = random_below(ADDRESSES), chance = step / 20000 % 2 ? 3 : 7;
		uint64_t address = index * 16 + (index % 5 == 0 ? 8 : 0);
		struct replay_block *block = replay_live_find(&live, heap, address);

		assert_int_equal(block ? block->serial : 0, serials[heap][index]);
		if (block && random_below(10) >= chance) {
			assert_int_equal(block->size, block->serial);
			replay_live_remove(&live, block);
			serials[heap][index] = 0;
			count--;
		} else if (!block && random_below(10) < chance) {
			assert_true(replay_live_add(&live, heap, address, step, step));
			serials[heap][index] = step;
			count++;
		}
		assert_int_equal(live.count, count);
	}
	for (uint32_t heap = 0; heap < 2; heap++) {
		for (uint32_t index = 0; index < ADDRESSES; index++) {
			struct replay_block *block = replay_live_find(&live, heap, index * 16 + (index % 5 == 0 ? 8 : 0));

			assert_int_equal(block ? block->serial : 0, serials[heap][index]);
		}
	}
	replay_live_free(&live);
}

static void an_empty_table_has_nothing(void **state)
{
	struct replay_live live = {0};

	(void)state;
	assert_null(replay_live_find(&live, 0, 0));
	replay_live_free(&live);
}

static void the_largest_size_is_no_free_slot(void **state)
{
	struct replay_live live = {0};

	(void)state;
	assert_true(replay_live_add(&live, 0, 64, 1, UINT64_MAX));
	assert_non_null(replay_live_find(&live, 0, 64));
	assert_null(replay_live_find(&live, 1, 64));
	replay_live_free(&live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_block_is_found_until_it_is_removed_whatever_happens_to_its_neighbours),
	    cmocka_unit_test(an_empty_table_has_nothing),
	    cmocka_unit_test(the_largest_size_is_no_free_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
