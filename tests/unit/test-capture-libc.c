/* SPDX-License-Identifier: MIT
 *
 * The C library's functions that allocate for their caller, in a program that is linked with the wrap flags: one event each, and the same
 * results, errno and contents as the C library's own, which are called as __real_NAME.
 */
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include <cmocka.h>

#include "support/recording-tracker.h"

extern __typeof__(vasprintf) __real_vasprintf;
extern __typeof__(getdelim) __real_getdelim;
extern __typeof__(realpath) __real_realpath;
extern __typeof__(getcwd) __real_getcwd;
extern __typeof__(canonicalize_file_name) __real_canonicalize_file_name;
extern __typeof__(get_current_dir_name) __real_get_current_dir_name;
extern __typeof__(free) __real_free;
char *__realpath_chk(const char *path, char *result, size_t size);
char *__getcwd_chk(char *result, size_t size, size_t room);
int __asprintf_chk(char **result, int flag, const char *format, ...);

static void assert_one(enum recorded_kind kind, const void *block, size_t size, unsigned argument)
{
	recording_off();
	assert_int_equal(recorded_count, 1);
	assert_int_equal(recorded[0].kind, kind);
	assert_ptr_equal(recorded[0].block, block);
	assert_int_equal(recorded[0].size, size);
	assert_int_equal(recorded[0].argument, argument);
}

/* ---- strings ---- */

static void copies_of_strings(void **state)
{
	char *copy;
	wchar_t *wide;

	(void)state;
	recording_on();
	copy = strdup("some text");
	assert_one(RECORDED_ALLOC, copy, 10, RH_CALL_STRDUP);
	assert_string_equal(copy, "some text");
	free(copy);
	recording_on();
	copy = strdup("");
	assert_one(RECORDED_ALLOC, copy, 1, RH_CALL_STRDUP);
	assert_string_equal(copy, "");
	free(copy);
	recording_on();
	copy = strndup("some text", 4);
	assert_one(RECORDED_ALLOC, copy, 5, RH_CALL_STRNDUP);
	assert_string_equal(copy, "some");
	free(copy);
	recording_on();
	copy = strndup("some text", SIZE_MAX);
	assert_one(RECORDED_ALLOC, copy, 10, RH_CALL_STRNDUP);
	assert_string_equal(copy, "some text");
	free(copy);
	recording_on();
	wide = wcsdup(L"wide");
	assert_one(RECORDED_ALLOC, wide, 5 * sizeof(wchar_t), RH_CALL_WCSDUP);
	assert_true(wcscmp(wide, L"wide") == 0);
	free(wide);
}

static void strndup_reads_no_further_than_it_may(void **state)
{
	static const char unterminated[3] = {'a', 'b', 'c'};
	char *copy = strndup(unterminated, 3);

	(void)state;
	assert_string_equal(copy, "abc");
	free(copy);
}

/* ---- formatted text ---- */

static int print_theirs(char **result, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = __real_vasprintf(result, format, arguments);
	va_end(arguments);
	return length;
}

/* Formats with both; lengths and texts must agree, and one event says the length and the NUL. */
#define ASSERT_PRINTS_SAME(...)                                                            \
	do {                                                                               \
		char *ours = NULL, *theirs = NULL;                                         \
		int our_length, their_length;                                              \
                                                                                           \
		errno = ENOENT;                                                            \
		their_length = print_theirs(&theirs, __VA_ARGS__);                         \
		recording_on();                                                            \
		errno = ENOENT;                                                            \
		our_length = asprintf(&ours, __VA_ARGS__);                                 \
		assert_one(RECORDED_ALLOC, ours, (size_t)their_length + 1, RH_CALL_ASPRINTF); \
		assert_int_equal(our_length, their_length);                                \
		assert_string_equal(ours, theirs);                                         \
		free(ours);                                                                \
		__real_free(theirs);                                                       \
	} while (0)

static void texts_of_every_length(void **state)
{
	(void)state;
	ASSERT_PRINTS_SAME("%s", "");
	ASSERT_PRINTS_SAME("%d %s %g", 42, "text", 1.5);
	for (int width = 505; width < 520; width++)
		ASSERT_PRINTS_SAME("%*d", width, 7);
	ASSERT_PRINTS_SAME("%100000d", 7);
}

static void errno_in_a_text_is_the_callers(void **state)
{
	(void)state;
	ASSERT_PRINTS_SAME("%m");
	ASSERT_PRINTS_SAME("%1000d %m", 1);
}

static void a_text_that_cannot_be_made_leaves_the_pointer_alone(void **state)
{
	static const wchar_t impossible[] = {0x7fffffff, 0};
	char *ours = (char *)state, *theirs = (char *)state;
	int our_errno, their_errno;

	assert_int_equal(print_theirs(&theirs, "%ls", impossible), -1);
	their_errno = errno;
	recording_on();
	assert_int_equal(asprintf(&ours, "%ls", impossible), -1);
	our_errno = errno;
	recording_off();
	assert_int_equal(our_errno, their_errno);
	assert_ptr_equal(ours, theirs);
	assert_int_equal(recorded_count, 0);
}

static void a_checked_text_is_recorded_too(void **state)
{
	char *result;

	(void)state;
	recording_on();
	assert_int_equal(__asprintf_chk(&result, 1, "%600d", 1), 600);
	assert_one(RECORDED_ALLOC, result, 601, RH_CALL_ASPRINTF);
	free(result);
}

/* ---- lines ---- */

static char input[4096];

static FILE *open_input(const char *text)
{
	snprintf(input, sizeof input, "%s", text);
	return fmemopen(input, strlen(input), "r");
}

/* Reads a whole stream with both, from the same kind of block; each step's result, block size and text must agree. */
static void assert_reads_same(const char *text, size_t start)
{
	FILE *ours = open_input(text), *theirs = open_input(text);
	char *our_line = start ? malloc(start) : NULL, *their_line = start ? malloc(start) : NULL;
	size_t our_size = start, their_size = start;
	ssize_t our_length, their_length;

	do {
		errno = 0;
		their_length = __real_getdelim(&their_line, &their_size, '\n', theirs);
		recording_on();
		our_length = getline(&our_line, &our_size, ours);
		recording_off();
		assert_true(recorded_count <= 1);
		if (recorded_count) {
			assert_ptr_equal(recorded[0].block, our_line);
			assert_int_equal(recorded[0].size, our_size);
		}
		assert_int_equal(our_length, their_length);
		assert_int_equal(our_size, their_size);
		if (our_length >= 0)
			assert_memory_equal(our_line, their_line, (size_t)our_length + 1);
	} while (our_length >= 0);
	free(our_line);
	__real_free(their_line);
	fclose(ours);
	fclose(theirs);
}

static void lines_are_the_c_librarys(void **state)
{
	static char text[3000];

	(void)state;
	memset(text, 'x', sizeof text - 1);
	text[10] = text[200] = text[260] = text[1500] = '\n';
	for (size_t start = 0; start < 300; start += start < 2 ? 1 : 59) {
		assert_reads_same(text, start);
		assert_reads_same("one", start);
		assert_reads_same("one\n\ntwo\n", start);
	}
}

static void the_first_line_is_an_allocation_and_a_longer_one_a_realloc(void **state)
{
	char text[1200], *line = NULL;
	size_t size = 0;
	FILE *stream;

	(void)state;
	snprintf(text, sizeof text, "one\ntwo\n%1000d\n", 3);
	stream = open_input(text);
	recording_on();
	assert_int_equal(getline(&line, &size, stream), 4);
	assert_one(RECORDED_ALLOC, line, size, RH_CALL_GETLINE);
	recording_on();
	assert_int_equal(getline(&line, &size, stream), 4);
	recording_off();
	assert_int_equal(recorded_count, 0);
	recording_on();
	assert_int_equal(getdelim(&line, &size, '\n', stream), 1001);
	assert_one(RECORDED_REALLOC, line, size, RH_CALL_GETDELIM);
	free(line);
	fclose(stream);
}

static void a_line_that_does_not_come_still_leaves_its_block(void **state)
{
	FILE *stream = open_input("x");
	char *line = NULL;
	size_t size = 0;

	(void)state;
	getc(stream);
	recording_on();
	assert_int_equal(getline(&line, &size, stream), -1);
	assert_one(RECORDED_ALLOC, line, size, RH_CALL_GETLINE);
	free(line);
	fclose(stream);
}

static void a_line_of_a_failed_stream_allocates_nothing(void **state)
{
	FILE *stream = open_input("x");
	char *line = NULL, **volatile no_line = NULL;
	size_t size = 0;

	(void)state;
	fputc('x', stream); /* it is open for reading */
	assert_true(ferror(stream));
	recording_on();
	assert_int_equal(getline(&line, &size, stream), -1);
	assert_null(line);
	errno = 0;
	assert_int_equal(getdelim((char **)no_line, &size, ';', stream), -1);
	assert_int_equal(errno, EINVAL);
	recording_off();
	assert_int_equal(recorded_count, 0);
	fclose(stream);
}

/* ---- paths ---- */

/* One of a path's functions, asked of both. */
#define ASSERT_PATH_SAME(name, call, recorded_size, ...)                                                                  \
	do {                                                                                                              \
		char *ours, *theirs;                                                                                      \
		int our_errno, their_errno;                                                                               \
                                                                                                                          \
		errno = 0;                                                                                                \
		theirs = __real_##name(__VA_ARGS__);                                                                      \
		their_errno = errno;                                                                                      \
		recording_on();                                                                                           \
		errno = 0;                                                                                                \
		ours = name(__VA_ARGS__);                                                                                 \
		our_errno = errno;                                                                                        \
		recording_off();                                                                                          \
		assert_int_equal(ours == NULL, theirs == NULL);                                                           \
		if (ours) {                                                                                               \
			assert_string_equal(ours, theirs);                                                                \
			assert_one(RECORDED_ALLOC, ours, (recorded_size) ? (recorded_size) : strlen(ours) + 1, call);      \
		} else {                                                                                                  \
			assert_int_equal(our_errno, their_errno);                                                         \
			assert_int_equal(recorded_count, 0);                                                              \
		}                                                                                                         \
		free(ours);                                                                                               \
		__real_free(theirs);                                                                                      \
	} while (0)

static void assert_paths_same(void)
{
	static char too_long[300];
	const char *volatile no_path = NULL;

	memset(too_long, 'x', sizeof too_long - 1);
	ASSERT_PATH_SAME(realpath, RH_CALL_REALPATH, 0, ".", NULL);
	ASSERT_PATH_SAME(realpath, RH_CALL_REALPATH, 0, "/usr/../usr/./bin", NULL);
	ASSERT_PATH_SAME(realpath, RH_CALL_REALPATH, 0, "/does/not/exist", NULL);
	ASSERT_PATH_SAME(realpath, RH_CALL_REALPATH, 0, too_long, NULL);
	ASSERT_PATH_SAME(realpath, RH_CALL_REALPATH, 0, "", NULL);
	ASSERT_PATH_SAME(realpath, RH_CALL_REALPATH, 0, (const char *)no_path, NULL);
	ASSERT_PATH_SAME(canonicalize_file_name, RH_CALL_OTHER, 0, ".");
	ASSERT_PATH_SAME(canonicalize_file_name, RH_CALL_OTHER, 0, "/does/not/exist");
	ASSERT_PATH_SAME(get_current_dir_name, RH_CALL_OTHER, 0, );
	ASSERT_PATH_SAME(getcwd, RH_CALL_GETCWD, 0, NULL, 0);
	ASSERT_PATH_SAME(getcwd, RH_CALL_GETCWD, 1, NULL, 1);
	ASSERT_PATH_SAME(getcwd, RH_CALL_GETCWD, 10000, NULL, 10000);
	ASSERT_PATH_SAME(getcwd, RH_CALL_GETCWD, SIZE_MAX / 2, NULL, SIZE_MAX / 2);
}

static void paths_are_the_c_librarys(void **state)
{
	(void)state;
	assert_paths_same();
}

static void paths_longer_than_path_max(void **state)
{
	char home[] = "/tmp/test-capture-XXXXXX", name[201], *back = __real_getcwd(NULL, 0);
	int depth = 0;

	(void)state;
	memset(name, 'd', 200);
	name[200] = '\0';
	assert_non_null(mkdtemp(home));
	assert_int_equal(chdir(home), 0);
	for (; depth < 25; depth++) {
		assert_int_equal(mkdir(name, 0700), 0);
		assert_int_equal(chdir(name), 0);
	}
	assert_paths_same();
	for (; depth > 0; depth--) {
		assert_int_equal(chdir(".."), 0);
		assert_int_equal(rmdir(name), 0);
	}
	assert_int_equal(chdir(back), 0);
	assert_int_equal(rmdir(home), 0);
	__real_free(back);
}

static void a_path_into_the_callers_buffer_is_no_event(void **state)
{
	char buffer[8192];

	(void)state;
	recording_on();
	assert_ptr_equal(realpath(".", buffer), buffer);
	assert_ptr_equal(getcwd(buffer, sizeof buffer), buffer);
	assert_ptr_equal(__realpath_chk(".", buffer, sizeof buffer), buffer);
	assert_ptr_equal(__getcwd_chk(buffer, sizeof buffer, sizeof buffer), buffer);
	recording_off();
	assert_int_equal(recorded_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_of_strings),
		cmocka_unit_test(strndup_reads_no_further_than_it_may),
		cmocka_unit_test(texts_of_every_length),
		cmocka_unit_test(errno_in_a_text_is_the_callers),
		cmocka_unit_test(a_text_that_cannot_be_made_leaves_the_pointer_alone),
		cmocka_unit_test(a_checked_text_is_recorded_too),
		cmocka_unit_test(lines_are_the_c_librarys),
		cmocka_unit_test(the_first_line_is_an_allocation_and_a_longer_one_a_realloc),
		cmocka_unit_test(a_line_that_does_not_come_still_leaves_its_block),
		cmocka_unit_test(a_line_of_a_failed_stream_allocates_nothing),
		cmocka_unit_test(paths_are_the_c_librarys),
		cmocka_unit_test(paths_longer_than_path_max),
		cmocka_unit_test(a_path_into_the_callers_buffer_is_no_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
