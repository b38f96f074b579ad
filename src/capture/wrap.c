/* SPDX-License-Identifier: MIT
 *
 * The front-end of relinked programs: __wrap_NAME is what a program linked with --wrap=NAME calls for NAME. There is one for each name in
 * wrapped-functions.txt, here, but for tempnam.
 *
 * In the archive all of them are one member. It is in every program that is linked with the wrap flags (they name __wrap_malloc as
 * undefined), so that libraries which the linker reads after this archive find them too.
 */
#include "config.h"

#include <dlfcn.h>

#include "capture/arguments.h"
#include "capture/intercept-libc.h"
#include "capture/intercept.h"
#include "capture/wrap.h"
#include "process/modules.h"
#include "process/sandbox.h"
#include "tracker/start.h"

/* ---- the allocator ---- */

RH_WRAPPER void *__wrap_malloc(size_t size)
{
	return rh_intercept_malloc(size);
}

RH_WRAPPER void *__wrap_calloc(size_t count, size_t size)
{
	return rh_intercept_calloc(count, size);
}

RH_WRAPPER void *__wrap_realloc(void *block, size_t size)
{
	return rh_intercept_realloc(block, size);
}

RH_WRAPPER void *__wrap_reallocarray(void *block, size_t count, size_t size)
{
	return rh_intercept_reallocarray(block, count, size);
}

RH_WRAPPER void __wrap_free(void *block)
{
	rh_intercept_free(block);
}

RH_WRAPPER int __wrap_posix_memalign(void **result, size_t alignment, size_t size)
{
	return rh_intercept_posix_memalign(result, alignment, size);
}

RH_WRAPPER void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return rh_intercept_aligned_alloc(alignment, size);
}

RH_WRAPPER void *__wrap_memalign(size_t alignment, size_t size)
{
	return rh_intercept_memalign(alignment, size);
}

RH_WRAPPER void *__wrap_valloc(size_t size)
{
	return rh_intercept_valloc(size);
}

RH_WRAPPER void *__wrap_pvalloc(size_t size)
{
	return rh_intercept_pvalloc(size);
}

RH_WRAPPER size_t __wrap_malloc_usable_size(void *block)
{
	return rh_backend_usable_size(block);
}

/* C23, 7.24.3.4 and 7.24.3.5: as free, with a promise about the size. Before glibc 2.41 only the program itself may have them. */
extern void RH_LIBC(free_sized)(void *block, size_t size) __attribute__((weak));
extern void RH_LIBC(free_aligned_sized)(void *block, size_t alignment, size_t size) __attribute__((weak));

RH_WRAPPER void __wrap_free_sized(void *block, size_t size)
{
	if (rh_backend_is_own() || !RH_LIBC(free_sized)) {
		rh_intercept_free(block);
		return;
	}
	if (rh_tracking() && block)
		rh_event_free(block, RH_FREE_FREE);
	RH_LIBC(free_sized)(block, size);
}

RH_WRAPPER void __wrap_free_aligned_sized(void *block, size_t alignment, size_t size)
{
	if (rh_backend_is_own() || !RH_LIBC(free_aligned_sized)) {
		rh_intercept_free(block);
		return;
	}
	if (rh_tracking() && block)
		rh_event_free(block, RH_FREE_FREE);
	RH_LIBC(free_aligned_sized)(block, alignment, size);
}

/* ---- strings ---- */

RH_WRAPPER char *__wrap_strdup(const char *string)
{
	return rh_intercept_strdup(string);
}

RH_WRAPPER char *__wrap___strdup(const char *string)
{
	return rh_intercept_strdup(string);
}

RH_WRAPPER char *__wrap_strndup(const char *string, size_t max)
{
	return rh_intercept_strndup(string, max);
}

RH_WRAPPER char *__wrap___strndup(const char *string, size_t max)
{
	return rh_intercept_strndup(string, max);
}

RH_WRAPPER wchar_t *__wrap_wcsdup(const wchar_t *string)
{
	return rh_intercept_wcsdup(string);
}

/* ---- formatted text ---- */

RH_WRAPPER int __wrap_vasprintf(char **result, const char *format, va_list arguments)
{
	return rh_intercept_vasprintf(result, RH_UNCHECKED, format, arguments, RH_CALL_VASPRINTF);
}

RH_WRAPPER int __wrap___vasprintf_chk(char **result, int flag, const char *format, va_list arguments)
{
	return rh_intercept_vasprintf(result, flag, format, arguments, RH_CALL_VASPRINTF);
}

RH_WRAPPER int __wrap_asprintf(char **result, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = rh_intercept_vasprintf(result, RH_UNCHECKED, format, arguments, RH_CALL_ASPRINTF);
	va_end(arguments);
	return length;
}

RH_WRAPPER int __wrap___asprintf_chk(char **result, int flag, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = rh_intercept_vasprintf(result, flag, format, arguments, RH_CALL_ASPRINTF);
	va_end(arguments);
	return length;
}

/* ---- lines ---- */

RH_LIBC_DECLARE(getdelim);

/* getdelim for a program's own allocator, whose blocks a shared C library must not reallocate: the line is read into a block of the
 * C library's and copied. */
static ssize_t own_getdelim(char **line, size_t *size, int delimiter, FILE *stream)
{
	char *text = NULL, *block;
	size_t room = 0, wanted;
	uintptr_t before;
	ssize_t length;
	int saved;

	if (!line || !size)
		return RH_LIBC(getdelim)(line, size, delimiter, stream);
	before = rh_outer_begin();
	length = RH_LIBC(getdelim)(&text, &room, delimiter, stream);
	rh_outer_end(before);
	saved = errno;
	wanted = length < 0 ? 1 : (size_t)length + 1;
	if (!*line || *size < wanted) {
		if (wanted < RH_LINE_BUFFER)
			wanted = RH_LINE_BUFFER;
		block = rh_backend_realloc(*line, wanted);
		if (block) {
			*line = block;
			*size = wanted;
		} else {
			length = -1;
			saved = ENOMEM;
		}
	}
	if (length >= 0)
		memcpy(*line, text, (size_t)length + 1);
	rh_backend_free(text); /* it knows the C library's blocks too (rheaper.h) */
	errno = saved;
	return length;
}

#define REAL_GETDELIM (rh_backend_is_own() ? own_getdelim : RH_LIBC(getdelim))

RH_WRAPPER ssize_t __wrap_getdelim(char **line, size_t *size, int delimiter, FILE *stream)
{
	return rh_intercept_getdelim(line, size, delimiter, stream, RH_CALL_GETDELIM, REAL_GETDELIM);
}

/* What getline is by itself in glibc's headers where they inline it. */
RH_WRAPPER ssize_t __wrap___getdelim(char **line, size_t *size, int delimiter, FILE *stream)
{
	return rh_intercept_getdelim(line, size, delimiter, stream, delimiter == '\n' ? RH_CALL_GETLINE : RH_CALL_GETDELIM, REAL_GETDELIM);
}

RH_WRAPPER ssize_t __wrap_getline(char **line, size_t *size, FILE *stream)
{
	return rh_intercept_getdelim(line, size, '\n', stream, RH_CALL_GETLINE, REAL_GETDELIM);
}

/* ---- paths ---- */

extern char *__realpath_chk(const char *path, char *result, size_t size);
extern char *__getcwd_chk(char *result, size_t size, size_t room);
RH_LIBC_DECLARE(realpath);
RH_LIBC_DECLARE(getcwd);
RH_LIBC_DECLARE(__realpath_chk);
RH_LIBC_DECLARE(__getcwd_chk);
RH_LIBC_DECLARE(get_current_dir_name);

RH_WRAPPER char *__wrap_realpath(const char *path, char *result)
{
	if (result || !rh_tracking())
		return RH_LIBC(realpath)(path, result);
	return rh_intercept_realpath(path, RH_CALL_REALPATH, RH_LIBC(realpath));
}

RH_WRAPPER char *__wrap___realpath_chk(const char *path, char *result, size_t size)
{
	if (result || size < PATH_MAX || !rh_tracking())
		return RH_LIBC(__realpath_chk)(path, result, size);
	return rh_intercept_realpath(path, RH_CALL_REALPATH, RH_LIBC(realpath));
}

RH_WRAPPER char *__wrap_canonicalize_file_name(const char *path)
{
	if (!rh_tracking())
		return RH_LIBC(realpath)(path, NULL);
	return rh_intercept_realpath(path, RH_CALL_OTHER, RH_LIBC(realpath));
}

RH_WRAPPER char *__wrap_getcwd(char *result, size_t size)
{
	if (result || !rh_tracking())
		return RH_LIBC(getcwd)(result, size);
	return rh_intercept_getcwd(size, RH_LIBC(getcwd));
}

RH_WRAPPER char *__wrap___getcwd_chk(char *result, size_t size, size_t room)
{
	if (result || size > room || !rh_tracking())
		return RH_LIBC(__getcwd_chk)(result, size, room);
	return rh_intercept_getcwd(size, RH_LIBC(getcwd));
}

RH_WRAPPER char *__wrap_get_current_dir_name(void)
{
	uintptr_t before;
	char *result;

	if (!rh_tracking())
		return RH_LIBC(get_current_dir_name)();
	before = rh_outer_begin();
	result = RH_LIBC(get_current_dir_name)();
	rh_outer_end(before);
	return rh_record_string(result, RH_CALL_OTHER);
}

/* ---- code that goes away ---- */

RH_LIBC_DECLARE(dlclose);

RH_WRAPPER int __wrap_dlclose(void *handle)
{
	int result;

	rh_modules_changing();
	result = RH_LIBC(dlclose)(handle);
	rh_modules_changed();
	return result;
}

/* ---- children whose handlers nobody runs ---- */

#if __GLIBC_PREREQ(2, 34)
extern __typeof__(_Fork) RH_LIBC(_Fork);

RH_WRAPPER pid_t __wrap__Fork(void)
{
	pid_t child = RH_LIBC(_Fork)();

	if (child == 0)
		rh_forked();
	return child;
}
#else
RH_WRAPPER pid_t __wrap__Fork(void) /* nobody calls it: there is none */
{
	return fork();
}
#endif

/* ---- processes that end in a hurry ---- */

extern _Noreturn __typeof__(_exit) RH_LIBC(_exit);
extern _Noreturn __typeof__(_Exit) RH_LIBC(_Exit);
extern _Noreturn __typeof__(quick_exit) RH_LIBC(quick_exit);

RH_WRAPPER _Noreturn void __wrap__exit(int status)
{
	rh_note_exit();
	RH_LIBC(_exit)(status);
}

RH_WRAPPER _Noreturn void __wrap__Exit(int status)
{
	rh_note_exit();
	RH_LIBC(_Exit)(status);
}

/* Its handlers may still allocate, and are recorded. */
RH_WRAPPER _Noreturn void __wrap_quick_exit(int status)
{
	rh_note_exit();
	RH_LIBC(quick_exit)(status);
}

/* ---- processes that lock themselves up ---- */

extern int RH_LIBC(prctl)(int option, ...);
extern long RH_LIBC(syscall)(long number, ...);

RH_WRAPPER int __wrap_prctl(int option, ...)
{
	struct rh_arguments all;

	RH_ARGUMENTS_AFTER(option, all);
	rh_sandbox_prctl(option, (unsigned long)all.a);
	return RH_LIBC(prctl)(option, all.a, all.b, all.c, all.d);
}

RH_WRAPPER long __wrap_syscall(long number, ...)
{
	struct rh_arguments all;

	RH_ARGUMENTS_AFTER(number, all);
	rh_sandbox_syscall(number, all.a, all.b);
	return RH_LIBC(syscall)(number, all.a, all.b, all.c, all.d, all.e, all.f);
}
