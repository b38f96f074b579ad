/* SPDX-License-Identifier: MIT
 *
 * One row as SQLite keeps it: a header with the type of each value, then the values (https://www.sqlite.org/fileformat2.html, 2.1 "Record
 * Format"). Values are added column by column.
 */
#ifndef STORE_RECORD_H
#define STORE_RECORD_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define STORE_RECORD_COLUMNS 14 /* at most: then header and body are shorter than 128 bytes, and their lengths one byte */

struct store_record {
	uint8_t header_size, body_size;
	uint8_t header[STORE_RECORD_COLUMNS + 2]; /* its own size first */
	uint8_t body[8 * STORE_RECORD_COLUMNS];
};

static inline void store_record_start(struct store_record *record)
{
	record->header_size = 1;
	record->body_size = 0;
}

static inline void store_record_null(struct store_record *record)
{
	record->header[record->header_size++] = 0;
}

static inline void store_record_integer(struct store_record *record, int64_t value)
{
	/* By bytes needed: the types that have room, and their lengths. */
	static const uint8_t types[] = {0, 1, 2, 3, 4, 5, 5, 6, 6}, lengths[] = {0, 1, 2, 3, 4, 6, 6, 8, 8};
	uint64_t magnitude = (uint64_t)(value < 0 ? ~value : value), big;
	unsigned bytes;

	if (magnitude <= 1 && value >= 0) { /* 0 and 1 have types of their own */
		record->header[record->header_size++] = (uint8_t)(8 + value);
		return;
	}
	bytes = magnitude ? (72 - (unsigned)__builtin_clzll(magnitude)) / 8 : 1;
	record->header[record->header_size++] = types[bytes];
	big = htobe64((uint64_t)value << (64 - 8 * lengths[bytes]));
	memcpy(record->body + record->body_size, &big, sizeof big);
	record->body_size = (uint8_t)(record->body_size + lengths[bytes]);
}

#define STORE_RECORD_WHOLE 140737488355328.0 /* 2^47: whole numbers below it are shorter as integers */

/* For a column of type REAL, in which SQLite keeps whole numbers as integers. Not for NaN, which it does not keep. */
static inline void store_record_real(struct store_record *record, double value)
{
	uint64_t bits;

	if (value > -STORE_RECORD_WHOLE && value < STORE_RECORD_WHOLE && (double)(int64_t)value == value) {
		store_record_integer(record, (int64_t)value);
		return;
	}
	memcpy(&bits, &value, sizeof bits);
	bits = htobe64(bits);
	record->header[record->header_size++] = 7;
	memcpy(record->body + record->body_size, &bits, sizeof bits);
	record->body_size += sizeof bits;
}

#endif
