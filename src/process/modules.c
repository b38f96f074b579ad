/* SPDX-License-Identifier: MIT
 *
 * Which files are mapped as code.
 */
#include "config.h"

#include "process/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "log/format.h"
#include "process/path.h"
#include "process/syscalls.h"
#include "tracker/clock.h"
#include "tracker/session.h"
#include "tracker/tracker.h"

/* Declared weak: a library built here must still load where glibc is older. */
#ifdef DLFO_STRUCT_HAS_EH_DBASE
#pragma weak _dl_find_object
#endif

struct known {
	struct rh_module module;
	const void *identity; /* link map, to tell a module from its successor at the same address; NULL: not checked */
	bool live;
};

/* The list, and the lock that guards it: taken by trying only, so that a signal handler never waits for the thread that it interrupted. It is
 * held while records are written, inside an entered tracker; nothing is waited for under it. */
static struct {
	uint32_t lock;
	size_t count, capacity;
	struct known *list;
	char *names; /* what is left of the present block of path memory */
	size_t names_left;
	char scratch[PATH_MAX];
} modules;

#define NAMES_BLOCK (64 * 1024)

/* The smallest page there is. */
#define PAGE 4096u

static bool try_lock(void)
{
	return __atomic_exchange_n(&modules.lock, 1, __ATOMIC_ACQUIRE) == 0;
}

static void unlock(void)
{
	__atomic_store_n(&modules.lock, 0, __ATOMIC_RELEASE);
}

static void *pages(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Path memory is never given back: the set of paths that a program maps is bounded, and gone modules are found again by path. */
static const char *keep_name(const char *name, size_t size)
{
	char *kept;

	if (modules.names_left < size) {
		modules.names = pages(NAMES_BLOCK);
		modules.names_left = modules.names ? NAMES_BLOCK : 0;
		if (!modules.names)
			return NULL;
	}
	kept = modules.names;
	memcpy(kept, name, size);
	modules.names += size;
	modules.names_left -= size;
	return kept;
}

static bool grow(void)
{
	size_t capacity = modules.capacity ? modules.capacity * 2 : 64;
	struct known *list = pages(capacity * sizeof *list);

	if (!list)
		return false;
	if (modules.list) {
		memcpy(list, modules.list, modules.count * sizeof *list);
		munmap(modules.list, modules.capacity * sizeof *list);
	}
	modules.list = list;
	modules.capacity = capacity;
	return true;
}

/* Is [from, to) part of a segment that is mapped readable? */
static bool is_loaded(const struct rh_module *module, const ElfW(Phdr) *segments, size_t count, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t start = module->base + segments[i].p_vaddr;

		if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_R && from >= start && to >= from &&
		    to <= start + segments[i].p_filesz)
			return true;
	}
	return false;
}

/* The build id among a module's notes (ELF gABI, "Note Section"; binutils, NT_GNU_BUILD_ID). The notes are mapped: they lie in a PT_LOAD. */
static void read_build_id(struct rh_module *module, const ElfW(Phdr) *segments, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *p, *end;

		if (segments[i].p_type != PT_NOTE)
			continue;
		p = (const char *)(module->base + segments[i].p_vaddr);
		end = p + segments[i].p_memsz;
		if (!is_loaded(module, segments, count, (uint64_t)p, (uint64_t)end))
			continue;
		while ((size_t)(end - p) >= sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const void *)p;
			size_t name = (note->n_namesz + 3u) & ~(size_t)3, content = (note->n_descsz + 3u) & ~(size_t)3;
			const char *id = p + sizeof *note + name;

			if (name + content > (size_t)(end - p) - sizeof *note)
				break;
			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(p + sizeof *note, "GNU", 4) == 0 &&
			    note->n_descsz <= RH_BUILD_ID_MAX) {
				memcpy(module->build_id, id, note->n_descsz);
				module->build_id_size = note->n_descsz;
				return;
			}
			p = id + content;
		}
	}
}

/* A name as the loader has it, made one that says which file: the program itself has none, and dlopen may have been given a relative one. */
static const char *full_path(const char *name, uint64_t start)
{
	struct rh_text text = rh_text(modules.scratch, sizeof modules.scratch);
	ssize_t n;

	if (start == getauxval(AT_SYSINFO_EHDR))
		return "[vdso]";
	if (!name || !*name) {
		n = rh_sys_extra(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", modules.scratch, sizeof modules.scratch - 1);
		if (n <= 0)
			return (const char *)getauxval(AT_EXECFN);
		modules.scratch[n] = '\0';
		return modules.scratch;
	}
	if (*name == '/' || !strchr(name, '/'))
		return name;
	if (rh_sys_extra(SYS_getcwd, modules.scratch, sizeof modules.scratch) <= 0 || *modules.scratch != '/')
		return name;
	text.length = strlen(modules.scratch);
	rh_text_add(&text, "/");
	rh_text_add(&text, name);
	return modules.scratch;
}

/* Adds a module that is not live in the list, under the lock. NULL when memory is out. */
static struct known *add(uint64_t base, uint64_t start, uint64_t end, const char *name, const void *identity,
			 const ElfW(Phdr) *segments, size_t segment_count)
{
	struct known *entry = NULL;
	struct rh_module module = {.base = base, .start = start, .end = end};
	const char *path = full_path(name, start);

	module.path_size = (uint32_t)strlen(path ? path : "");
	read_build_id(&module, segments, segment_count);
	for (size_t i = 0; i < modules.count && !entry; i++) {
		struct known *dead = &modules.list[i];

		if (!dead->live && dead->module.path_size == module.path_size &&
		    memcmp(dead->module.path, path, module.path_size) == 0)
			entry = dead;
	}
	if (entry) {
		module.path = entry->module.path;
	} else {
		module.path = module.path_size ? keep_name(path, module.path_size) : "";
		if (!module.path || (modules.count == modules.capacity && !grow()))
			return NULL;
		entry = &modules.list[modules.count++];
	}
	entry->module = module;
	entry->identity = identity;
	entry->live = true;
	return entry;
}

static void extent(const ElfW(Phdr) *segments, size_t count, uint64_t base, uint64_t *start, uint64_t *end)
{
	*start = UINT64_MAX;
	*end = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t from = base + (segments[i].p_vaddr & ~UINT64_C(4095)), to = base + segments[i].p_vaddr + segments[i].p_memsz;

		if (segments[i].p_type != PT_LOAD)
			continue;
		if (from < *start)
			*start = from;
		if (to > *end)
			*end = to;
	}
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
static const void *identity_at(uint64_t address)
{
	struct dl_find_object found;

	if (!_dl_find_object || _dl_find_object((void *)address, &found) != 0)
		return NULL;
	return found.dlfo_link_map;
}
#else
static const void *identity_at(uint64_t address)
{
	(void)address;
	return NULL;
}
#endif

static int snapshot(struct dl_phdr_info *info, size_t size, void *unused)
{
	uint64_t start, end;

	(void)size;
	(void)unused;
	extent(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, &start, &end);
	if (start < end)
		add(info->dlpi_addr, start, end, info->dlpi_name, identity_at(start), info->dlpi_phdr, info->dlpi_phnum);
	return 0;
}

void rh_modules_begin(bool inherited)
{
	if (inherited) /* of whoever held it in the parent there is no trace here */
		modules.lock = 0;
	while (!try_lock()) /* a recording of the last session is just leaving */
		rh_sys_sleep(1000);
	if (inherited) {
		for (size_t i = 0; i < modules.count; i++)
			if (modules.list[i].identity && identity_at(modules.list[i].module.start) != modules.list[i].identity)
				modules.list[i].live = false;
		unlock();
		return;
	}
	for (size_t i = 0; i < modules.count; i++)
		modules.list[i].live = false;
	dl_iterate_phdr(snapshot, NULL);
	unlock();
}

/* Marks modules that are gone and records that. The lock is held. */
static bool drop_gone(struct rh_tracker *tracker, uint64_t time)
{
	bool gone = false;

	for (size_t i = 0; i < modules.count; i++) {
		struct known *entry = &modules.list[i];

		if (entry->live && entry->identity && identity_at(entry->module.start) != entry->identity) {
			entry->live = false;
			gone = true;
			rh_tracker_unload(tracker, entry->module.start, time);
		}
	}
	if (gone)
		rh_unwind_forget();
	return gone;
}

static bool is_known(uint64_t pc)
{
	for (size_t i = 0; i < modules.count; i++)
		if (modules.list[i].live && pc >= modules.list[i].module.start && pc < modules.list[i].module.end)
			return true;
	return false;
}

/* Takes up the module around a pc that no known one covers. The pc is on this thread's stack, so its module stays while we look. */
static bool discover(struct rh_tracker *tracker, uint64_t pc, uint64_t time)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
	struct dl_find_object found;
	const ElfW(Ehdr) *header;
	struct known *entry;

	if (!_dl_find_object || _dl_find_object((void *)pc, &found) != 0 || !found.dlfo_link_map)
		return false;
	header = found.dlfo_map_start;
	/* Only the first page is known to be mapped. Where it does not hold the program headers we do without the build id. */
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff > PAGE ||
	    header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > PAGE)
		header = NULL;
	entry = add(found.dlfo_link_map->l_addr, (uint64_t)found.dlfo_map_start, (uint64_t)found.dlfo_map_end,
		    found.dlfo_link_map->l_name, found.dlfo_link_map,
		    header ? (const void *)((const char *)header + header->e_phoff) : NULL, header ? header->e_phnum : 0);
	if (entry)
		rh_tracker_module(tracker, &entry->module, time);
	return entry != NULL;
#else
	(void)tracker;
	(void)pc;
	(void)time;
	return false;
#endif
}

bool rh_modules_check(struct rh_tracker *tracker, const uint64_t *pcs, unsigned count, uint64_t time, bool *done)
{
	uint64_t all = RH_SIGNALS_THAT_WAIT, mask;
	bool gone, come = false;

	*done = false;
	rh_sys_sigmask(SIG_BLOCK, &all, &mask); /* a handler that jumps out would leave the lock taken */
	if (!try_lock())
		goto out;
	*done = true;
	gone = drop_gone(tracker, time);
	for (unsigned i = 0; i < count; i++) {
		uint64_t pc = pcs[i] & ~RH_PC_EXACT;

		if (!is_known(pc))
			come |= discover(tracker, pc, time);
	}
	if (come) /* the unwinder may have learnt that there was nothing at these addresses */
		rh_unwind_forget();
	if (tracker->modules_due) {
		tracker->modules_due = false;
		for (size_t i = 0; i < modules.count; i++)
			if (modules.list[i].live)
				rh_tracker_module(tracker, &modules.list[i].module, time);
	}
	unlock();
	come |= gone;
out:
	rh_sys_sigmask(SIG_SETMASK, &mask, NULL);
	return come;
}

void rh_modules_changed(void)
{
	uint32_t number = __atomic_load_n(&rh_gate.session, __ATOMIC_RELAXED);
	struct rh_entry entry;
	bool done;
	int saved = errno;

	rh_unwind_forget();
	if (number <= RH_GATE_OFF)
		return;
	entry = rh_seat_enter(number, (uintptr_t)__builtin_frame_address(0), true);
	if (entry.tracker)
		rh_modules_check(entry.tracker, NULL, 0, rh_clock_now(), &done);
	rh_seat_leave(&entry);
	errno = saved;
}
