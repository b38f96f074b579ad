/* SPDX-License-Identifier: MIT
 *
 * An independent count, to be preloaded: calls of allocating functions whose caller, by its return address, lies in the program itself,
 * between counter_on and counter_off; those that return a block, and the bytes asked for. counter_off prints a line for each function. It
 * knows nothing of Rheaper. Other functions that allocate are not here: a row of theirs has nothing to be equal to. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t size), *__libc_calloc(size_t count, size_t size), *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

enum function {
	MALLOC,
	CALLOC,
	REALLOC,
	REALLOCARRAY,
	POSIX_MEMALIGN,
	ALIGNED_ALLOC,
	MEMALIGN,
	STRDUP,
	STRNDUP,
	ASPRINTF,
	VASPRINTF,
	FUNCTIONS
};
static const char *const names[FUNCTIONS] = {"malloc",	 "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc",
					     "memalign", "strdup", "strndup", "asprintf",     "vasprintf"};

static int on;
static uintptr_t program_start, program_end;
static uint64_t calls[FUNCTIONS], bytes[FUNCTIONS];

#define FROM_PROGRAM() (on && (uintptr_t)__builtin_return_address(0) - program_start < program_end - program_start)

static void *count(int from_program, enum function function, void *block, size_t size)
{
	if (from_program && block) {
		__atomic_fetch_add(&calls[function], 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&bytes[function], size, __ATOMIC_RELAXED);
	}
	return block;
}

/* The program itself comes first (dl_iterate_phdr(3)). */
static int find_program(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size, (void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X)) {
			program_start = info->dlpi_addr + segment->p_vaddr;
			program_end = program_start + segment->p_memsz;
		}
	}
	return 1;
}

void counter_on(void)
{
	dl_iterate_phdr(find_program, NULL);
	on = 1;
}

void counter_off(void)
{
	on = 0;
	for (int i = 0; i < FUNCTIONS; i++)
		if (calls[i])
			dprintf(2, "counted %s %lu %lu\n", names[i], calls[i], bytes[i]);
}

void *malloc(size_t size)
{
	return count(FROM_PROGRAM(), MALLOC, __libc_malloc(size), size);
}

void *calloc(size_t number, size_t size)
{
	return count(FROM_PROGRAM(), CALLOC, __libc_calloc(number, size), number * size);
}

void *realloc(void *block, size_t size)
{
	return count(FROM_PROGRAM(), REALLOC, __libc_realloc(block, size), size);
}

void *reallocarray(void *block, size_t number, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(number, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return count(FROM_PROGRAM(), REALLOCARRAY, __libc_realloc(block, all), all);
}

int posix_memalign(void **result, size_t alignment, size_t size)
{
	void *block = count(FROM_PROGRAM(), POSIX_MEMALIGN, __libc_memalign(alignment, size), size);

	if (block)
		*result = block;
	return block ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return count(FROM_PROGRAM(), ALIGNED_ALLOC, __libc_memalign(alignment, size), size);
}

void *memalign(size_t alignment, size_t size)
{
	return count(FROM_PROGRAM(), MEMALIGN, __libc_memalign(alignment, size), size);
}

static char *copy(const char *text, size_t length)
{
	char *block = __libc_malloc(length + 1);

	if (block) {
		memcpy(block, text, length);
		block[length] = '\0';
	}
	return block;
}

char *strdup(const char *text)
{
	return count(FROM_PROGRAM(), STRDUP, copy(text, strlen(text)), strlen(text) + 1);
}

char *strndup(const char *text, size_t max)
{
	return count(FROM_PROGRAM(), STRNDUP, copy(text, strnlen(text, max)), strnlen(text, max) + 1);
}

static int print(char **result, const char *format, va_list arguments)
{
	int (*next)(char **, const char *, va_list);

	*(void **)&next = dlsym(RTLD_NEXT, "vasprintf");
	return next(result, format, arguments);
}

int vasprintf(char **result, const char *format, va_list arguments)
{
	int length = print(result, format, arguments);

	count(FROM_PROGRAM(), VASPRINTF, length >= 0 ? *result : NULL, (size_t)length + 1);
	return length;
}

int asprintf(char **result, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = print(result, format, arguments);
	va_end(arguments);
	count(FROM_PROGRAM(), ASPRINTF, length >= 0 ? *result : NULL, (size_t)length + 1);
	return length;
}

/* What _FORTIFY_SOURCE makes of them. */
int __vasprintf_chk(char **result, int flag, const char *format, va_list arguments)
{
	int length = print(result, format, arguments);

	(void)flag;
	count(FROM_PROGRAM(), VASPRINTF, length >= 0 ? *result : NULL, (size_t)length + 1);
	return length;
}

int __asprintf_chk(char **result, int flag, const char *format, ...)
{
	va_list arguments;
	int length;

	(void)flag;
	va_start(arguments, format);
	length = print(result, format, arguments);
	va_end(arguments);
	count(FROM_PROGRAM(), ASPRINTF, length >= 0 ? *result : NULL, (size_t)length + 1);
	return length;
}
