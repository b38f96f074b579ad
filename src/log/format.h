/* SPDX-License-Identifier: MIT
 *
 * The profile on disk: the one description of it, shared by the library that writes and the analyser that reads.
 * Every multi-byte number is little-endian. A reader must take nothing here on trust: the files may be cut or damaged.
 *
 * A profile is a directory `rip-<pid>` or `rip-<pid>.<n>`:
 *
 *   manifest      text, `key=value` lines; see "The manifest" below
 *   rings         a struct rh_slab, then its slots: the buffers of the local trackers, shared with the page cache, so that
 *                 a killed process leaves what it had not written out yet
 *   log-<slot>    chunks that were written out of that slot, oldest first
 *   log-spill     chunks of any slot that could not be written to their own file (chroot, no free descriptor)
 *
 * A stream is what one slot produced: its chunks, ordered by `sequence`, wherever they lie. The slot's own chunk in `rings` is the
 * last one, still open: `length` is its commit position, stored after the bytes that it covers. A kill between the write of a chunk
 * and the reset of its slot leaves the same chunk (stream, sequence) twice: of several take the longest valid one.
 *
 * A chunk can be read without the ones before it. At its start the pc dictionary is empty, the stack is empty, the last
 * time is `ticks`, the last address and the last literal pc are 0, and its first record is RH_CONTROL_THREAD. A gap in `first_event`
 * between two chunks of a stream is the number of events lost between them.
 *
 * Records. A tag byte, kind | argument << 3, then the fields, mostly varints (LEB128, at most 10 bytes).
 *
 *   RH_RECORD_ALLOC     argument: enum rh_call     time, address, size, stack
 *   RH_RECORD_FREE      argument: enum rh_free     time, address
 *   RH_RECORD_REALLOC   argument: enum rh_call     time, duration, old address, address, size, stack
 *                                                  the old block ended at time - duration, the new one began at time
 *   RH_RECORD_CONTROL   argument: enum rh_control  fields as said there
 *
 *   time      varint: ticks since the last time in this chunk. An allocation is stamped after the allocator returned, a free before the
 *             allocator is called, so two lives of one address never overlap. Times do not decrease within a stream.
 *   duration  varint: ticks. time - duration may lie before records that stand earlier in the stream (a signal handler allocated
 *             while realloc ran).
 *   address   varint: zigzag(address / 16 - last address / 16) * 2 + (address % 16 != 0), then if that bit is set one byte: address % 16.
 *             A REALLOC's second address is relative to its first. Wraps modulo 2^64.
 *   size      varint: bytes asked for.
 *   stack     the difference from the stack of the previous record that had one, in this chunk: a byte, pop | push << 4, where 15 means
 *             that a varint with the rest (n - 15) follows: first pop's, then push's. Drop `pop` innermost frames, then add `push`
 *             frames, outermost first. A frame is a varint:
 *               0      a literal follows: a varint, zigzag(pc - last literal pc) * 2 + exact. It becomes the last literal pc and
 *                      enters the dictionary at rh_pc_slot(pc | exact << 63), replacing what was there.
 *               n > 0  the frame in dictionary slot n - 1.
 *             A pc is a return address: what the frame was doing is found at pc - 1, except if `exact` is set (the frame was interrupted
 *             by a signal: pc is the instruction itself).
 *             A stack may hold up to four times max_stack_depth frames, so that a recursion that goes one deeper logs one frame. Of those
 *             only the innermost max_stack_depth count: a reader cuts off the others, which may be out of date. A stack with fewer has
 *             its outer end there.
 *   string    varint length, then that many bytes, no NUL.
 *
 * Address domains: what rheaper_report_alloc and its kin say (RH_CALL_POOL..., RH_FREE_POOL) pairs apart from the heap.
 */
#ifndef RH_LOG_FORMAT_H
#define RH_LOG_FORMAT_H

#include <stdint.h>

#define RH_FORMAT_VERSION 1

#define RH_SLAB_MAGIC 0x42534852u  /* "RHSB" */
#define RH_CHUNK_MAGIC 0x4b434852u /* "RHCK" */

#define RH_DIRECTORY_PREFIX "rip-"
#define RH_FILE_MANIFEST "manifest"
#define RH_FILE_RINGS "rings"
#define RH_FILE_LOG_PREFIX "log-"
#define RH_FILE_SPILL "log-spill"

enum rh_record { RH_RECORD_CONTROL = 0, RH_RECORD_ALLOC = 1, RH_RECORD_FREE = 2, RH_RECORD_REALLOC = 3 };

#define RH_TAG(kind, argument) ((uint8_t)((unsigned)(kind) | (unsigned)(argument) << 3))
#define RH_TAG_KIND(tag) ((tag) & 7u)
#define RH_TAG_ARGUMENT(tag) ((tag) >> 3)

/* The function that the program called. Values are on disk: append only, at most 31. */
enum rh_call {
	RH_CALL_MALLOC = 0,
	RH_CALL_CALLOC,
	RH_CALL_REALLOC,
	RH_CALL_REALLOCARRAY,
	RH_CALL_POSIX_MEMALIGN,
	RH_CALL_ALIGNED_ALLOC,
	RH_CALL_MEMALIGN,
	RH_CALL_VALLOC,
	RH_CALL_PVALLOC,
	RH_CALL_STRDUP,
	RH_CALL_STRNDUP,
	RH_CALL_WCSDUP,
	RH_CALL_ASPRINTF,
	RH_CALL_VASPRINTF,
	RH_CALL_GETLINE,
	RH_CALL_GETDELIM,
	RH_CALL_REALPATH,
	RH_CALL_GETCWD,
	RH_CALL_NEW,
	RH_CALL_NEW_ARRAY,
	RH_CALL_NEW_ALIGNED,
	RH_CALL_NEW_ARRAY_ALIGNED,
	RH_CALL_POOL,         /* rheaper_report_alloc */
	RH_CALL_POOL_REALLOC, /* rheaper_report_realloc */
	RH_CALL_OTHER,        /* another libc function that returns a block of malloc's (tempnam, ...) */
	RH_CALLS
};

/* The names that table `calls` holds, in the order of enum rh_call. */
#define RH_CALL_NAMES                                                                                                          \
	{ "malloc", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc",   \
	  "strdup", "strndup", "wcsdup", "asprintf", "vasprintf", "getline", "getdelim", "realpath", "getcwd", "new", "new[]", \
	  "new(align)", "new[](align)", "pool", "pool_realloc", "other" }

/* What ended a block. */
enum rh_free {
	RH_FREE_FREE = 0,    /* free, delete, free_sized ..., realloc(p, 0) */
	RH_FREE_REALLOC = 1, /* a realloc whose new block is not recorded (not sampled) */
	RH_FREE_POOL = 2,    /* rheaper_report_free */
	RH_FREE_POOL_REALLOC = 3
};

/* Control records, and their fields. */
enum rh_control {
	RH_CONTROL_THREAD = 0,  /* serial, tid, level: the events that follow are this thread's; the stack is empty again. serial counts
	                         * from 1 in each session; level > 0: recorded by signal handlers that interrupted a recording. */
	RH_CONTROL_NAME = 1,    /* string: the present thread's name */
	RH_CONTROL_MARK = 2,    /* time, string */
	RH_CONTROL_LOSS = 3,    /* kind (enum rh_loss), count: events lost by the present thread */
	RH_CONTROL_RSS = 4,     /* time, bytes: the process's resident set */
	RH_CONTROL_MODULE = 5,  /* time, base, start, end, string path, string build id (raw bytes): loaded, or found loaded, at that
	                         * time. base, start and end are plain varints: load bias, first address, address after the last. The
	                         * program itself comes with its path. Repeated after a loss; a repetition changes nothing. */
	RH_CONTROL_UNLOAD = 6,  /* time, start: the module at that start address is gone */
	RH_CONTROL_SYNC = 7     /* time, monotonic: CLOCK_MONOTONIC in nanoseconds at that time, plain varint */
};

/* Why events are missing. The counters in slab and slots are totals that no record has said yet. */
enum rh_loss {
	RH_LOSS_WRITE = 0,   /* a chunk could not be written: disk full, file size limit, no descriptor. No counter says it: the gap in
	                      * first_event does. */
	RH_LOSS_TRACKER = 1, /* no tracker could be had */
	RH_LOSS_NESTED = 2,  /* a signal handler in a signal handler in ... a recording */
	RH_LOSS_MEMORY = 3,  /* the tracker's memory could not be had */
	RH_LOSS_STRICT = 4,  /* the process is in seccomp's strict mode, which allows no recording */
	RH_LOSSES = 8
};
#define RH_LOSS_NAMES { "write", "tracker", "nested", "memory", "strict" }

#define RH_DICTIONARY_BITS 12
#define RH_PC_EXACT (UINT64_C(1) << 63)

/* Dictionary slot of a pc (with RH_PC_EXACT where that holds). */
static inline uint32_t rh_pc_slot(uint64_t pc)
{
	return (uint32_t)((pc * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - RH_DICTIONARY_BITS));
}

/* Heads a chunk; its records follow at once. 64 bytes. */
struct rh_chunk {
	uint32_t magic;       /* RH_CHUNK_MAGIC */
	uint16_t header_size; /* sizeof(struct rh_chunk): where the records begin */
	uint16_t version;     /* RH_FORMAT_VERSION */
	uint32_t stream;      /* slot number */
	uint32_t sequence;    /* number of the chunk in its stream, from 0 */
	uint32_t length;      /* bytes of records */
	uint32_t events;      /* records other than control records among them; 0 in an open chunk */
	uint64_t first_event; /* events of this stream before this chunk, lost ones included */
	uint64_t ticks;       /* clock at the chunk's start */
	uint64_t monotonic;   /* CLOCK_MONOTONIC in nanoseconds at the same instant */
	uint64_t checksum;    /* rh_checksum of the records; 0 in an open chunk */
	uint64_t reserved;
};

/* A slot of the slab: slot_size bytes, this header first, the records right behind. 256 bytes. */
struct rh_slot {
	uint32_t used;                     /* 1 once a thread had it */
	uint32_t thread;                   /* serial of the thread that writes to it now; 0: none yet */
	uint64_t lost[RH_LOSSES];          /* by enum rh_loss */
	uint64_t reserved[(256 - 64 - 8 - 8 * RH_LOSSES) / 8];
	struct rh_chunk chunk;             /* directly before the records: header and records go out in one write */
};

/* Heads the file `rings`: one page of 4096 bytes; slot i lies at header_size + i * slot_size. */
struct rh_slab {
	uint32_t magic;       /* RH_SLAB_MAGIC */
	uint16_t header_size; /* 4096 */
	uint16_t version;     /* RH_FORMAT_VERSION */
	uint32_t slot_size;   /* bytes, slot header included */
	uint32_t slots;
	uint32_t ended;       /* enum rh_ended */
	uint32_t reserved;
	uint64_t end_ticks;   /* clock at that moment, if ended */
	uint64_t lost[RH_LOSSES]; /* events that no slot can account for */
};

/* How the profile ended. Without a word the process was killed, or exec'ed, or still runs. */
enum rh_ended {
	RH_ENDED_NOT = 0,
	RH_ENDED_DISABLED = 1, /* tracking was switched off; everything is written */
	RH_ENDED_EXIT = 2      /* the process was on its way out, by exit or _exit; events may still have come */
};

#define RH_SLAB_HEADER_SIZE 4096

_Static_assert(sizeof(struct rh_chunk) == 64, "on disk");
_Static_assert(sizeof(struct rh_slot) == 256, "on disk");
_Static_assert(sizeof(struct rh_slab) <= RH_SLAB_HEADER_SIZE, "on disk");

/* Sum of the records of a chunk: a Fletcher sum over little-endian 64-bit words, the tail padded with zeros, length mixed in. Never 0.
 * (J. G. Fletcher, "An Arithmetic Checksum for Serial Transmissions", IEEE Trans. Comm. 30(1), 1982.) It finds torn and
 * damaged chunks; it does not defend against a forger. */
static inline uint64_t rh_checksum(const void *records, uint32_t length)
{
	const unsigned char *p = (const unsigned char *)records;
	uint64_t a = 1, b = length, word;

	for (; length >= 8; length -= 8, p += 8) {
		__builtin_memcpy(&word, p, 8);
		a += word;
		b += a;
	}
	if (length) {
		word = 0;
		__builtin_memcpy(&word, p, length);
		a += word;
		b += a;
	}
	b *= UINT64_C(0x9e3779b97f4a7c15);
	a ^= b << 32 | b >> 32; /* turned, so that one flipped bit cannot cancel itself */
	return a ? a : 1;
}

/* The manifest. One `key=value` a line, UTF-8 or raw bytes; in a value \n, \r, \\ and NUL are written \n \r \\ \0. A later line of the same
 * key replaces an earlier one; unknown keys are kept for table `metadata`.
 *   format=1                         RH_FORMAT_VERSION
 *   rheaper=<version>                of the library
 *   machine=x86_64                   as uname -m
 *   pid= parent= host= boot_id= exe=  parent: of a followed child, the nearest ancestor that records
 *   parent_profile=                  path of that ancestor's profile; only in followed children
 *   process_start=                   clock ticks since boot (proc_pid_stat(5), field 22). Two profiles with the same boot_id, pid and
 *                                    process_start: the process replaced its program by exec in between
 *   cmdline=                         arguments, each followed by \0
 *   frontend=wrap backend=glibc      backend: glibc (whatever the program was linked with), tcmalloc, mimalloc, jemalloc, or program (its own)
 *   clock=monotonic                  what ticks are: monotonic = nanoseconds of CLOCK_MONOTONIC; tsc = counts of the time stamp counter, or
 *                                    some fixed number of them, converted with the pairs (ticks, monotonic) of chunks, RH_CONTROL_SYNC
 *                                    and the lines below
 *   start_ticks= start_monotonic= start_realtime=     one instant: ticks, ns, ns since the epoch. Times in the database count from here.
 *   max_stack_depth= max_trackers= tracker_event_buffer_size= sample_rate= sample_interval=
 *   ended=disabled end_ticks= end_monotonic=          appended when tracking was switched off
 */

#endif
