/* SPDX-License-Identifier: MIT
 *
 * Strings put together without malloc, stdio or locale. Async-signal-safe.
 */
#ifndef RH_PROCESS_PATH_H
#define RH_PROCESS_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A text that is being built in somebody's buffer; always NUL-terminated; full is set when something did not fit. */
struct rh_text {
	char *start;
	size_t size; /* of the buffer, NUL included */
	size_t length;
	bool full;
};

static inline struct rh_text rh_text(char *buffer, size_t size)
{
	buffer[0] = '\0';
	return (struct rh_text){buffer, size, 0, false};
}

static inline void rh_text_add(struct rh_text *text, const char *string)
{
	size_t n = strlen(string);

	if (n >= text->size - text->length) {
		n = text->size - text->length - 1;
		text->full = true;
	}
	memcpy(text->start + text->length, string, n);
	text->length += n;
	text->start[text->length] = '\0';
}

static inline void rh_text_number(struct rh_text *text, uint64_t value)
{
	char digits[21], *p = digits + sizeof digits - 1;

	*p = '\0';
	do
		*--p = (char)('0' + value % 10);
	while (value /= 10);
	rh_text_add(text, p);
}

#endif
