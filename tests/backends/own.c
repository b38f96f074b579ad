/* SPDX-License-Identifier: MIT
 *
 * own DIRECTORY: a program with an allocator of its own, which hands what it does not know on to the process's malloc. Says how many
 * blocks it made. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>

#include "program.h"

/* ---- the allocator: a shelf of blocks, none used twice ---- */

#define SHELF ((size_t)64 << 20)
static char shelf[SHELF] __attribute__((aligned(4096)));
static size_t used;
static unsigned long made, ended;

static int ours(const void *block)
{
	return (uintptr_t)block - (uintptr_t)shelf < SHELF;
}

static size_t *size_of(void *block)
{
	return (size_t *)block - 1;
}

/* What the process's malloc is called, past the wrap flags; a static program has no other. */
static void *process(const char *name)
{
#if defined(STATIC)
	(void)name;
	_exit(97);
#else
	return dlsym(RTLD_DEFAULT, name);
#endif
}

static void *my_memalign(size_t alignment, size_t size)
{
	uintptr_t block;

	if (alignment < 16)
		alignment = 16;
	if (size > SHELF / 2) {
		errno = ENOMEM;
		return NULL;
	}
	block = (uintptr_t)shelf + __atomic_fetch_add(&used, size + 16 + alignment, __ATOMIC_RELAXED);
	block = (block + 16 + alignment - 1) & -alignment;
	CHECK(block + size <= (uintptr_t)shelf + SHELF);
	*size_of((void *)block) = size;
	__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
	return (void *)block;
}

static void *my_malloc(size_t size)
{
	return my_memalign(16, size);
}

static void *my_calloc(size_t count, size_t size)
{
	return size && count > SIZE_MAX / size ? (errno = ENOMEM, NULL) : my_malloc(count * size);
}

static void my_free(void *block)
{
	if (!block)
		return;
	if (ours(block)) {
		memset(block, 0xee, *size_of(block));
		__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
	} else {
		((void (*)(void *))process("free"))(block);
	}
}

static void *my_realloc(void *old, size_t size)
{
	void *block;

	if (old && !ours(old))
		return ((void *(*)(void *, size_t))process("realloc"))(old, size);
	block = my_malloc(size);
	if (block && old) {
		memcpy(block, old, size < *size_of(old) ? size : *size_of(old));
		my_free(old);
	}
	return block;
}

static size_t my_usable_size(void *block)
{
	if (!block)
		return 0;
	return ours(block) ? *size_of(block) : ((size_t (*)(void *))process("malloc_usable_size"))(block);
}

const struct rheaper_backend rheaper_backend = {my_malloc, my_calloc, my_realloc, my_free, my_memalign, my_usable_size};

/* ---- the program ---- */

static void use(void *block, size_t size)
{
	CHECK(ours(block));
	CHECK(malloc_usable_size(block) == size);
	free(block);
}

static void all(void)
{
	char *line = NULL, *text;
	void *block, *same = shelf;
	size_t size = 0;
	FILE *stream;

	use(keep(malloc(100)), 100);
	use(keep(calloc(3, 50)), 150);
	block = keep(malloc(100));
	use(keep(realloc(block, 5000)), 5000);
	use(keep(reallocarray(NULL, 7, 11)), 77);
	use(keep(memalign(64, 100)), 100);
	use(keep(aligned_alloc(64, 128)), 128);
	errno = 0;
	CHECK(!aligned_alloc(48, 96) && errno == EINVAL);
	CHECK(posix_memalign(&same, 24, 100) == EINVAL && same == shelf);
	CHECK(posix_memalign(&same, 256, SIZE_MAX) == ENOMEM && same == shelf);
	CHECK(posix_memalign(&block, 256, 100) == 0 && (uintptr_t)block % 256 == 0);
	use(block, 100);
	use(keep(strdup("seven")), 6);
	CHECK(asprintf(&text, "%d", 12345) == 5);
	use(text, 6);

	/* Lines of the C library's, in blocks of ours: short, longer than the block, end of file. */
	text = keep(malloc(4000));
	memset(text, 'a', 3999);
	text[100] = text[3998] = '\n';
	text[3999] = '\0';
	stream = fmemopen(text, 3999, "r");
	CHECK(stream);
	CHECK(getline(&line, &size, stream) == 101 && ours(line) && line[100] == '\n' && line[101] == '\0');
	CHECK(getline(&line, &size, stream) == 3898 && ours(line) && line[3897] == '\n' && line[3898] == '\0' && size >= 3899);
	CHECK(getline(&line, &size, stream) == -1 && feof(stream) && ours(line));
	fclose(stream);
	free(line);
	free(text);

#if !defined(STATIC)
	/* A block of the C library's. */
	size = 0;
	stream = open_memstream(&text, &size);
	fputs("a text of the C library's", stream);
	fclose(stream);
	CHECK(!ours(text) && malloc_usable_size(text) >= size);
	text = realloc(text, 10000);
	CHECK(text && !ours(text));
	free(text);
#endif
}

int main(int argc, char **argv)
{
	unsigned long start, between, left;

	CHECK(argc == 2);
	start = made;
	all();
	between = made;
	left = made - ended;
	track(argv[1], 0, 0);
	all();
	untrack();
	printf("off=%lu on=%lu left=%lu\n", between - start, made - between, made - ended - left);
	return 0;
}
