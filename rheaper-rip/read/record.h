/* SPDX-License-Identifier: MIT
 *
 * The records of one chunk, one after the other. Every length is checked: the bytes come from a file that may be damaged.
 */
#ifndef READ_RECORD_H
#define READ_RECORD_H

#include "log/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define READ_STACK_MAX 16384 /* four times the most frames that a library can be told to keep (rheaper.h, log/format.h) */

struct read_cursor {
	const uint8_t *at, *end;
	uint64_t ticks;	  /* last time in this chunk */
	uint64_t address; /* last address */
	uint64_t pc;	  /* last literal pc */
	uint32_t depth;	  /* of the stack */
	uint32_t keep;	  /* this many outermost frames are as they were when the caller last set keep = depth */
	bool threaded;	  /* a THREAD record was seen */
	uint64_t filled[(1 << RH_DICTIONARY_BITS) / 64];
	uint64_t dictionary[1 << RH_DICTIONARY_BITS];
	uint32_t numbers[1 << RH_DICTIONARY_BITS]; /* the caller's, for each entry of the dictionary; 0 when that was filled anew */
	uint64_t pcs[READ_STACK_MAX];		   /* outermost first, with RH_PC_EXACT where that holds */
	uint16_t slots[READ_STACK_MAX];		   /* the dictionary's entries that they came from: may be another pc's by now */
};

struct read_record {
	uint8_t kind;	  /* enum rh_record */
	uint8_t argument; /* enum rh_call, rh_free or rh_control */
	uint64_t ticks;	  /* of ALLOC, FREE, REALLOC, MARK, RSS, MODULE, UNLOAD, SYNC */
	uint64_t duration, old, address, size;
	uint64_t field[3];	/* numbers of control records, in their order, time apart */
	const uint8_t *text[2]; /* their strings, without a NUL, inside the chunk */
	size_t text_size[2];
};

/* Starts at the records of a chunk that began at `ticks`. The bytes must stay until the last record was taken. */
void read_cursor_start(struct read_cursor *cursor, const void *records, size_t length, uint64_t ticks);

/* 1: record is filled and the cursor's stack is that of the record; 0: the end; -1: the bytes from cursor->at on are cut or damaged. */
int read_record_next(struct read_cursor *cursor, struct read_record *record);

#endif
