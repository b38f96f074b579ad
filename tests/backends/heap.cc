/* SPDX-License-Identifier: MIT
 *
 * heap DIRECTORY: says whose malloc the process has, and whether the blocks that the program, the C library and the C++ library make
 * are that allocator's. Each of the allocators is asked by its own function, where it is there. Everything is freed by the program's free. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <dlfcn.h>
#include <malloc.h>
#include <sys/types.h>

#include "program.h"

extern "C" {
/* gperftools/malloc_extension_c.h, mimalloc.h, jemalloc.h */
__attribute__((weak)) int MallocExtension_GetOwnership(const void *block);
__attribute__((weak)) bool mi_is_in_heap_region(const void *block);
__attribute__((weak)) int mallctl(const char *name, void *old, std::size_t *old_size, void *fresh, std::size_t fresh_size);
}

/* 1, 0, or -1 for nobody to ask. */
static int owned(void *block)
{
	if (MallocExtension_GetOwnership)
		return MallocExtension_GetOwnership(block) == 1;
	if (mi_is_in_heap_region)
		return mi_is_in_heap_region(block);
	if (mallctl) {
		unsigned arena;
		std::size_t size = sizeof arena;

		return mallctl("arenas.lookup", &arena, &size, &block, sizeof block) == 0;
	}
	return -1;
}

static void check(const char *origin, void *block)
{
	auto usable_size = reinterpret_cast<std::size_t (*)(void *)>(dlsym(RTLD_DEFAULT, "malloc_usable_size"));

	CHECK(block);
	std::printf("%s=%d\n", origin, owned(block));
	CHECK(malloc_usable_size(block) == usable_size(block));
}

static void all()
{
	char *text = nullptr, *line = nullptr;
	std::size_t size = 0;
	void *block = nullptr;
	std::FILE *stream;

	check("malloc", block = keep(std::malloc(100)));
	check("realloc", block = keep(std::realloc(block, 100000)));
	std::free(block);
	check("calloc", block = keep(std::calloc(10, 10)));
	std::free(block);
	CHECK(posix_memalign(&block, 256, 100) == 0);
	check("posix_memalign", block);
	std::free(block);
	check("aligned_alloc", block = keep(aligned_alloc(64, 128)));
	std::free(block);
	check("pvalloc", block = keep(pvalloc(100)));
	std::free(block);
	check("strdup", block = keep(strdup("some text")));
	std::free(block);
	stream = open_memstream(&text, &size);
	std::fputs("a text that the C library keeps", stream);
	std::fclose(stream);
	check("open_memstream", text);
	stream = fmemopen(text, size, "r");
	CHECK(getline(&line, &size, stream) > 0);
	std::fclose(stream);
	check("getline", line);
	std::free(line);
	std::free(text);
	check("new", block = keep(::operator new(100)));
	::operator delete(block);
	check("new_nothrow", block = keep(::operator new(100, std::nothrow)));
	::operator delete(block, std::nothrow);
	check("new_aligned", block = keep(::operator new(100, std::align_val_t(64))));
	::operator delete(block, std::align_val_t(64));
	std::string *string = new std::string(1000, 'x');
	check("string", &(*string)[0]);
	delete string;
}

int main(int argc, char **argv)
{
	Dl_info info;

	CHECK(argc == 2);
	all();
	track(argv[1], 0, 0);
	all();
	untrack();
	CHECK(dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info));
	std::printf("malloc: %s\n", info.dli_fname);
	return 0;
}
