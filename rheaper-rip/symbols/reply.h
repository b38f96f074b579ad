/* SPDX-License-Identifier: MIT
 *
 * How a worker tells its answers: messages on a stream socket, each a header and its payload. The reader believes nothing: the worker
 * may have been overwritten by what it read.
 */
#ifndef SYMBOLS_REPLY_H
#define SYMBOLS_REPLY_H

#include "symbols/question.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a worker is told to do: native structs, as both are one program. */
struct symbols_order {
	uint32_t question;
	uint32_t from;	    /* first address that is not answered yet */
	uint32_t no_dwarf;
};

/* ---- The worker's side ---- */

struct symbols_reply {
	int socket;
	bool failed; /* nobody listens any more */
	size_t used;
	unsigned char *buffer;
	/* Strings that were told: by address, open addressing. */
	const char **strings;
	uint32_t *numbers;
	size_t string_count, string_mask;
};

bool symbols_reply_start(struct symbols_reply *reply, int socket); /* false when memory is out */
void symbols_reply_begin(struct symbols_reply *reply);		   /* a question: no string of an earlier one is known any more */
void symbols_reply_place(struct symbols_reply *reply, const struct symbols_frame *frames, size_t count); /* the next address's */
void symbols_reply_reading(struct symbols_reply *reply, const char *path);
void symbols_reply_done(struct symbols_reply *reply, const char *status, const char *reason, const char *debug_file);
void symbols_reply_flush(struct symbols_reply *reply);

/* ---- The reader's side ---- */

struct symbols_reception {
	unsigned char *buffer;
	size_t used, room;
	const char **strings; /* of the present question */
	size_t string_count, string_room;
};

enum symbols_received { SYMBOLS_RECEIVED_PART, SYMBOLS_RECEIVED_ALL, SYMBOLS_RECEIVED_NONSENSE, SYMBOLS_RECEIVED_NO_MEMORY };

/* Takes size bytes from the worker and adds what is whole to question. ALL: the question is answered. */
enum symbols_received symbols_receive(struct symbols_reception *reception, const void *bytes, size_t size, struct symbols_question *question,
				      struct symbols_strings *strings);

/* Forgets a question's strings and half messages. */
void symbols_reception_reset(struct symbols_reception *reception);
void symbols_reception_free(struct symbols_reception *reception);

/* One more answer to question. False when memory is out. */
bool symbols_question_answer(struct symbols_question *question, const struct symbols_frame *frames, size_t count);

#endif
