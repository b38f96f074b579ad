/* SPDX-License-Identifier: MIT
 *
 * Encodes records and writes the files of a profile.
 */
#include "config.h"

#include "support/log-maker.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOT_SIZE (256u + (256u << 10))
#define LINES_MAX 64
#define SLOTS_MAX 256

struct maker_stream {
	struct maker *maker;
	struct rh_slot slot;
	uint8_t *records;
	uint64_t thread[2]; /* serial, tid: to begin the next chunk with */
	uint64_t ticks, address, pc, events, start_events, start_ticks, monotonic;
	bool monotonic_set;
	uint64_t dictionary[1 << RH_DICTIONARY_BITS];
	bool filled[1 << RH_DICTIONARY_BITS];
	uint64_t stack[4096]; /* outermost first */
	size_t depth;
};

struct maker {
	char path[4096];
	char *keys[LINES_MAX], *values[LINES_MAX];
	size_t lines;
	struct maker_stream *streams[SLOTS_MAX];
	struct rh_slab slab;
};

static void check(bool good, const char *what)
{
	if (!good) {
		perror(what);
		abort();
	}
}

char *maker_directory(void)
{
	char *path = strdup("/tmp/rheaper-test-XXXXXX");

	check(path && mkdtemp(path), "mkdtemp");
	return path;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

void maker_remove(const char *directory)
{
	check(!nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS), directory);
}

struct maker *maker_new(const char *directory, const char *name)
{
	static const char *const lines[][2] = {
	    {"format", "1"},
	    {"rheaper", "0.0-test"},
	    {"machine", "x86_64"},
	    {"pid", "4711"},
	    {"parent", "1"},
	    {"host", "testhost"},
	    {"boot_id", "boot-1"},
	    {"exe", "/bin/program"},
	    {"cmdline", "program\\0-x\\0"},
	    {"frontend", "wrap"},
	    {"backend", "glibc"},
	    {"clock", "monotonic"},
	    {"start_ticks", "0"},
	    {"start_monotonic", "0"},
	    {"start_realtime", "1000000000000000000"},
	    {"max_stack_depth", "128"},
	    {"sample_rate", "1"},
	    {"sample_interval", "0"},
	};
	struct maker *maker = calloc(1, sizeof *maker);

	check(maker, "calloc");
	snprintf(maker->path, sizeof maker->path, "%s/%s", directory, name);
	check(!mkdir(maker->path, 0700), maker->path);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		maker_set(maker, lines[i][0], lines[i][1]);
	maker->slab = (struct rh_slab){
	    .magic = RH_SLAB_MAGIC, .header_size = RH_SLAB_HEADER_SIZE, .version = RH_FORMAT_VERSION, .slot_size = SLOT_SIZE, .slots = 0};
	return maker;
}

const char *maker_path(const struct maker *maker)
{
	return maker->path;
}

void maker_set(struct maker *maker, const char *key, const char *value)
{
	size_t i = 0;

	while (i < maker->lines && strcmp(maker->keys[i], key))
		i++;
	check(i < LINES_MAX, "too many lines");
	if (i == maker->lines) {
		maker->keys[i] = strdup(key);
		maker->lines++;
	} else {
		free(maker->values[i]);
	}
	maker->values[i] = value ? strdup(value) : NULL;
}

static void put_byte(struct maker_stream *stream, uint8_t byte)
{
	check(stream->slot.chunk.length < SLOT_SIZE - 256, "chunk is full");
	stream->records[stream->slot.chunk.length++] = byte;
}

static void put_varint(struct maker_stream *stream, uint64_t value)
{
	do {
		put_byte(stream, (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0)));
		value >>= 7;
	} while (value);
}

static uint64_t zigzag(uint64_t difference)
{
	return difference >> 63 ? ~(difference << 1) : difference << 1;
}

static void put_time(struct maker_stream *stream, uint64_t time)
{
	check(time >= stream->ticks, "time runs backwards");
	put_varint(stream, time - stream->ticks);
	stream->ticks = time;
}

static void put_address(struct maker_stream *stream, uint64_t address)
{
	put_varint(stream, zigzag(address / 16 - stream->address / 16) * 2 + (address % 16 != 0));
	if (address % 16)
		put_byte(stream, address % 16);
	stream->address = address;
}

static void put_string(struct maker_stream *stream, const char *text)
{
	put_varint(stream, strlen(text));
	while (*text)
		put_byte(stream, (uint8_t)*text++);
}

static void put_frame(struct maker_stream *stream, uint64_t pc)
{
	uint32_t slot = rh_pc_slot(pc);

	if (stream->filled[slot] && stream->dictionary[slot] == pc) {
		put_varint(stream, slot + 1);
		return;
	}
	put_varint(stream, 0);
	put_varint(stream, zigzag((pc & ~RH_PC_EXACT) - stream->pc) * 2 + (pc >> 63));
	stream->pc = pc & ~RH_PC_EXACT;
	stream->filled[slot] = true;
	stream->dictionary[slot] = pc;
}

static void put_stack(struct maker_stream *stream, const uint64_t *stack, size_t depth)
{
	size_t same = 0, pop, push;

	while (same < depth && same < stream->depth && stream->stack[same] == stack[depth - 1 - same])
		same++;
	pop = stream->depth - same;
	push = depth - same;
	put_byte(stream, (uint8_t)((pop < 15 ? pop : 15) | (push < 15 ? push : 15) << 4));
	if (pop >= 15)
		put_varint(stream, pop - 15);
	if (push >= 15)
		put_varint(stream, push - 15);
	for (stream->depth = same; stream->depth < depth; stream->depth++) {
		stream->stack[stream->depth] = stack[depth - 1 - stream->depth];
		put_frame(stream, stream->stack[stream->depth]);
	}
}

static void open_chunk(struct maker_stream *stream)
{
	struct rh_chunk *chunk = &stream->slot.chunk;

	chunk->length = 0;
	chunk->events = 0;
	chunk->checksum = 0;
	chunk->first_event = stream->events;
	chunk->ticks = stream->ticks;
	chunk->monotonic = stream->monotonic_set ? stream->monotonic : stream->ticks;
	stream->monotonic_set = false;
	stream->start_events = stream->events;
	stream->address = stream->pc = 0;
	memset(stream->filled, 0, sizeof stream->filled);
	maker_thread(stream, stream->thread[0], stream->thread[1]);
}

struct maker_stream *maker_stream(struct maker *maker, uint32_t slot, uint64_t serial, uint64_t tid)
{
	struct maker_stream *stream = calloc(1, sizeof *stream);

	check(stream && slot < SLOTS_MAX && !maker->streams[slot] && (stream->records = malloc(SLOT_SIZE - 256)), "stream");
	maker->streams[slot] = stream;
	if (maker->slab.slots <= slot)
		maker->slab.slots = slot + 1;
	stream->maker = maker;
	stream->slot.used = 1;
	stream->slot.chunk = (struct rh_chunk){
	    .magic = RH_CHUNK_MAGIC, .header_size = sizeof(struct rh_chunk), .version = RH_FORMAT_VERSION, .stream = slot};
	stream->thread[0] = serial;
	stream->thread[1] = tid;
	open_chunk(stream);
	return stream;
}

void maker_slot_lost(struct maker_stream *stream, enum rh_loss kind, uint64_t count)
{
	stream->slot.lost[kind] += count;
}

void maker_slab_lost(struct maker *maker, enum rh_loss kind, uint64_t count)
{
	maker->slab.lost[kind] += count;
}

void maker_ended(struct maker *maker, uint32_t ended, uint64_t ticks)
{
	maker->slab.ended = ended;
	maker->slab.end_ticks = ticks;
}

void maker_thread(struct maker_stream *stream, uint64_t serial, uint64_t tid)
{
	put_byte(stream, RH_TAG(RH_RECORD_CONTROL, RH_CONTROL_THREAD));
	put_varint(stream, serial);
	put_varint(stream, tid);
	put_varint(stream, 0);
	stream->thread[0] = serial;
	stream->thread[1] = tid;
	stream->slot.thread = (uint32_t)serial;
	stream->depth = 0;
}

void maker_alloc(struct maker_stream *stream, uint64_t time, enum rh_call call, uint64_t address, uint64_t size, const uint64_t *stack,
		 size_t depth)
{
	put_byte(stream, RH_TAG(RH_RECORD_ALLOC, call));
	put_time(stream, time);
	put_address(stream, address);
	put_varint(stream, size);
	put_stack(stream, stack, depth);
	stream->events++;
}

void maker_free(struct maker_stream *stream, uint64_t time, enum rh_free how, uint64_t address)
{
	put_byte(stream, RH_TAG(RH_RECORD_FREE, how));
	put_time(stream, time);
	put_address(stream, address);
	stream->events++;
}

void maker_realloc(struct maker_stream *stream, uint64_t time, uint64_t duration, enum rh_call call, uint64_t old, uint64_t address,
		   uint64_t size, const uint64_t *stack, size_t depth)
{
	put_byte(stream, RH_TAG(RH_RECORD_REALLOC, call));
	put_time(stream, time);
	put_varint(stream, duration);
	put_address(stream, old);
	put_address(stream, address);
	put_varint(stream, size);
	put_stack(stream, stack, depth);
	stream->events++;
}

void maker_name(struct maker_stream *stream, const char *name)
{
	put_byte(stream, RH_TAG(RH_RECORD_CONTROL, RH_CONTROL_NAME));
	put_string(stream, name);
}

void maker_mark(struct maker_stream *stream, uint64_t time, const char *name)
{
	put_byte(stream, RH_TAG(RH_RECORD_CONTROL, RH_CONTROL_MARK));
	put_time(stream, time);
	put_string(stream, name);
}

void maker_loss(struct maker_stream *stream, enum rh_loss kind, uint64_t count)
{
	put_byte(stream, RH_TAG(RH_RECORD_CONTROL, RH_CONTROL_LOSS));
	put_varint(stream, kind);
	put_varint(stream, count);
}

void maker_rss(struct maker_stream *stream, uint64_t time, uint64_t bytes)
{
	put_byte(stream, RH_TAG(RH_RECORD_CONTROL, RH_CONTROL_RSS));
	put_time(stream, time);
	put_varint(stream, bytes);
}

void maker_module(struct maker_stream *stream, uint64_t time, uint64_t base, uint64_t start, uint64_t end, const char *path,
		  const char *build_id)
{
	put_byte(stream, RH_TAG(RH_RECORD_CONTROL, RH_CONTROL_MODULE));
	put_time(stream, time);
	put_varint(stream, base);
	put_varint(stream, start);
	put_varint(stream, end);
	put_string(stream, path);
	put_string(stream, build_id);
}

void maker_unload(struct maker_stream *stream, uint64_t time, uint64_t start)
{
	put_byte(stream, RH_TAG(RH_RECORD_CONTROL, RH_CONTROL_UNLOAD));
	put_time(stream, time);
	put_varint(stream, start);
}

void maker_sync(struct maker_stream *stream, uint64_t time, uint64_t monotonic)
{
	put_byte(stream, RH_TAG(RH_RECORD_CONTROL, RH_CONTROL_SYNC));
	put_time(stream, time);
	put_varint(stream, monotonic);
}

static void write_chunk(struct maker_stream *stream, const char *name)
{
	struct rh_chunk *chunk = &stream->slot.chunk;
	char path[4200];
	FILE *log;

	chunk->events = (uint32_t)(stream->events - stream->start_events);
	chunk->checksum = rh_checksum(stream->records, chunk->length);
	snprintf(path, sizeof path, "%s/%s", stream->maker->path, name);
	log = fopen(path, "ab");
	check(log, path);
	check(fwrite(chunk, sizeof *chunk, 1, log) == 1 && fwrite(stream->records, 1, chunk->length, log) == chunk->length, path);
	check(!fclose(log), path);
}

static void write_own(struct maker_stream *stream)
{
	char name[32];

	snprintf(name, sizeof name, RH_FILE_LOG_PREFIX "%u", stream->slot.chunk.stream);
	write_chunk(stream, name);
}

static void next_chunk(struct maker_stream *stream)
{
	stream->slot.chunk.sequence++;
	open_chunk(stream);
}

void maker_flush(struct maker_stream *stream)
{
	write_own(stream);
	next_chunk(stream);
}

void maker_spill(struct maker_stream *stream)
{
	write_chunk(stream, RH_FILE_SPILL);
	next_chunk(stream);
}

void maker_flush_killed(struct maker_stream *stream)
{
	write_own(stream);
}

void maker_lose(struct maker_stream *stream)
{
	next_chunk(stream);
}

size_t maker_length(const struct maker_stream *stream)
{
	return stream->slot.chunk.length;
}

void maker_monotonic(struct maker_stream *stream, uint64_t monotonic)
{
	stream->monotonic = monotonic;
	stream->monotonic_set = true;
}

static void write_rings(struct maker *maker)
{
	char path[4200];
	FILE *rings;

	snprintf(path, sizeof path, "%s/%s", maker->path, RH_FILE_RINGS);
	rings = fopen(path, "wb");
	check(rings && fwrite(&maker->slab, sizeof maker->slab, 1, rings) == 1, path);
	for (uint32_t i = 0; i < maker->slab.slots; i++) {
		struct maker_stream *stream = maker->streams[i];

		if (!stream)
			continue;
		check(!fseek(rings, RH_SLAB_HEADER_SIZE + (long)i * SLOT_SIZE, SEEK_SET), path);
		check(fwrite(&stream->slot, sizeof stream->slot, 1, rings) == 1, path);
		check(fwrite(stream->records, 1, stream->slot.chunk.length, rings) == stream->slot.chunk.length, path);
	}
	check(!fflush(rings) && !ftruncate(fileno(rings), RH_SLAB_HEADER_SIZE + (off_t)maker->slab.slots * SLOT_SIZE), path);
	check(!fclose(rings), path);
}

void maker_finish(struct maker *maker)
{
	char path[4200];
	FILE *manifest;

	write_rings(maker);
	snprintf(path, sizeof path, "%s/%s", maker->path, RH_FILE_MANIFEST);
	manifest = fopen(path, "w");
	check(manifest, path);
	for (size_t i = 0; i < maker->lines; i++) {
		if (maker->values[i])
			fprintf(manifest, "%s=%s\n", maker->keys[i], maker->values[i]);
		free(maker->keys[i]);
		free(maker->values[i]);
	}
	check(!fclose(manifest), path);
	for (uint32_t i = 0; i < maker->slab.slots; i++) {
		if (maker->streams[i])
			free(maker->streams[i]->records);
		free(maker->streams[i]);
	}
	free(maker);
}
