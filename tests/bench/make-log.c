/* SPDX-License-Identifier: MIT
 *
 * Makes profiles of any size for the analyser to read: threads that allocate in bursts from one heap, with call stacks that change in
 * a few frames from call to call, addresses that come back, reallocs, and losses. What the database must say of them is printed.
 *
 *   make-log DIRECTORY EVENTS THREADS SITES PROCESSES FILE      profiles DIRECTORY/rip-1 ...; the frames lie in the ELF file FILE
 */
#include "config.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/log-maker.h"

#define LOAD_BIAS UINT64_C(0x555555554000)
#define HEAP UINT64_C(0x555556000000)
#define LIVE_MAX 200000 /* blocks of one process */
#define CHUNK_BYTES 56000
#define CLASSES 20 /* of sizes, by powers of two */
#define LEVELS 5   /* of eight branches in the tree of stacks, the innermost calls */
#define COMMON 4   /* frames that all stacks have */
#define PLACES 8000 /* pcs */

struct block {
	uint64_t address, size;
};

static struct block live[LIVE_MAX];
static size_t live_count;
static uint64_t *free_list[CLASSES];
static size_t free_count[CLASSES], free_capacity[CLASSES];
static uint64_t heap_top, text_start, text_size;
static struct {
	uint64_t allocations, bytes, live, live_bytes, lost;
} totals;

/* G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003. */
static uint64_t random_number(void)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static void fail(const char *what)
{
	fprintf(stderr, "make-log: %s\n", what);
	exit(1);
}

static void find_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr file;
	Elf64_Phdr segment;

	if (fd < 0 || pread(fd, &file, sizeof file, 0) != sizeof file)
		fail(path);
	for (unsigned i = 0; i < file.e_phnum && !text_size; i++) {
		if (pread(fd, &segment, sizeof segment, (off_t)(file.e_phoff + i * sizeof segment)) != sizeof segment)
			fail(path);
		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X) {
			text_start = segment.p_vaddr;
			text_size = segment.p_memsz;
		}
	}
	close(fd);
	if (!text_size)
		fail("the file has no code");
}

static uint64_t place(uint64_t number)
{
	uint64_t hash = number * UINT64_C(0x9e3779b97f4a7c15) >> 20;

	return LOAD_BIAS + text_start + hash % PLACES * (text_size - 16) / PLACES + 1;
}

/* The stack of a call site, innermost first; returns its depth. */
static size_t stack_of(uint64_t site, uint64_t *stack)
{
	uint64_t frames[COMMON + 5 * (LEVELS + 1)];
	size_t depth = 0;

	for (uint64_t i = 0; i < COMMON; i++)
		frames[depth++] = place(i);
	for (int level = LEVELS; level >= 0; level--) {
		uint64_t prefix = (site >> 3 * level) * 8 + (uint64_t)level;

		for (uint64_t i = 0; i <= prefix * 7 % 5; i++)
			frames[depth++] = place(100 + prefix * 5 + i);
	}
	for (size_t i = 0; i < depth; i++)
		stack[i] = frames[depth - 1 - i];
	return depth;
}

static unsigned class_of(uint64_t size)
{
	return size > 16 ? 60 - (unsigned)__builtin_clzll(size - 1) : 0;
}

static uint64_t take(uint64_t size)
{
	unsigned class = class_of(size);
	uint64_t address = HEAP + heap_top;

	if (free_count[class])
		return free_list[class][--free_count[class]];
	heap_top += UINT64_C(16) << class;
	return address;
}

static void give_back(const struct block *block)
{
	unsigned class = class_of(block->size);

	if (free_count[class] == free_capacity[class]) {
		free_capacity[class] = free_capacity[class] * 2 + 1024;
		free_list[class] = realloc(free_list[class], free_capacity[class] * sizeof **free_list);
		if (!free_list[class])
			fail("out of memory");
	}
	free_list[class][free_count[class]++] = block->address;
}

static void begin(struct block *block)
{
	uint64_t number = random_number();

	block->size = 1 + (number >> 8) % (UINT64_C(8) << (number & 7));
	block->address = take(block->size);
	totals.allocations++;
	totals.bytes += block->size;
	totals.live++;
	totals.live_bytes += block->size;
}

static void end(const struct block *block)
{
	give_back(block);
	totals.live--;
	totals.live_bytes -= block->size;
}

/* Mostly a young block. */
static size_t victim(void)
{
	uint64_t number = random_number();
	size_t within = number % 10 < 7 && live_count > 8 ? 8 : live_count;

	return live_count - 1 - (number >> 8) % within;
}

/* Mostly a neighbour, which has most frames in common; else a jump, and more often to some sites than to others. */
static uint64_t next_site(uint64_t site, uint64_t sites, uint64_t choice)
{
	double share = (double)(choice >> 8 & 0xffffff) / 0x1000000;

	if (choice % 100 < 95)
		return (site ^ (choice >> 8 & (choice % 100 < 75 ? 7 : 63))) % sites;
	return (uint64_t)((double)sites * share * share * share);
}

static void make_profile(const char *directory, unsigned process, uint64_t events, uint32_t threads, uint64_t sites, const char *file)
{
	struct maker_stream *streams[256], *stream;
	char name[32], number[32];
	struct maker *maker;
	uint64_t time = process * UINT64_C(1000000), site = 0, stack[COMMON + 5 * (LEVELS + 1)];

	snprintf(name, sizeof name, "rip-%u", process + 1);
	maker = maker_new(directory, name);
	snprintf(number, sizeof number, "%u", process + 1);
	maker_set(maker, "pid", number);
	for (uint32_t i = 0; i < threads; i++)
		streams[i] = maker_stream(maker, i, i + 1, 1000 + i);
	maker_module(streams[0], time, LOAD_BIAS, LOAD_BIAS, LOAD_BIAS + text_start + text_size, file, "");
	live_count = 0;
	heap_top = 0;
	memset(free_count, 0, sizeof free_count);
	stream = streams[0];
	for (uint64_t i = 0; i < events; i++) {
		uint64_t choice = random_number();
		size_t depth, at;

		time += 20 + choice % 100;
		choice >>= 8;
		if (choice % 16 == 0)
			stream = streams[(choice >> 8) % threads];
		choice >>= 16;
		if (maker_length(stream) > CHUNK_BYTES)
			maker_flush(stream);
		if (live_count && (live_count == LIVE_MAX || choice % 100 < 48)) {
			at = victim();
			end(&live[at]);
			maker_free(stream, time, RH_FREE_FREE, live[at].address);
			live[at] = live[--live_count];
			continue;
		}
		choice >>= 8;
		site = next_site(site, sites, choice);
		depth = stack_of(site, stack);
		choice >>= 24;
		if (live_count && choice % 100 < 4) {
			struct block old = live[at = victim()];

			end(&old);
			begin(&live[at]);
			maker_realloc(stream, time, 10, RH_CALL_REALLOC, old.address, live[at].address, live[at].size, stack, depth);
		} else {
			begin(&live[live_count]);
			maker_alloc(stream, time, RH_CALL_MALLOC, live[live_count].address, live[live_count].size, stack, depth);
			live_count++;
		}
		if (choice % 100000 == 0) {
			maker_loss(stream, RH_LOSS_TRACKER, 3);
			totals.lost += 3;
		}
	}
	maker_finish(maker);
}

int main(int argc, char **argv)
{
	uint64_t events, processes;

	if (argc != 7)
		fail("usage: make-log DIRECTORY EVENTS THREADS SITES PROCESSES FILE");
	events = strtoull(argv[2], NULL, 10);
	processes = strtoull(argv[5], NULL, 10);
	if (!processes || !strtoull(argv[4], NULL, 10) || strtoul(argv[3], NULL, 10) - 1 > 255)
		fail("threads, sites and processes count from 1");
	find_text(argv[6]);
	for (uint64_t i = 0; i < processes; i++)
		make_profile(argv[1], (unsigned)i, events / processes, (uint32_t)strtoul(argv[3], NULL, 10), strtoull(argv[4], NULL, 10),
			     argv[6]);
	printf("allocations=%" PRIu64 " bytes=%" PRIu64 " live=%" PRIu64 " live_bytes=%" PRIu64 " lost=%" PRIu64 "\n", totals.allocations,
	       totals.bytes, totals.live, totals.live_bytes, totals.lost);
	return 0;
}
