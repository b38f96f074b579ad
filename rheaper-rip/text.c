/* SPDX-License-Identifier: MIT
 *
 * Looks at text character by character.
 */
#include "config.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

/* The bytes of the character at p, of which `left` bytes are there; 0 where it is not well formed. */
static size_t character(const unsigned char *p, size_t left)
{
	/* The second byte's limits keep out long forms, surrogates, and what lies beyond U+10FFFF. */
	unsigned char low = *p == 0xe0 ? 0xa0 : *p == 0xf0 ? 0x90 : 0x80, high = *p == 0xed ? 0x9f : *p == 0xf4 ? 0x8f : 0xbf;
	size_t size = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;

	if (size > left || (size > 1 && (p[1] < low || p[1] > high)))
		return 0;
	for (size_t i = 2; i < size; i++)
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
	return size;
}

static bool is_control(const unsigned char *p, size_t size)
{
	return size == 1 ? *p < ' ' || *p == 0x7f : size == 2 && p[0] == 0xc2 && p[1] < 0xa0;
}

/* The bytes of the character at p that may stay, 0 where there is none. */
static size_t fit_character(const char *text, size_t left)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t size = character(p, left);

	return *p != '\t' && *p != '\n' && is_control(p, size) ? 0 : size;
}

/* The bytes that stand for one unfit thing. */
static size_t unfit_character(const char *text, size_t left)
{
	size_t size = character((const unsigned char *)text, left);

	return size ? size : 1;
}

bool text_is_fit(const char *text, size_t size)
{
	for (size_t at = 0, step; at < size; at += step) {
		step = fit_character(text + at, size - at);
		if (!step)
			return false;
	}
	return true;
}

char *text_fit(const char *text, size_t size)
{
	static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
	char *fit = malloc(3 * size + 1), *to = fit;

	for (size_t at = 0, step; fit && at < size; at += step) {
		step = fit_character(text + at, size - at);
		if (step) {
			to = mempcpy(to, text + at, step);
		} else {
			step = unfit_character(text + at, size - at);
			to = mempcpy(to, replacement, sizeof replacement - 1);
		}
	}
	if (fit)
		*to = '\0';
	return fit;
}

void text_line(char *text)
{
	size_t size = strlen(text);
	char *to = text;

	for (size_t at = 0, step; at < size; at += step) {
		step = fit_character(text + at, size - at);
		if (step && text[at] != '\t' && text[at] != '\n') {
			memmove(to, text + at, step);
			to += step;
		} else {
			step = unfit_character(text + at, size - at);
			*to++ = '?';
		}
	}
	*to = '\0';
}
