/* SPDX-License-Identifier: MIT
 *
 * Numbers in as few bytes as they need: LEB128 (DWARF 5, 7.6), and differences folded to small ones.
 */
#ifndef READ_VARINT_H
#define READ_VARINT_H

#include <stdbool.h>
#include <stdint.h>

#define VARINT_MAX 10 /* bytes of the longest */

/* Reads one and moves on behind it; false where it does not end before `end` or does not fit 64 bits. */
static inline bool varint_take(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	const uint8_t *p = *at;
	uint64_t number;

	if (p == end)
		return false;
	number = *p & 0x7f;
	for (unsigned shift = 7; *p++ & 0x80; shift += 7) {
		if (p == end || shift > 63 || (shift == 63 && *p > 1))
			return false;
		number |= (uint64_t)(*p & 0x7f) << shift;
	}
	*at = p;
	*value = number;
	return true;
}

/* Writes one; returns where it ends. */
static inline uint8_t *varint_put(uint8_t *at, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

static inline uint64_t varint_zigzag(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t varint_unzigzag(uint64_t value)
{
	return (value >> 1) ^ (0 - (value & 1));
}

#endif
