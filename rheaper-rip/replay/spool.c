/* SPDX-License-Identifier: MIT
 *
 * An entry is a byte, call | flags, and the differences from the entry before it.
 */
#include "config.h"

#include "replay/spool.h"

#include "log/format.h"
#include "read/file.h"
#include "read/varint.h"
#include "scratch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_SIZE ((size_t)1 << 20)
#define ENTRY_MAX (2 + 6 * VARINT_MAX)

#define CALL_MASK 0x1f
#define OTHER_THREAD 0x20 /* thread and process follow */
#define UNALIGNED 0x40	  /* a byte with the address's last four bits follows */

_Static_assert(RH_CALLS <= CALL_MASK + 1, "a call fits");

int replay_spool_start(struct replay_spool *spool, const char *neighbour, struct fault *fault)
{
	memset(spool, 0, sizeof *spool);
	spool->neighbour = neighbour;
	spool->fd = -1;
	spool->buffer = malloc(BUFFER_SIZE);
	return spool->buffer ? 0 : fault_memory(fault);
}

void replay_spool_free(struct replay_spool *spool)
{
	if (!spool->buffer)
		return;
	if (spool->fd >= 0)
		close(spool->fd);
	free(spool->buffer);
	memset(spool, 0, sizeof *spool);
}

static int write_out(struct replay_spool *spool, struct fault *fault)
{
	size_t done = 0;

	if (spool->fd < 0 && (spool->fd = scratch_open(spool->neighbour, fault)) < 0)
		return -1;
	while (done < spool->used) {
		ssize_t put = write(spool->fd, spool->buffer + done, spool->used - done);

		if (put < 0 && errno != EINTR)
			return fault_errno(fault, spool->neighbour);
		done += put > 0 ? (size_t)put : 0;
	}
	spool->written += spool->used;
	spool->used = 0;
	return 0;
}

int replay_spool_add(struct replay_spool *spool, const struct replay_entry *entry, struct fault *fault)
{
	struct replay_entry *last = &spool->last;
	uint8_t *at, flags = entry->how;

	if (spool->used > BUFFER_SIZE - ENTRY_MAX && write_out(spool, fault))
		return -1;
	if (entry->thread != last->thread || entry->process != last->process)
		flags |= OTHER_THREAD;
	if (entry->address & 15)
		flags |= UNALIGNED;
	at = spool->buffer + spool->used;
	*at++ = flags;
	at = varint_put(at, (uint64_t)entry->time - (uint64_t)last->time);
	at = varint_put(at, varint_zigzag((entry->address >> 4) - (last->address >> 4)));
	if (flags & UNALIGNED)
		*at++ = entry->address & 15;
	at = varint_put(at, entry->size);
	at = varint_put(at, entry->stack);
	if (flags & OTHER_THREAD) {
		at = varint_put(at, entry->thread);
		at = varint_put(at, entry->process);
	}
	spool->used = (size_t)(at - spool->buffer);
	*last = *entry;
	return 0;
}

int replay_spool_turn(struct replay_spool *spool, struct fault *fault)
{
	if (spool->fd >= 0 && write_out(spool, fault))
		return -1;
	spool->next = 0;
	memset(&spool->last, 0, sizeof spool->last);
	return 0;
}

static int read_in(struct replay_spool *spool, struct fault *fault)
{
	uint64_t left = spool->written - spool->taken;
	size_t kept = spool->used - spool->next, wanted = BUFFER_SIZE - kept;
	ssize_t got;

	if (left < wanted)
		wanted = (size_t)left;
	memmove(spool->buffer, spool->buffer + spool->next, kept);
	got = read_file_at(spool->fd, spool->buffer + kept, wanted, spool->taken);
	if (got < 0)
		return fault_errno(fault, spool->neighbour);
	if ((size_t)got < wanted)
		return fault_set(fault, spool->neighbour, FAULT_NOWHERE, "a temporary file became shorter");
	spool->taken += wanted;
	spool->used = kept + wanted;
	spool->next = 0;
	return 0;
}

int replay_spool_next(struct replay_spool *spool, struct fault *fault)
{
	struct replay_entry *last = &spool->last;
	const uint8_t *at, *end;
	uint64_t time = 0, address = 0, stack = 0, thread = last->thread, process = last->process;
	uint8_t flags;
	bool whole;

	if (spool->used - spool->next < ENTRY_MAX && spool->taken < spool->written && read_in(spool, fault))
		return -1;
	if (spool->next == spool->used)
		return 0;
	at = spool->buffer + spool->next;
	end = spool->buffer + spool->used;
	flags = *at++;
	whole = varint_take(&at, end, &time) && varint_take(&at, end, &address);
	last->time += (int64_t)time;
	last->address = ((last->address >> 4) + varint_unzigzag(address)) << 4;
	if (flags & UNALIGNED && whole && at < end)
		last->address |= *at++;
	whole = whole && varint_take(&at, end, &last->size) && varint_take(&at, end, &stack);
	if (flags & OTHER_THREAD)
		whole = whole && varint_take(&at, end, &thread) && varint_take(&at, end, &process);
	if (!whole)
		return fault_set(fault, spool->neighbour, FAULT_NOWHERE, "a temporary file was damaged");
	last->stack = (uint32_t)stack;
	last->thread = (uint32_t)thread;
	last->process = (uint32_t)process;
	last->how = flags & CALL_MASK;
	spool->next = (size_t)(at - spool->buffer);
	return 1;
}
