/* SPDX-License-Identifier: MIT
 *
 * The file `rings`.
 */
#include "config.h"

#include "log/slab.h"

#include <sys/mman.h>

#include "log/directory.h"
#include "process/path.h"
#include "process/syscalls.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14, madvise(2) */
#endif

static struct rh_text rings_path(const char *directory, char *scratch)
{
	struct rh_text text = rh_text(scratch, RH_PATH_SCRATCH);

	rh_text_add(&text, directory);
	rh_text_add(&text, "/" RH_FILE_RINGS);
	return text;
}

static bool populate(void *start, size_t size, off_t offset, const char *directory, char *scratch)
{
	struct rh_text text;
	int fd, result;

	if (rh_sys_extra(SYS_madvise, start, size, MADV_POPULATE_WRITE) == 0)
		return true;
	if (errno != EINVAL)
		return false;
	/* An older kernel: reserve the blocks through the file system. */
	text = rings_path(directory, scratch);
	fd = text.full ? -1 : rh_sys_open(scratch, O_RDWR | O_NOFOLLOW, 0);
	if (fd < 0)
		return false;
	result = (int)rh_sys_extra(SYS_fallocate, fd, 0, offset, (off_t)size);
	rh_sys_close(fd);
	return result == 0;
}

int rh_slab_create(struct rh_slab_map *map, const char *directory, uint32_t slots, uint32_t slot_size)
{
	size_t size = RH_SLAB_HEADER_SIZE + (size_t)slots * slot_size;
	static char scratch[RH_PATH_SCRATCH]; /* one caller at a time */
	void *memory;
	int fd;

	rings_path(directory, scratch);
	fd = rh_sys_open(scratch, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return errno == ENOSPC || errno == EDQUOT ? RHEAPER_ERROR_NO_SPACE : RHEAPER_ERROR_DIRECTORY;
	fchmod(fd, 0600);
	if (ftruncate(fd, (off_t)size) < 0) {
		rh_sys_close(fd);
		return RHEAPER_ERROR_NO_SPACE;
	}
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	rh_sys_close(fd);
	if (memory == MAP_FAILED)
		return RHEAPER_ERROR_NO_MEMORY;
	if (!populate(memory, RH_SLAB_HEADER_SIZE, 0, directory, scratch)) {
		munmap(memory, size);
		return RHEAPER_ERROR_NO_SPACE;
	}
	map->slab = memory;
	map->size = size;
	map->slab->magic = RH_SLAB_MAGIC;
	map->slab->header_size = RH_SLAB_HEADER_SIZE;
	map->slab->version = RH_FORMAT_VERSION;
	map->slab->slot_size = slot_size;
	map->slab->slots = slots;
	return 0;
}

void rh_slab_unmap(struct rh_slab_map *map)
{
	if (map->slab)
		munmap(map->slab, map->size);
	map->slab = NULL;
}

struct rh_slab *rh_slab_unmap_slots(struct rh_slab_map *map)
{
	struct rh_slab *header = map->slab;

	munmap((char *)header + RH_SLAB_HEADER_SIZE, map->size - RH_SLAB_HEADER_SIZE);
	map->slab = NULL;
	return header;
}

bool rh_slab_populate(const struct rh_slab_map *map, uint32_t index, const char *directory, char *scratch)
{
	const struct rh_slab *slab = map->slab;
	size_t offset = slab->header_size + (size_t)index * slab->slot_size;

	return populate((char *)map->slab + offset, slab->slot_size, (off_t)offset, directory, scratch);
}
