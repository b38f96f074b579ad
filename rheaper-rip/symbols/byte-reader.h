/* SPDX-License-Identifier: MIT
 *
 * Reads numbers out of untrusted bytes: past the end everything is 0 and failed is set, so that a decoder checks once a step.
 */
#ifndef SYMBOLS_BYTE_READER_H
#define SYMBOLS_BYTE_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "symbols/elf-file.h"

struct byte_reader {
	const unsigned char *at, *end;
	bool big_endian, failed;
};

static inline struct byte_reader byte_reader_at(struct symbols_bytes bytes, uint64_t offset, bool big_endian)
{
	bool inside = offset < bytes.size;

	return (struct byte_reader){inside ? bytes.at + offset : bytes.at, bytes.at + bytes.size, big_endian, !inside};
}

static inline uint64_t byte_reader_left(const struct byte_reader *reader)
{
	return reader->failed ? 0 : (uint64_t)(reader->end - reader->at);
}

static inline void byte_reader_skip(struct byte_reader *reader, uint64_t size)
{
	if (size > byte_reader_left(reader))
		reader->failed = true;
	else
		reader->at += size;
}

/* size: 1 to 8 bytes. */
static inline uint64_t byte_reader_number(struct byte_reader *reader, unsigned size)
{
	uint64_t value = 0;

	if (size > 8 || size > byte_reader_left(reader)) {
		reader->failed = true;
		return 0;
	}
	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)reader->at[i] << 8 * (reader->big_endian ? size - 1 - i : i);
	reader->at += size;
	return value;
}

static inline uint64_t byte_reader_uleb(struct byte_reader *reader)
{
	uint64_t value = 0;

	for (unsigned shift = 0; byte_reader_left(reader); shift += 7) {
		unsigned char byte = *reader->at++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	reader->failed = true;
	return 0;
}

static inline int64_t byte_reader_sleb(struct byte_reader *reader)
{
	uint64_t value = 0;

	for (unsigned shift = 0; byte_reader_left(reader);) {
		unsigned char byte = *reader->at++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80)) {
			if (shift < 64 && (byte & 0x40))
				value |= ~(uint64_t)0 << shift;
			return (int64_t)value;
		}
	}
	reader->failed = true;
	return 0;
}

/* A NUL-terminated string, in place; NULL when it does not end. */
static inline const char *byte_reader_string(struct byte_reader *reader)
{
	const unsigned char *start = reader->at;
	const unsigned char *nul = byte_reader_left(reader) ? memchr(start, 0, (size_t)(reader->end - start)) : NULL;

	if (!nul) {
		reader->failed = true;
		return NULL;
	}
	reader->at = nul + 1;
	return (const char *)start;
}

/* DWARF's initial length: how many bytes follow; also says the size of offsets, 4 or 8. */
static inline uint64_t byte_reader_initial_length(struct byte_reader *reader, unsigned *offset_size)
{
	uint64_t length = byte_reader_number(reader, 4);

	*offset_size = 4;
	if (length == UINT32_MAX) {
		*offset_size = 8;
		length = byte_reader_number(reader, 8);
	}
	return length;
}

#endif
