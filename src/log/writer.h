/* SPDX-License-Identifier: MIT
 *
 * From ring to file: one chunk, one write(2). On the event path but rare; async-signal-safe, keeps no descriptor of its own between
 * calls but one (the spill file's), which it checks before each use: programs close and reuse every number.
 */
#ifndef RH_LOG_WRITER_H
#define RH_LOG_WRITER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "log/directory.h"
#include "log/format.h"

/* What a session's writers share. */
struct rh_writer {
	char directory[PATH_MAX];
	uint64_t device;      /* the directory's: a file elsewhere (chroot) is not ours */
	int spill;            /* descriptor of log-spill, or -1 */
	uint64_t spill_inode;
};

/* directory is set. Not on the event path, one caller at a time. Opens the spill file. Never fails: without a spill file there is just one way less. */
void rh_writer_begin(struct rh_writer *writer);

/* Closes what is still ours. */
void rh_writer_end(struct rh_writer *writer);

/* Appends the slot's chunk (header and chunk.length bytes behind it) to the stream's file, else to the spill file. inode is the stream
 * file's, 0 before its first chunk. scratch: RH_PATH_SCRATCH bytes (a path is too much for a small stack). False when it could not
 * be written whole: those events are lost. */
bool rh_writer_append(struct rh_writer *writer, const struct rh_chunk *chunk, uint64_t *inode, char *scratch);

#endif
