/* SPDX-License-Identifier: MIT
 *
 * A string is told once for each question, by its address: the symbolizer keeps each name in one place.
 */
#include "config.h"

#include "symbols/reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "vector.h"

#define BUFFER_SIZE 65536
#define STRING_MAX (4u << 20) /* a longer name is not told */

enum message { MESSAGE_STRING = 1, MESSAGE_PLACE, MESSAGE_READING, MESSAGE_DONE };

struct header {
	uint32_t message, size; /* of what follows */
};

/* Strings by number, counted from 1; 0: NULL. */
struct told_frame {
	uint32_t function, linkage, file, line, source;
};
struct told_end {
	uint32_t status, reason, debug_file;
};

/* ---- The worker's side ---- */

bool symbols_reply_start(struct symbols_reply *reply, int socket)
{
	*reply = (struct symbols_reply){.socket = socket, .string_mask = 1023};
	reply->buffer = malloc(BUFFER_SIZE);
	reply->strings = calloc(reply->string_mask + 1, sizeof *reply->strings);
	reply->numbers = calloc(reply->string_mask + 1, sizeof *reply->numbers);
	return reply->buffer && reply->strings && reply->numbers;
}

static void send_all(struct symbols_reply *reply, const unsigned char *bytes, size_t size)
{
	while (size && !reply->failed) {
		ssize_t sent = send(reply->socket, bytes, size, MSG_NOSIGNAL);

		if (sent > 0) {
			bytes += sent;
			size -= (size_t)sent;
		} else if (errno != EINTR) {
			reply->failed = true;
		}
	}
}

void symbols_reply_flush(struct symbols_reply *reply)
{
	send_all(reply, reply->buffer, reply->used);
	reply->used = 0;
}

static void put(struct symbols_reply *reply, const void *bytes, size_t size)
{
	if (size > BUFFER_SIZE - reply->used)
		symbols_reply_flush(reply);
	if (size > BUFFER_SIZE) {
		send_all(reply, bytes, size);
		return;
	}
	memcpy(reply->buffer + reply->used, bytes, size);
	reply->used += size;
}

void symbols_reply_begin(struct symbols_reply *reply)
{
	memset(reply->strings, 0, (reply->string_mask + 1) * sizeof *reply->strings);
	reply->string_count = 0;
}

static size_t slot_of(const char *const *strings, size_t mask, const char *string)
{
	size_t slot = (size_t)(((uintptr_t)string * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;

	while (strings[slot] && strings[slot] != string)
		slot = (slot + 1) & mask;
	return slot;
}

/* Doubles the table of strings; without memory it stays, and what no longer fits is told again. */
static void grow(struct symbols_reply *reply)
{
	size_t mask = 2 * reply->string_mask + 1;
	const char **strings = calloc(mask + 1, sizeof *strings);
	uint32_t *numbers = calloc(mask + 1, sizeof *numbers);

	if (!strings || !numbers) {
		free(strings);
		free(numbers);
		return;
	}
	for (size_t i = 0; i <= reply->string_mask; i++) {
		if (!reply->strings[i])
			continue;
		size_t slot = slot_of(strings, mask, reply->strings[i]);

		strings[slot] = reply->strings[i];
		numbers[slot] = reply->numbers[i];
	}
	free(reply->strings);
	free(reply->numbers);
	reply->strings = strings;
	reply->numbers = numbers;
	reply->string_mask = mask;
}

/* The number of a string, which is told if it was not yet. */
static uint32_t tell_string(struct symbols_reply *reply, const char *string)
{
	if (!string)
		return 0;
	size_t slot = slot_of(reply->strings, reply->string_mask, string), size = strlen(string);
	struct header header = {MESSAGE_STRING, (uint32_t)size};

	if (reply->strings[slot])
		return reply->numbers[slot];
	if (size > STRING_MAX)
		return 0;
	put(reply, &header, sizeof header);
	put(reply, string, size);
	uint32_t number = (uint32_t)++reply->string_count;

	if (reply->string_count > reply->string_mask / 2)
		grow(reply);
	if (reply->string_count < reply->string_mask) {
		slot = slot_of(reply->strings, reply->string_mask, string);
		reply->strings[slot] = string;
		reply->numbers[slot] = number;
	}
	return number;
}

void symbols_reply_place(struct symbols_reply *reply, const struct symbols_frame *frames, size_t count)
{
	struct told_frame told[SYMBOLS_FRAMES_MAX];
	struct header header = {MESSAGE_PLACE, (uint32_t)(count * sizeof *told)};

	for (size_t i = 0; i < count; i++)
		told[i] = (struct told_frame){tell_string(reply, frames[i].function), tell_string(reply, frames[i].linkage),
					      tell_string(reply, frames[i].file), frames[i].line, frames[i].source};
	put(reply, &header, sizeof header);
	put(reply, told, header.size);
}

void symbols_reply_reading(struct symbols_reply *reply, const char *path)
{
	uint32_t number = tell_string(reply, path);
	struct header header = {MESSAGE_READING, sizeof number};

	put(reply, &header, sizeof header);
	put(reply, &number, sizeof number);
	symbols_reply_flush(reply);
}

void symbols_reply_done(struct symbols_reply *reply, const char *status, const char *reason, const char *debug_file)
{
	struct told_end end = {tell_string(reply, status), tell_string(reply, reason), tell_string(reply, debug_file)};
	struct header header = {MESSAGE_DONE, sizeof end};

	put(reply, &header, sizeof header);
	put(reply, &end, sizeof end);
	symbols_reply_flush(reply);
}

/* ---- The reader's side ---- */

bool symbols_question_answer(struct symbols_question *question, const struct symbols_frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!VECTOR_ROOM(question->frames, question->frame_room, question->frame_count))
			return false;
		question->frames[question->frame_count++] = frames[i];
	}
	question->named[frames[count - 1].source]++;
	question->first[++question->answered] = question->frame_count;
	return true;
}

/* String by number. False when there is none of that number. */
static bool string_of(const struct symbols_reception *reception, uint32_t number, const char **string)
{
	*string = number && number <= reception->string_count ? reception->strings[number - 1] : NULL;
	return number <= reception->string_count;
}

static enum symbols_received take_string(struct symbols_reception *reception, const unsigned char *bytes, size_t size,
					 struct symbols_strings *strings)
{
	if (!VECTOR_ROOM(reception->strings, reception->string_room, reception->string_count))
		return SYMBOLS_RECEIVED_NO_MEMORY;
	const char *string = symbols_strings_add(strings, (const char *)bytes, size);

	if (!string)
		return SYMBOLS_RECEIVED_NO_MEMORY;
	reception->strings[reception->string_count++] = string;
	return SYMBOLS_RECEIVED_PART;
}

static enum symbols_received take_place(struct symbols_reception *reception, const unsigned char *bytes, size_t size,
					struct symbols_question *question)
{
	struct symbols_frame frames[SYMBOLS_FRAMES_MAX];
	size_t count = size / sizeof(struct told_frame);

	if (!count || count > SYMBOLS_FRAMES_MAX || size % sizeof(struct told_frame) || question->answered == question->count)
		return SYMBOLS_RECEIVED_NONSENSE;
	for (size_t i = 0; i < count; i++) {
		struct told_frame told;

		memcpy(&told, bytes + i * sizeof told, sizeof told);
		if (told.source >= SYMBOLS_SOURCES || !string_of(reception, told.function, &frames[i].function) ||
		    !string_of(reception, told.linkage, &frames[i].linkage) || !string_of(reception, told.file, &frames[i].file))
			return SYMBOLS_RECEIVED_NONSENSE;
		frames[i].line = told.line;
		frames[i].source = told.source;
	}
	return symbols_question_answer(question, frames, count) ? SYMBOLS_RECEIVED_PART : SYMBOLS_RECEIVED_NO_MEMORY;
}

static enum symbols_received take_reading(struct symbols_reception *reception, const unsigned char *bytes, size_t size,
					  struct symbols_question *question)
{
	uint32_t number;

	if (size != sizeof number)
		return SYMBOLS_RECEIVED_NONSENSE;
	memcpy(&number, bytes, sizeof number);
	return string_of(reception, number, &question->reading) ? SYMBOLS_RECEIVED_PART : SYMBOLS_RECEIVED_NONSENSE;
}

static enum symbols_received take_end(struct symbols_reception *reception, const unsigned char *bytes, size_t size,
				      struct symbols_question *question)
{
	struct told_end end;

	if (size != sizeof end || question->answered != question->count)
		return SYMBOLS_RECEIVED_NONSENSE;
	memcpy(&end, bytes, sizeof end);
	if (!string_of(reception, end.status, &question->status) || !question->status ||
	    !string_of(reception, end.reason, &question->reason) || !string_of(reception, end.debug_file, &question->debug_file))
		return SYMBOLS_RECEIVED_NONSENSE;
	return SYMBOLS_RECEIVED_ALL;
}

enum symbols_received symbols_receive(struct symbols_reception *reception, const void *bytes, size_t size, struct symbols_question *question,
				      struct symbols_strings *strings)
{
	enum symbols_received result = SYMBOLS_RECEIVED_PART;
	size_t at = 0;
	struct header header;

	if (!vector_reserve((void **)&reception->buffer, &reception->room, reception->used + size, 1))
		return SYMBOLS_RECEIVED_NO_MEMORY;
	memcpy(reception->buffer + reception->used, bytes, size);
	reception->used += size;
	while (result == SYMBOLS_RECEIVED_PART && reception->used - at >= sizeof header) {
		const unsigned char *payload = reception->buffer + at + sizeof header;

		memcpy(&header, reception->buffer + at, sizeof header);
		if (header.size > STRING_MAX)
			return SYMBOLS_RECEIVED_NONSENSE;
		if (reception->used - at - sizeof header < header.size)
			break;
		at += sizeof header + header.size;
		switch (header.message) {
		case MESSAGE_STRING:
			result = take_string(reception, payload, header.size, strings);
			break;
		case MESSAGE_PLACE:
			result = take_place(reception, payload, header.size, question);
			break;
		case MESSAGE_READING:
			result = take_reading(reception, payload, header.size, question);
			break;
		case MESSAGE_DONE:
			result = take_end(reception, payload, header.size, question);
			break;
		default:
			result = SYMBOLS_RECEIVED_NONSENSE;
		}
	}
	memmove(reception->buffer, reception->buffer + at, reception->used - at);
	reception->used -= at;
	return result == SYMBOLS_RECEIVED_ALL && reception->used ? SYMBOLS_RECEIVED_NONSENSE : result;
}

void symbols_reception_reset(struct symbols_reception *reception)
{
	reception->used = 0;
	reception->string_count = 0;
}

void symbols_reception_free(struct symbols_reception *reception)
{
	free(reception->buffer);
	free(reception->strings);
	memset(reception, 0, sizeof *reception);
}
