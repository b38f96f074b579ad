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
	uint64_t name;        /* hash of the loader's name of it: a link map often lies where the last one was */
	bool live;
};

/* The list, and the lock that guards it. Whoever holds it has signals blocked, so a handler never waits for the thread that it interrupted;
 * where signals cannot be blocked, it does not wait for ever. It is held while records are written, inside an entered tracker; nothing is
 * waited for under it. Changes are stamped under it: their times have their order. */
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

/* Looks at the lock before an event goes without: far more than the work under it takes, unless its holder is kept from running. */
#define LOCK_TRIES 10000

static bool try_lock(void)
{
	return __atomic_load_n(&modules.lock, __ATOMIC_RELAXED) == 0 && __atomic_exchange_n(&modules.lock, 1, __ATOMIC_ACQUIRE) == 0;
}

static bool lock_patiently(void)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (try_lock())
			return true;
		rh_sys_extra(SYS_sched_yield);
	}
	return false;
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

/* FNV-1a (Fowler, Noll, Vo), 64 bits. */
static uint64_t hash_name(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; name && *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return hash;
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
	entry->name = hash_name(name);
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
		rh_unwind_trust(true);
		unlock();
		return;
	}
	for (size_t i = 0; i < modules.count; i++)
		modules.list[i].live = false;
	dl_iterate_phdr(snapshot, NULL);
	unlock();
}

static void drop(struct rh_tracker *tracker, struct known *entry, uint64_t time)
{
	entry->live = false;
	rh_tracker_unload(tracker, entry->module.start, time);
}

/* Marks modules that are gone and records that. The lock is held. A successor at the same address with the same link map is not noticed
 * here: what a link map holds must not be read while its module may be on its way out (is_still). */
static bool drop_gone(struct rh_tracker *tracker, uint64_t time)
{
	bool gone = false;

	for (size_t i = 0; i < modules.count; i++) {
		struct known *entry = &modules.list[i];

		if (entry->live && entry->identity && identity_at(entry->module.start) != entry->identity) {
			drop(tracker, entry, time);
			gone = true;
		}
	}
	return gone;
}

static struct known *known_at(uint64_t pc)
{
	for (size_t i = 0; i < modules.count; i++)
		if (modules.list[i].live && pc >= modules.list[i].module.start && pc < modules.list[i].module.end)
			return &modules.list[i];
	return NULL;
}

/* For both of the following the pc is on this thread's stack, so what lies around it stays while we look. */

#ifdef DLFO_STRUCT_HAS_EH_DBASE
/* A module's program headers. Only its first page is known to be mapped: where that does not hold them there are none. */
static const ElfW(Phdr) *segments_of(const struct dl_find_object *found, size_t *count)
{
	const ElfW(Ehdr) *header = found->dlfo_map_start;

	*count = 0;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff > PAGE ||
	    header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > PAGE)
		return NULL;
	*count = header->e_phnum;
	return (const void *)((const char *)header + header->e_phoff);
}

/* Is what lies around this pc the module that is known there, and not one that has taken its place? */
static bool is_still(const struct known *entry, uint64_t pc)
{
	struct rh_module present = entry->module;
	const ElfW(Phdr) *segments;
	struct dl_find_object found;
	size_t count;

	if (!entry->identity)
		return true;
	if (_dl_find_object((void *)pc, &found) != 0 || found.dlfo_link_map != entry->identity ||
	    (uint64_t)found.dlfo_map_start != entry->module.start || hash_name(found.dlfo_link_map->l_name) != entry->name)
		return false;
	segments = segments_of(&found, &count);
	read_build_id(&present, segments, count);
	return memcmp(present.build_id, entry->module.build_id, sizeof present.build_id) == 0;
}

/* Takes up the module around a pc that no known one covers. */
static bool discover(struct rh_tracker *tracker, uint64_t pc, uint64_t time)
{
	const ElfW(Phdr) *segments;
	struct dl_find_object found;
	struct known *entry;
	size_t count;

	if (!_dl_find_object || _dl_find_object((void *)pc, &found) != 0 || !found.dlfo_link_map)
		return false;
	segments = segments_of(&found, &count);
	entry = add(found.dlfo_link_map->l_addr, (uint64_t)found.dlfo_map_start, (uint64_t)found.dlfo_map_end,
		    found.dlfo_link_map->l_name, found.dlfo_link_map, segments, count);
	if (entry)
		rh_tracker_module(tracker, &entry->module, time);
	return entry != NULL;
}
#else
static bool is_still(const struct known *entry, uint64_t pc)
{
	(void)entry;
	(void)pc;
	return true;
}

static bool discover(struct rh_tracker *tracker, uint64_t pc, uint64_t time)
{
	(void)tracker;
	(void)pc;
	(void)time;
	return false;
}
#endif

bool rh_modules_check(struct rh_tracker *tracker, const uint64_t *pcs, unsigned count, bool *done)
{
	uint64_t all = RH_SIGNALS_THAT_WAIT, mask, time;
	const struct known *last = NULL;
	bool changed = false;

	*done = false;
	rh_sys_sigmask(SIG_BLOCK, &all, &mask); /* a handler that jumps out would leave the lock taken */
	if (!lock_patiently())
		goto out;
	*done = true;
	time = rh_clock_now();
	changed = drop_gone(tracker, time);
	for (unsigned i = 0; i < count; i++) {
		uint64_t pc = pcs[i] & ~RH_PC_EXACT;
		struct known *entry = known_at(pc);

		if (entry && (entry == last || is_still(entry, pc))) {
			last = entry;
			continue;
		}
		if (entry) {
			drop(tracker, entry, time);
			changed = true;
		}
		changed |= discover(tracker, pc, time);
		last = NULL; /* the list may have moved */
	}
	if (changed) /* the unwinder may also have learnt that there was nothing at these addresses */
		rh_unwind_forget();
	if (tracker->modules_due) {
		tracker->modules_due = false;
		for (size_t i = 0; i < modules.count; i++)
			if (modules.list[i].live)
				rh_tracker_module(tracker, &modules.list[i].module, time);
	}
	unlock();
out:
	rh_sys_sigmask(SIG_SETMASK, &mask, NULL);
	return changed;
}

void rh_modules_changing(void)
{
	rh_unwind_doubt();
}

void rh_modules_changed(void)
{
	uint32_t number = __atomic_load_n(&rh_gate.session, __ATOMIC_RELAXED);
	struct rh_entry entry;
	bool done;
	int saved = errno;

	rh_unwind_trust(false);
	if (number <= RH_GATE_OFF)
		return;
	entry = rh_seat_enter(number, (uintptr_t)__builtin_frame_address(0), true);
	if (entry.tracker)
		rh_modules_check(entry.tracker, NULL, 0, &done);
	rh_seat_leave(&entry);
	errno = saved;
}
