/* SPDX-License-Identifier: MIT
 *
 * Decodes records. Each take_ function reads one field and returns false where the bytes end or make no sense.
 */
#include "config.h"

#include "read/record.h"

#include "read/varint.h"

#include <string.h>

void read_cursor_start(struct read_cursor *cursor, const void *records, size_t length, uint64_t ticks)
{
	cursor->at = records;
	cursor->end = cursor->at + length;
	cursor->ticks = ticks;
	cursor->address = 0;
	cursor->pc = 0;
	cursor->depth = cursor->keep = 0;
	cursor->threaded = false;
	memset(cursor->filled, 0, sizeof cursor->filled);
}

static inline bool take_time(struct read_cursor *cursor, const uint8_t **at, uint64_t *ticks)
{
	uint64_t delta;

	if (!varint_take(at, cursor->end, &delta))
		return false;
	*ticks = cursor->ticks += delta;
	return true;
}

static inline bool take_address(struct read_cursor *cursor, const uint8_t **at, uint64_t *address)
{
	uint64_t value, unit;

	if (!varint_take(at, cursor->end, &value))
		return false;
	unit = (cursor->address >> 4) + varint_unzigzag(value >> 1);
	*address = unit << 4;
	if (value & 1) {
		if (*at == cursor->end || **at > 15)
			return false;
		*address |= *(*at)++;
	}
	cursor->address = *address;
	return true;
}

static bool take_frame(struct read_cursor *cursor, const uint8_t **at)
{
	uint64_t value, pc;
	uint32_t slot;

	if (!varint_take(at, cursor->end, &value))
		return false;
	if (value) {
		if (value > 1 << RH_DICTIONARY_BITS)
			return false;
		slot = (uint32_t)value - 1;
		if (!(cursor->filled[slot / 64] >> slot % 64 & 1))
			return false;
		pc = cursor->dictionary[slot];
	} else {
		if (!varint_take(at, cursor->end, &value))
			return false;
		cursor->pc += varint_unzigzag(value >> 1);
		pc = (cursor->pc & ~RH_PC_EXACT) | (value & 1 ? RH_PC_EXACT : 0);
		slot = rh_pc_slot(pc);
		cursor->dictionary[slot] = pc;
		cursor->numbers[slot] = 0;
		cursor->filled[slot / 64] |= UINT64_C(1) << slot % 64;
	}
	cursor->slots[cursor->depth] = (uint16_t)slot;
	cursor->pcs[cursor->depth++] = pc;
	return true;
}

static inline bool take_stack(struct read_cursor *cursor, const uint8_t **at)
{
	uint64_t pop, push, more;

	if (*at == cursor->end)
		return false;
	pop = **at & 15;
	push = *(*at)++ >> 4;
	if (pop == 15) {
		if (!varint_take(at, cursor->end, &more) || more > READ_STACK_MAX)
			return false;
		pop += more;
	}
	if (push == 15) {
		if (!varint_take(at, cursor->end, &more) || more > READ_STACK_MAX)
			return false;
		push += more;
	}
	if (pop > cursor->depth || cursor->depth - pop + push > READ_STACK_MAX)
		return false;
	cursor->depth -= (uint32_t)pop;
	if (cursor->keep > cursor->depth)
		cursor->keep = cursor->depth;
	for (; push; push--)
		if (!take_frame(cursor, at))
			return false;
	return true;
}

static bool take_string(struct read_cursor *cursor, const uint8_t **at, struct read_record *record, int which)
{
	uint64_t size;

	if (!varint_take(at, cursor->end, &size) || size > (uint64_t)(cursor->end - *at))
		return false;
	record->text[which] = *at;
	record->text_size[which] = (size_t)size;
	*at += size;
	return true;
}

static bool take_numbers(struct read_cursor *cursor, const uint8_t **at, struct read_record *record, int count)
{
	for (int i = 0; i < count; i++)
		if (!varint_take(at, cursor->end, &record->field[i]))
			return false;
	return true;
}

static bool take_control(struct read_cursor *cursor, const uint8_t **at, struct read_record *record)
{
	switch ((enum rh_control)record->argument) {
	case RH_CONTROL_THREAD:
		cursor->depth = cursor->keep = 0;
		cursor->threaded = true;
		return take_numbers(cursor, at, record, 3);
	case RH_CONTROL_NAME:
		return take_string(cursor, at, record, 0);
	case RH_CONTROL_MARK:
		return take_time(cursor, at, &record->ticks) && take_string(cursor, at, record, 0);
	case RH_CONTROL_LOSS:
		return take_numbers(cursor, at, record, 2);
	case RH_CONTROL_RSS:
	case RH_CONTROL_UNLOAD:
	case RH_CONTROL_SYNC:
		return take_time(cursor, at, &record->ticks) && take_numbers(cursor, at, record, 1);
	case RH_CONTROL_MODULE:
		return take_time(cursor, at, &record->ticks) && take_numbers(cursor, at, record, 3) && take_string(cursor, at, record, 0) &&
		       take_string(cursor, at, record, 1);
	}
	return false;
}

/* A later library may know more calls: this format version promises that they are only appended. */
static inline uint8_t known_call(uint8_t call)
{
	return call < RH_CALLS ? call : RH_CALL_OTHER;
}

int read_record_next(struct read_cursor *cursor, struct read_record *record)
{
	const uint8_t *at = cursor->at;
	bool whole = false;

	if (at == cursor->end)
		return 0;
	record->kind = RH_TAG_KIND(*at);
	record->argument = RH_TAG_ARGUMENT(*at);
	at++;
	if (!cursor->threaded && (record->kind != RH_RECORD_CONTROL || record->argument != RH_CONTROL_THREAD))
		return -1; /* whose event is it? */
	switch (record->kind) {
	case RH_RECORD_ALLOC:
		record->argument = known_call(record->argument);
		whole = take_time(cursor, &at, &record->ticks) && take_address(cursor, &at, &record->address) &&
			varint_take(&at, cursor->end, &record->size) && take_stack(cursor, &at);
		break;
	case RH_RECORD_FREE:
		whole = record->argument <= RH_FREE_POOL_REALLOC && take_time(cursor, &at, &record->ticks) &&
			take_address(cursor, &at, &record->address);
		break;
	case RH_RECORD_REALLOC:
		record->argument = known_call(record->argument);
		whole = take_time(cursor, &at, &record->ticks) && varint_take(&at, cursor->end, &record->duration) &&
			take_address(cursor, &at, &record->old) && take_address(cursor, &at, &record->address) &&
			varint_take(&at, cursor->end, &record->size) && take_stack(cursor, &at);
		break;
	case RH_RECORD_CONTROL:
		whole = take_control(cursor, &at, record);
		break;
	}
	if (!whole)
		return -1;
	cursor->at = at;
	return 1;
}
