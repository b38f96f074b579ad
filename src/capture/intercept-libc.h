/* SPDX-License-Identifier: MIT
 *
 * What the C library's functions do that allocate for their caller (strdup, asprintf, getline, realpath ...), made so that the caller gets
 * one row. Where the C library calls its own malloc inside, a static program has that call intercepted too; so these functions do the
 * allocation themselves wherever the work can be done in a buffer, and tell inner calls apart (struct rh_outer) where it cannot.
 *
 * As in intercept.h all are always inlined into a front-end's functions. `real` is how that
 * front-end reaches the C library's own.
 */
#ifndef RH_CAPTURE_INTERCEPT_LIBC_H
#define RH_CAPTURE_INTERCEPT_LIBC_H

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <wchar.h>

#include "capture/intercept.h"

/* Most formatted texts fit in here, so that one pass is enough. */
#define RH_PRINT_BUFFER 512

/* What getline starts with in glibc (libio/iogetdelim.c documents no number; malloc_usable_size and *n show it). */
#define RH_LINE_BUFFER 120

RH_INTERCEPT void *rh_copy(const void *from, size_t size)
{
	void *block = rh_backend_malloc(size);

	return block ? memcpy(block, from, size) : NULL;
}

/* Here the functions that find the caller do all the work themselves: with or without tracking it is the same. */
RH_INTERCEPT void *rh_record_here(void *block, size_t size, enum rh_call call)
{
	if (rh_tracking()) {
		struct rh_frame caller = RH_CALLER();

		rh_record(block, size, call, &caller);
	}
	return block;
}

/* ---- strings ---- */

RH_INTERCEPT char *rh_intercept_strdup(const char *string)
{
	size_t size = strlen(string) + 1;

	return rh_record_here(rh_copy(string, size), size, RH_CALL_STRDUP);
}

RH_INTERCEPT char *rh_intercept_strndup(const char *string, size_t max)
{
	size_t length = strnlen(string, max);
	char *block = rh_backend_malloc(length + 1);

	if (!block)
		return NULL;
	block[length] = '\0';
	memcpy(block, string, length);
	return rh_record_here(block, length + 1, RH_CALL_STRNDUP);
}

RH_INTERCEPT wchar_t *rh_intercept_wcsdup(const wchar_t *string)
{
	size_t size = (wcslen(string) + 1) * sizeof *string;

	return rh_record_here(rh_copy(string, size), size, RH_CALL_WCSDUP);
}

/* ---- formatted text ---- */

#define RH_UNCHECKED (-1) /* no flag of _FORTIFY_SOURCE's, which are from 0 */

extern int __vsnprintf_chk(char *buffer, size_t max, int flag, size_t size, const char *format, va_list arguments);

/* How the C library prints: RH_UNCHECKED plainly, else as _FORTIFY_SOURCE asks for (its checks end the program). */
RH_INTERCEPT int rh_print(char *buffer, size_t size, int flag, const char *format, va_list arguments)
{
	if (flag == RH_UNCHECKED)
		return vsnprintf(buffer, size, format, arguments);
	return __vsnprintf_chk(buffer, size, flag, size, format, arguments);
}

/* Formats into a new block. Returns what vasprintf does and leaves *result alone on failure. errno is the caller's in each pass, because
 * of %m. */
static __attribute__((noinline, unused)) int rh_format(char **result, int flag, const char *format, va_list arguments)
{
	char buffer[RH_PRINT_BUFFER], *block;
	int length, saved = errno;
	va_list again;
	size_t size;

	va_copy(again, arguments);
	length = rh_print(buffer, sizeof buffer, flag, format, again);
	va_end(again);
	for (;;) {
		if (length < 0)
			return length;
		size = (size_t)length + 1;
		block = rh_backend_malloc(size);
		if (!block)
			return -1;
		if (size <= sizeof buffer) {
			memcpy(block, buffer, size);
			break;
		}
		va_copy(again, arguments);
		errno = saved;
		length = rh_print(block, size, flag, format, again);
		va_end(again);
		if (length >= 0 && (size_t)length < size)
			break;
		rh_backend_free(block); /* an argument has grown between the passes */
	}
	*result = block;
	return length;
}

RH_INTERCEPT int rh_intercept_vasprintf(char **result, int flag, const char *format, va_list arguments, enum rh_call call)
{
	int length = rh_format(result, flag, format, arguments);

	if (length >= 0)
		rh_record_here(*result, (size_t)length + 1, call);
	return length;
}

/* ---- lines ---- */

/* Whether the C library's own calls go through us: only where it is part of the program, which then has no loader (getauxval(3): AT_BASE). Elsewhere
 * nothing is noted: a getline that is left by a jump would leave its note behind. */
RH_INTERCEPT bool rh_libc_is_wrapped(void)
{
#if defined(PIC)
	return false;
#else
	return getauxval(AT_BASE) == 0;
#endif
}

/* The C library's getdelim reallocates *line inside itself. It is given a block to begin with, as it would make one, so that what it did
 * is known from the pointer and the size afterwards: one row, or none when the block did not change. */
RH_INTERCEPT ssize_t rh_intercept_getdelim(char **line, size_t *size, int delimiter, FILE *stream, enum rh_call call,
					   ssize_t (*real)(char **, size_t *, int, FILE *))
{
	struct rh_outer outer;
	void *old;
	size_t old_size;
	uint64_t begin;
	ssize_t length;
	struct rh_frame caller;
	bool created = false;

	if (!rh_tracking() || !line || !size || ferror(stream)) /* with ferror it fails before it looks at the block */
		return real(line, size, delimiter, stream);
	if (!*line || !*size) {
		*size = RH_LINE_BUFFER;
		*line = rh_backend_malloc(RH_LINE_BUFFER);
		if (!*line)
			return -1;
		created = true;
	}
	old = *line;
	old_size = *size;
	outer = rh_outer;
	if (rh_libc_is_wrapped()) {
		rh_outer.buffer = old;
		rh_outer.buffer_frame = (uintptr_t)__builtin_frame_address(0);
	}
	begin = rh_event_realloc_begin();
	length = real(line, size, delimiter, stream);
	rh_outer.buffer = outer.buffer;
	rh_outer.buffer_frame = outer.buffer_frame;
	caller = RH_CALLER();
	if (created)
		rh_event_alloc(*line, *size, call, &caller);
	else if (*line != old || *size != old_size)
		rh_event_realloc(old, *line, *size, call, begin, &caller);
	return length;
}

/* ---- paths ---- */

/* A result of the C library's that had to be its own block. */
RH_INTERCEPT char *rh_record_string(char *block, enum rh_call call)
{
	return block ? rh_record_here(block, strlen(block) + 1, call) : NULL;
}

/* real: resolves a path into a buffer of PATH_MAX bytes, or into a block when that is NULL. */
RH_INTERCEPT char *rh_intercept_realpath(const char *path, enum rh_call call, char *(*real)(const char *, char *))
{
	char buffer[PATH_MAX], *result;
	uintptr_t before;
	size_t size;

	if (real(path, buffer)) {
		size = strlen(buffer) + 1;
		return rh_record_here(rh_copy(buffer, size), size, call);
	}
	if (errno != ENAMETOOLONG)
		return NULL;
	before = rh_outer_begin();
	result = real(path, NULL);
	rh_outer_end(before);
	return rh_record_string(result, call);
}

/* size 0: a block just long enough, else one of that size (getcwd(3), the extension for a NULL buffer). */
RH_INTERCEPT char *rh_intercept_getcwd(size_t size, char *(*real)(char *, size_t))
{
	char buffer[PATH_MAX], *result;
	uintptr_t before;

	if (size != 0) {
		result = rh_backend_malloc(size);
		if (result && !real(result, size)) {
			int saved = errno;

			rh_backend_free(result);
			errno = saved;
			return NULL;
		}
		return rh_record_here(result, size, RH_CALL_GETCWD);
	}
	if (real(buffer, sizeof buffer)) {
		size = strlen(buffer) + 1;
		return rh_record_here(rh_copy(buffer, size), size, RH_CALL_GETCWD);
	}
	before = rh_outer_begin();
	result = real(NULL, 0);
	rh_outer_end(before);
	return rh_record_string(result, RH_CALL_GETCWD);
}

#endif
