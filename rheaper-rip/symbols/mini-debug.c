/* SPDX-License-Identifier: MIT
 *
 * Uncompresses .gnu_debugdata into memory. Its length is the file's own word, so it is not believed beyond a bound.
 */
#include "config.h"

#include "symbols/mini-debug.h"

#ifdef HAVE_LZMA

#include <lzma.h>
#include <stdlib.h>

#define OUTPUT_MAX ((size_t)256 << 20)	  /* libxul's has 20 MB */
#define MEMORY_MAX ((uint64_t)128 << 20) /* what a stream may ask of the decoder: `xz -9` needs 65 MiB (xz(1)) */
#define GROWTH 4			  /* a first guess: symbols compress about so well */

/* NULL when it is no xz stream, not whole, or too large. The caller's. */
static unsigned char *uncompress(struct symbols_bytes packed, size_t *size)
{
	uint64_t memory = MEMORY_MAX;
	unsigned char *plain = NULL;

	for (size_t room = packed.size * GROWTH + 4096; room <= OUTPUT_MAX; room *= 2) {
		size_t from = 0;
		unsigned char *larger = realloc(plain, room);

		if (!larger)
			break;
		plain = larger;
		*size = 0;
		switch (lzma_stream_buffer_decode(&memory, 0, NULL, packed.at, &from, packed.size, plain, size, room)) {
		case LZMA_OK:
			return plain;
		case LZMA_BUF_ERROR: /* more room, please */
			continue;
		default:
			free(plain);
			return NULL;
		}
	}
	free(plain);
	return NULL;
}

struct symbols_elf *symbols_mini_debug(struct symbols_elf *module, const char **unread)
{
	struct symbols_bytes packed = symbols_elf_section(module, ".gnu_debugdata");
	struct symbols_elf *file = NULL;
	size_t size = 0;

	*unread = NULL;
	if (!packed.size)
		return NULL;
	unsigned char *plain = packed.size < OUTPUT_MAX / GROWTH ? uncompress(packed, &size) : NULL;

	if (!plain || symbols_elf_open_memory(module->path, plain, size, &file) != SYMBOLS_ELF_OK)
		*unread = "its .gnu_debugdata is damaged";
	return file;
}

#else

struct symbols_elf *symbols_mini_debug(struct symbols_elf *module, const char **unread)
{
	*unread = symbols_elf_section(module, ".gnu_debugdata").size ? "its .gnu_debugdata cannot be read without liblzma" : NULL;
	return NULL;
}

#endif
