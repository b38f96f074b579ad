/* SPDX-License-Identifier: MIT
 *
 * The log, round trip: what src/log/ring.h encodes, rheaper-rip/read/record.h decodes.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "log/ring.h"
#include "read/record.h"

#define ROOM 65000
#define DEPTH 300

static struct {
	struct rh_slot slot;
	uint8_t records[ROOM];
} memory;

static uint64_t last[DEPTH]; /* the last stack, outermost first */
static uint32_t last_depth;
static struct rh_ring ring;
static struct read_cursor cursor;

static int set_up(void **state)
{
	(void)state;
	memset(&memory, 0xa5, sizeof memory);
	memset(&ring, 0, sizeof ring);
	ring.slot = &memory.slot;
	ring.records = memory.records;
	ring.room = ROOM;
	last_depth = 0;
	rh_ring_open_chunk(&ring, 3, 7, 100, 5000, 6000);
	return 0;
}

/* Every chunk begins with whose it is. */
static void put_thread(void)
{
	uint8_t *p = rh_ring_position(&ring);

	*p++ = RH_TAG(RH_RECORD_CONTROL, RH_CONTROL_THREAD);
	p = rh_put_varint(p, 1);
	p = rh_put_varint(p, 4711);
	p = rh_put_varint(p, 0);
	rh_ring_commit(&ring, p);
}

static int set_up_with_thread(void **state)
{
	set_up(state);
	put_thread();
	return 0;
}

static void put_alloc(uint64_t time, uint64_t address, uint64_t size, const uint64_t *pcs, uint32_t depth)
{
	uint8_t *p = rh_ring_position(&ring);
	uint32_t same = 0;

	while (same < depth && same < last_depth && last[same] == pcs[depth - 1 - same])
		same++;
	*p++ = RH_TAG(RH_RECORD_ALLOC, RH_CALL_CALLOC);
	p = rh_put_time(&ring, p, time);
	p = rh_put_address(&ring, p, address);
	p = rh_put_varint(p, size);
	p = rh_put_stack(&ring, p, last_depth - same, depth - same);
	for (; same < depth; same++)
		p = rh_put_frame(&ring, p, last[same] = pcs[depth - 1 - same]);
	last_depth = depth;
	assert_int_equal(ring.depth, depth);
	rh_ring_commit(&ring, p);
}

static void start_reading(void)
{
	struct read_record record;

	read_cursor_start(&cursor, memory.records, memory.slot.chunk.length, memory.slot.chunk.ticks);
	assert_int_equal(read_record_next(&cursor, &record), 1);
	assert_int_equal(record.argument, RH_CONTROL_THREAD);
	assert_true(record.field[0] == 1 && record.field[1] == 4711 && record.field[2] == 0);
}

/* The library keeps stacks innermost first, the reader outermost first. */
static void assert_stack(const uint64_t *pcs, uint32_t depth)
{
	assert_int_equal(cursor.depth, depth);
	for (uint32_t i = 0; i < depth; i++)
		assert_true(cursor.pcs[i] == pcs[depth - 1 - i]);
}

static void next_is_alloc(uint64_t ticks, uint64_t address, uint64_t size, const uint64_t *pcs, uint32_t depth)
{
	struct read_record record;

	assert_int_equal(read_record_next(&cursor, &record), 1);
	assert_int_equal(record.kind, RH_RECORD_ALLOC);
	assert_int_equal(record.argument, RH_CALL_CALLOC);
	assert_true(record.ticks == ticks);
	assert_true(record.address == address);
	assert_true(record.size == size);
	assert_stack(pcs, depth);
}

static void a_new_chunk_is_empty_and_headed(void **state)
{
	const struct rh_chunk *chunk = &memory.slot.chunk;

	(void)state;
	assert_int_equal(chunk->magic, RH_CHUNK_MAGIC);
	assert_int_equal(chunk->header_size, 64);
	assert_int_equal(chunk->version, RH_FORMAT_VERSION);
	assert_int_equal(chunk->stream, 3);
	assert_int_equal(chunk->sequence, 7);
	assert_int_equal(chunk->length, 0);
	assert_true(chunk->first_event == 100 && chunk->ticks == 5000 && chunk->monotonic == 6000 && chunk->checksum == 0);
}

static void what_is_not_committed_is_not_there(void **state)
{
	uint8_t *p = rh_ring_position(&ring);

	(void)state;
	*p++ = RH_TAG(RH_RECORD_FREE, RH_FREE_FREE);
	p = rh_put_varint(p, 1);
	assert_int_equal(memory.slot.chunk.length, 0);
	rh_ring_commit(&ring, p);
	assert_int_equal(memory.slot.chunk.length, 2);
}

static void extreme_numbers_survive(void **state)
{
	static const uint64_t values[] = {0,          1,          127,        128,        16383,         16384, UINT32_MAX,
					  INT64_MAX,  UINT64_MAX, 0x7fffffffffff, 15, 16, 0xdeadbeefcafe, 8};
	const uint64_t pc = 0x401000;
	uint64_t time = 5000;

	(void)state;
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		time += values[i] >> 8;
		put_alloc(time, values[i], values[sizeof values / sizeof *values - 1 - i], &pc, 1);
	}
	start_reading();
	time = 5000;
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		time += values[i] >> 8;
		next_is_alloc(time, values[i], values[sizeof values / sizeof *values - 1 - i], &pc, 1);
	}
}

static void time_never_runs_backwards(void **state)
{
	const uint64_t pc = 0x401000;

	(void)state;
	put_alloc(6000, 16, 1, &pc, 1);
	put_alloc(5500, 32, 1, &pc, 1);
	put_alloc(6001, 48, 1, &pc, 1);
	start_reading();
	next_is_alloc(6000, 16, 1, &pc, 1);
	next_is_alloc(6000, 32, 1, &pc, 1);
	next_is_alloc(6001, 48, 1, &pc, 1);
}

static void stacks_are_differences(void **state)
{
	const uint64_t a[] = {0x401010, 0x401020, 0x401030}, b[] = {0x7f0000001000 | RH_PC_EXACT, 0x401020, 0x401030}, c[] = {0x401030};
	uint32_t before;

	(void)state;
	put_alloc(5001, 16, 1, a, 3);
	before = memory.slot.chunk.length;
	put_alloc(5002, 16, 1, a, 3);
	assert_int_equal(memory.slot.chunk.length - before, 5); /* tag, time, address, size, stack: nothing to say about it */
	put_alloc(5003, 16, 1, b, 3);
	put_alloc(5004, 16, 1, c, 1);
	put_alloc(5005, 16, 1, NULL, 0);
	put_alloc(5006, 16, 1, a, 3);
	start_reading();
	next_is_alloc(5001, 16, 1, a, 3);
	next_is_alloc(5002, 16, 1, a, 3);
	next_is_alloc(5003, 16, 1, b, 3);
	next_is_alloc(5004, 16, 1, c, 1);
	next_is_alloc(5005, 16, 1, NULL, 0);
	next_is_alloc(5006, 16, 1, a, 3);
}

static void random_stacks_survive(void **state)
{
	static uint64_t seen[400][DEPTH];
	static uint32_t depths[400];
	uint64_t random = 88172645463325252u;
	unsigned count = 0;

	(void)state;
	for (; count < 400 && rh_ring_room(&ring) > RH_EVENT_BYTES + RH_FRAME_BYTES * DEPTH; count++) {
		uint32_t depth, keep = 0;

		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		depth = (uint32_t)(random % DEPTH) >> (random >> 20) % 6;
		if (count && (random >> 40) % 4) /* most stacks share their outer frames with the last */
			keep = depths[count - 1] < depth ? depths[count - 1] / 2 : depth / 2;
		for (uint32_t i = 0; i < depth; i++)
			seen[count][i] = i >= depth - keep ? seen[count - 1][depths[count - 1] - (depth - i)]
							   : (0x400000 + (random + i * 977) % 9000 * 4) | (random + i) % 50 / 49 << 63;
		depths[count] = depth;
		put_alloc(5000 + count, 16, depth, seen[count], depth);
	}
	assert_true(count > 100);
	start_reading();
	for (unsigned i = 0; i < count; i++)
		next_is_alloc(5000 + i, 16, depths[i], seen[i], depths[i]);
}

static void an_event_fits_into_the_room_that_is_kept_for_it(void **state)
{
	const uint32_t before = memory.slot.chunk.length;
	uint64_t pcs[DEPTH];

	(void)state;
	/* The costliest: every frame a literal as far from the last as user addresses go (57 bits), every number ten bytes long. */
	for (int i = 0; i < DEPTH; i++)
		pcs[i] = i % 2 ? (UINT64_C(0xffffffffffffff) - (uint64_t)i * 4) : (uint64_t)i * 4 + 4;
	put_alloc(UINT64_MAX - 1, UINT64_MAX - 4, UINT64_MAX, pcs, DEPTH);
	assert_in_range(memory.slot.chunk.length - before, 1, RH_EVENT_BYTES + RH_FRAME_BYTES * DEPTH);
	start_reading();
	next_is_alloc(UINT64_MAX - 1, UINT64_MAX - 4, UINT64_MAX, pcs, DEPTH);
}

static void checksum_notices_every_flipped_bit_and_every_length(void **state)
{
	uint8_t bytes[61];
	uint64_t sum;

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 37);
	sum = rh_checksum(bytes, sizeof bytes);
	for (size_t bit = 0; bit < sizeof bytes * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_true(rh_checksum(bytes, sizeof bytes) != sum);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (uint32_t length = 0; length < sizeof bytes; length++)
		assert_true(rh_checksum(bytes, length) != sum);
	assert_true(rh_checksum("", 0) != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_new_chunk_is_empty_and_headed, set_up),
		cmocka_unit_test_setup(what_is_not_committed_is_not_there, set_up),
		cmocka_unit_test_setup(extreme_numbers_survive, set_up_with_thread),
		cmocka_unit_test_setup(time_never_runs_backwards, set_up_with_thread),
		cmocka_unit_test_setup(stacks_are_differences, set_up_with_thread),
		cmocka_unit_test_setup(random_stacks_survive, set_up_with_thread),
		cmocka_unit_test_setup(an_event_fits_into_the_room_that_is_kept_for_it, set_up_with_thread),
		cmocka_unit_test(checksum_notices_every_flipped_bit_and_every_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
