/* SPDX-License-Identifier: MIT
 *
 * Finds chunks. A header is believed when its constants are right and its length is possible; a closed chunk when its checksum
 * is right too. After bytes that are neither, the search goes on at the next magic number that heads a believable header.
 */
#include "config.h"

#include "read/chunks.h"

#include "read/file.h"
#include "vector.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEARCH_WINDOW 65536

/* Slots that lie in holes claim more than they hold: at most this many times the blocks of the file, and one slot, are copied. A file system that
 * compresses has fewer blocks than bytes, but not so many fewer. */
#define COPY_BUDGET 16

/* Checksums over forged headers that lie inside each other could cost the square of the file's size: at most this many times the size is
 * summed, then a chunk's own length is believed. */
#define SUM_BUDGET 16

struct search {
	struct read_chunks *found;
	struct fault *fault;
	const char *path;
	int fd;
	uint64_t size;	 /* of the file */
	uint64_t blocks; /* bytes that it takes */
	uint64_t budget; /* bytes that may still be summed, or copied */
	uint8_t *buffer;
	size_t capacity;
};

static bool believable(const struct rh_chunk *head)
{
	return head->magic == RH_CHUNK_MAGIC && head->header_size == sizeof *head && head->version == RH_FORMAT_VERSION &&
	       head->stream < READ_STREAMS_MAX && head->length <= READ_CHUNK_MAX;
}

static int add(struct read_chunks *found, const struct read_chunk *chunk, struct fault *fault)
{
	if (!VECTOR_ROOM(found->chunks, found->capacity, found->count)) {
		free(chunk->memory);
		return fault_memory(fault);
	}
	found->chunks[found->count++] = *chunk;
	return 0;
}

/* A file may seem to be far larger than it is. */
static uint64_t past_hole(const struct search *search, uint64_t from)
{
	return from < search->size ? read_file_data(search->fd, from, search->size) : from;
}

/* The offset of the next believable header at or after `from`; the file's size when there is none; UINT64_MAX on failure. */
static uint64_t next_header(struct search *search, uint64_t from)
{
	static const uint32_t magic = RH_CHUNK_MAGIC;
	uint8_t window[SEARCH_WINDOW];

	while ((from = past_hole(search, from)) + sizeof(struct rh_chunk) <= search->size) {
		size_t wanted = search->size - from < sizeof window ? (size_t)(search->size - from) : sizeof window;
		ssize_t got = read_file_at(search->fd, window, wanted, from);
		const uint8_t *hit = window;

		if (got < 0) {
			fault_errno(search->fault, search->path);
			return UINT64_MAX;
		}
		if ((size_t)got < sizeof(struct rh_chunk))
			break;
		while ((hit = memmem(hit, (size_t)(window + got - hit), &magic, sizeof magic))) {
			struct rh_chunk head;

			if ((size_t)(window + got - hit) < sizeof head)
				break;
			memcpy(&head, hit, sizeof head);
			if (believable(&head))
				return from + (uint64_t)(hit - window);
			hit++;
		}
		from += (uint64_t)got - sizeof(struct rh_chunk) + 1;
	}
	return search->size;
}

/* One believable header at `offset`. Returns where to go on, UINT64_MAX on failure. */
static uint64_t take_chunk(struct search *search, const struct rh_chunk *head, uint64_t offset)
{
	struct read_chunk chunk = {.head = *head, .length = head->length, .offset = offset + sizeof *head};
	uint64_t room = search->size - chunk.offset, next;

	chunk.file = (uint32_t)search->found->file_count - 1;
	if (head->length > room) { /* the end is missing: all up to the next chunk may be its own */
		next = next_header(search, chunk.offset);
		if (next == UINT64_MAX)
			return next;
		chunk.length = (uint32_t)(next - chunk.offset);
		chunk.cut = true;
		search->found->cut++;
		return add(search->found, &chunk, search->fault) ? UINT64_MAX : next;
	}
	next = chunk.offset + head->length;
	if (search->budget >= head->length) {
		const uint8_t *records = read_chunk_records(search->found, &chunk, &search->buffer, &search->capacity, search->fault);

		if (!records)
			return UINT64_MAX;
		search->budget -= head->length;
		chunk.closed = rh_checksum(records, head->length) == head->checksum;
	}
	if (chunk.closed)
		return add(search->found, &chunk, search->fault) ? UINT64_MAX : next;
	search->found->damaged++;
	return search->budget < head->length ? next : next_header(search, chunk.offset);
}

static int search_log(struct search *search)
{
	bool lost_track = false;
	uint64_t offset = 0;

	search->budget = search->size < UINT64_MAX / SUM_BUDGET ? search->size * SUM_BUDGET : UINT64_MAX;
	while (offset + sizeof(struct rh_chunk) <= search->size) {
		struct rh_chunk head;
		ssize_t got = read_file_at(search->fd, &head, sizeof head, offset);

		if (got < 0)
			return fault_errno(search->fault, search->path);
		if (got < (ssize_t)sizeof head)
			break;
		if (believable(&head)) {
			uint64_t damaged = search->found->damaged;

			offset = take_chunk(search, &head, offset);
			lost_track = search->found->damaged > damaged;
		} else {
			if (!lost_track)
				search->found->damaged++;
			lost_track = true;
			offset = next_header(search, offset + 1);
		}
		if (offset == UINT64_MAX)
			return -1;
	}
	if (offset < search->size && !lost_track)
		search->found->cut++; /* a kill in the middle of a header */
	return 0;
}

static struct read_chunk_stream *stream_of(struct read_chunks *found, uint32_t number)
{
	if (found->stream_count && found->streams[found->stream_count - 1].number == number)
		return &found->streams[found->stream_count - 1];
	if (!VECTOR_ROOM(found->streams, found->stream_capacity, found->stream_count))
		return NULL;
	memset(&found->streams[found->stream_count], 0, sizeof *found->streams);
	found->streams[found->stream_count].number = number;
	return &found->streams[found->stream_count++];
}

static int take_slot(struct search *search, const struct rh_slab *slab, uint32_t number)
{
	uint64_t offset = slab->header_size + (uint64_t)number * slab->slot_size;
	struct read_chunk chunk = {0};
	struct read_chunk_stream *stream;
	struct rh_slot slot;
	ssize_t got = read_file_at(search->fd, &slot, sizeof slot, offset);

	if (got < 0)
		return fault_errno(search->fault, search->path);
	if (got < (ssize_t)sizeof slot) {
		search->found->cut++;
		return 1;
	}
	if (!slot.used)
		return 0;
	stream = stream_of(search->found, number);
	if (!stream)
		return fault_memory(search->fault);
	memcpy(stream->lost, slot.lost, sizeof stream->lost);
	chunk.head = slot.chunk;
	chunk.length = slot.chunk.length;
	if (!believable(&chunk.head) || chunk.head.stream != number || chunk.length > slab->slot_size - sizeof slot ||
	    chunk.length > search->budget) {
		search->found->damaged++;
		return 0;
	}
	search->budget -= chunk.length;
	/* A copy: the program may still run and write on. */
	chunk.memory = malloc((size_t)chunk.length + 1);
	if (!chunk.memory)
		return fault_memory(search->fault);
	got = read_file_at(search->fd, chunk.memory, chunk.length, offset + sizeof slot);
	if (got < 0) {
		free(chunk.memory);
		return fault_errno(search->fault, search->path);
	}
	if (got < (ssize_t)chunk.length) {
		chunk.length = (uint32_t)got;
		chunk.cut = true;
		search->found->cut++;
	}
	chunk.closed = chunk.head.checksum && !chunk.cut && rh_checksum(chunk.memory, chunk.length) == chunk.head.checksum;
	return add(search->found, &chunk, search->fault);
}

static int search_rings(struct search *search)
{
	struct rh_slab slab;
	ssize_t got = read_file_at(search->fd, &slab, sizeof slab, 0);
	int result = 0;

	if (got < 0)
		return fault_errno(search->fault, search->path);
	if (got < (ssize_t)sizeof slab || slab.magic != RH_SLAB_MAGIC || slab.version != RH_FORMAT_VERSION ||
	    slab.header_size != RH_SLAB_HEADER_SIZE || slab.slot_size < sizeof(struct rh_slot) ||
	    slab.slot_size > READ_CHUNK_MAX + sizeof(struct rh_slot) || slab.slots > READ_STREAMS_MAX) {
		search->found->damaged++;
		return 0;
	}
	search->budget = (search->blocks < UINT64_MAX / COPY_BUDGET / 2 ? search->blocks * COPY_BUDGET : UINT64_MAX / 2) + READ_CHUNK_MAX;
	search->found->rings = true;
	search->found->ended = slab.ended <= RH_ENDED_EXIT ? slab.ended : RH_ENDED_NOT;
	search->found->end_ticks = slab.end_ticks;
	memcpy(search->found->lost, slab.lost, sizeof slab.lost);
	for (uint32_t i = 0; i < slab.slots && !result; i++)
		result = take_slot(search, &slab, i);
	return result < 0 ? -1 : 0;
}

static int search_file(struct read_chunks *found, const char *directory, const char *name, int (*how)(struct search *), struct fault *fault)
{
	struct search search = {.found = found, .fault = fault, .fd = -1};
	struct stat st;
	char *path = NULL;
	int result;

	if (!VECTOR_ROOM(found->files, found->file_capacity, found->file_count) || asprintf(&path, "%s/%s", directory, name) < 0)
		return fault_memory(fault);
	found->files[found->file_count++] = path;
	search.path = path;
	search.fd = read_file_open(path);
	if (search.fd < 0 && errno == ENOENT && how == search_rings)
		return 0;
	if (search.fd < 0 || fstat(search.fd, &st)) {
		result = fault_errno(fault, path);
	} else if (!S_ISREG(st.st_mode)) {
		result = fault_set(fault, path, FAULT_NOWHERE, "not a regular file");
	} else {
		search.size = (uint64_t)st.st_size;
		search.blocks = (uint64_t)st.st_blocks * 512; /* stat(3type) */
		result = how(&search);
	}
	if (search.fd >= 0)
		close(search.fd);
	free(search.buffer);
	return result;
}

static int is_log(const struct dirent *entry)
{
	return !strncmp(entry->d_name, RH_FILE_LOG_PREFIX, strlen(RH_FILE_LOG_PREFIX));
}

/* By stream, then sequence; of the same chunk the best one first: one that was verified, which is whole, else the longest. */
static int by_place(const void *left, const void *right)
{
	const struct read_chunk *a = left, *b = right;

	if (a->head.stream != b->head.stream)
		return a->head.stream < b->head.stream ? -1 : 1;
	if (a->head.sequence != b->head.sequence)
		return a->head.sequence < b->head.sequence ? -1 : 1;
	if (a->closed != b->closed)
		return a->closed ? -1 : 1;
	return a->length > b->length ? -1 : a->length < b->length;
}

static int by_number(const void *left, const void *right)
{
	const struct read_chunk_stream *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

/* Sorts the chunks, drops repetitions, and tells each stream which ones are its own. */
static int order(struct read_chunks *found, struct fault *fault)
{
	size_t kept = 0, slots = found->stream_count;

	if (found->count)
		qsort(found->chunks, found->count, sizeof *found->chunks, by_place);
	for (size_t i = 0; i < found->count; i++) {
		struct read_chunk *chunk = &found->chunks[i], *last = kept ? &found->chunks[kept - 1] : NULL;

		if (last && last->head.stream == chunk->head.stream && last->head.sequence == chunk->head.sequence) {
			found->cut -= !last->cut && chunk->cut; /* nothing of it is missing */
			free(chunk->memory);
		} else {
			found->chunks[kept++] = *chunk;
		}
	}
	found->count = kept;
	for (size_t i = 0; i < found->count; i++) {
		struct read_chunk_stream key = {.number = found->chunks[i].head.stream}, *stream;

		stream = slots ? bsearch(&key, found->streams, slots, sizeof key, by_number) : NULL;
		if (!stream)
			stream = stream_of(found, key.number);
		if (!stream)
			return fault_memory(fault);
		if (!stream->count++)
			stream->first = i;
	}
	if (found->stream_count)
		qsort(found->streams, found->stream_count, sizeof *found->streams, by_number);
	return 0;
}

int read_chunks_find(struct read_chunks *found, const char *directory, struct fault *fault)
{
	struct dirent **entries = NULL;
	int count, result;

	memset(found, 0, sizeof *found);
	result = search_file(found, directory, RH_FILE_RINGS, search_rings, fault);
	if (result)
		return result;
	count = scandir(directory, &entries, is_log, alphasort);
	if (count < 0)
		return fault_errno(fault, directory);
	for (int i = 0; i < count; i++) {
		if (!result)
			result = search_file(found, directory, entries[i]->d_name, search_log, fault);
		free(entries[i]);
	}
	free(entries);
	return result ? result : order(found, fault);
}

void read_chunks_free(struct read_chunks *found)
{
	for (size_t i = 0; i < found->count; i++)
		free(found->chunks[i].memory);
	for (size_t i = 0; i < found->file_count; i++)
		free(found->files[i]);
	free(found->files);
	free(found->chunks);
	free(found->streams);
	memset(found, 0, sizeof *found);
}

const uint8_t *read_chunk_records(const struct read_chunks *found, const struct read_chunk *chunk, uint8_t **buffer, size_t *capacity,
				  struct fault *fault)
{
	const char *path = found->files[chunk->file];
	ssize_t got;
	int fd;

	if (chunk->memory)
		return chunk->memory;
	if (chunk->length >= *capacity) {
		uint8_t *grown = realloc(*buffer, (size_t)chunk->length + 1);

		if (!grown) {
			fault_memory(fault);
			return NULL;
		}
		*buffer = grown;
		*capacity = (size_t)chunk->length + 1;
	}
	fd = read_file_open(path); /* opened for each chunk: there may be thousands of logs */
	got = fd < 0 ? -1 : read_file_at(fd, *buffer, chunk->length, chunk->offset);
	if (got < 0)
		fault_errno(fault, path);
	else if (got < (ssize_t)chunk->length)
		fault_set(fault, path, chunk->offset + (uint64_t)got, "the file became shorter while it was read");
	if (fd >= 0)
		close(fd);
	return got == (ssize_t)chunk->length ? *buffer : NULL;
}
