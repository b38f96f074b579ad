/* SPDX-License-Identifier: MIT
 *
 * Where the chunks of a profile lie: finds them in its log files and in its rings, verifies them, and puts them in order, stream
 * by stream. Bytes that are no chunk are passed over up to the next one.
 */
#ifndef READ_CHUNKS_H
#define READ_CHUNKS_H

#include "fault.h"
#include "log/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define READ_CHUNK_MAX (64u << 20) /* bytes of records; the library's largest buffer stays far below */
#define READ_STREAMS_MAX 65536u

struct read_chunk {
	struct rh_chunk head;
	uint32_t length; /* bytes of records that are there; survey cuts it back to whole records */
	uint32_t file;	 /* index of its file, if memory is NULL */
	uint64_t offset; /* of its records in that file */
	uint8_t *memory; /* the records themselves: a copy of what the rings held, or NULL */
	bool closed;	 /* its checksum was verified */
	bool cut;	 /* the file ends, or another chunk begins, before its end */
};

struct read_chunk_stream {
	uint32_t number;	  /* slot */
	size_t first, count;	  /* its chunks, by sequence, one each */
	uint64_t lost[RH_LOSSES]; /* from its slot: what no record says */
};

struct read_chunks {
	char **files; /* paths */
	size_t file_count, file_capacity;
	struct read_chunk *chunks;
	size_t count, capacity;
	struct read_chunk_stream *streams;
	size_t stream_count, stream_capacity;
	uint64_t lost[RH_LOSSES]; /* from the slab */
	uint64_t damaged;	  /* places with bytes that are no valid chunk */
	uint64_t cut;		  /* chunks that end too early */
	bool rings;		  /* the rings could be read */
	uint32_t ended;		  /* enum rh_ended, as the slab says */
	uint64_t end_ticks;
};

/* Looks through the profile in `directory`. 0, or -1 with fault filled when something cannot be read; damage is no failure. To be freed in
 * both cases. */
int read_chunks_find(struct read_chunks *found, const char *directory, struct fault *fault);
void read_chunks_free(struct read_chunks *found);

/* The records of a chunk: chunk->length bytes in *buffer (grown as needed, to be freed by the caller) or in the chunk's own memory. NULL
 * with fault filled on failure. */
const uint8_t *read_chunk_records(const struct read_chunks *found, const struct read_chunk *chunk, uint8_t **buffer, size_t *capacity,
				  struct fault *fault);

#endif
