/* SPDX-License-Identifier: MIT
 *
 * From a pc to the object that holds it.
 *
 * Three ways, the first that knows answers: what was noted at the start (the program and the vDSO stay for ever; in a static program there
 * is nothing else), _dl_find_object (lock-free, glibc 2.35), dl_iterate_phdr (takes the loader's lock, which the thread may already hold:
 * it is recursive).
 */
#include "unwind/find.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <sys/auxv.h>

/* Declared weak: a library built here must still load where glibc is older. */
#ifdef DLFO_STRUCT_HAS_EH_DBASE
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));
#endif

/* An object that stays, with the span of its code. */
struct resident {
	struct rh_object object;
	uintptr_t code_start;
	uintptr_t code_end;
};

#define RESIDENTS 2
static struct resident residents[RESIDENTS];
static unsigned resident_count; /* published last, with release order */

/* Spans of the object with these program headers. False when it has no .eh_frame_hdr. */
static bool describe(uintptr_t bias, const ElfW(Phdr) * phdr, unsigned count, struct resident *resident)
{
	uintptr_t start = UINTPTR_MAX, end = 0, code_start = UINTPTR_MAX, code_end = 0, header = 0;

	for (unsigned i = 0; i < count; i++) {
		uintptr_t from = bias + phdr[i].p_vaddr, to = from + phdr[i].p_memsz;

		if (phdr[i].p_type == PT_GNU_EH_FRAME)
			header = from;
		if (phdr[i].p_type != PT_LOAD)
			continue;
		if (from < start)
			start = from;
		if (to > end)
			end = to;
		if (!(phdr[i].p_flags & PF_X))
			continue;
		if (from < code_start)
			code_start = from;
		if (to > code_end)
			code_end = to;
	}
	resident->object = (struct rh_object){(const uint8_t *)start, (const uint8_t *)end, (const uint8_t *)header};
	resident->code_start = code_start;
	resident->code_end = code_end;
	return header != 0;
}

/* The first object that dl_iterate_phdr shows is the program. */
static int note_program(struct dl_phdr_info *info, size_t size, void *resident)
{
	(void)size;
	return describe(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, resident) ? 1 : -1;
}

static bool note_vdso(struct resident *resident)
{
	const ElfW(Ehdr) *elf = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Phdr) * phdr;

	if (!elf)
		return false;
	phdr = (const ElfW(Phdr) *)((uintptr_t)elf + elf->e_phoff);
	for (unsigned i = 0; i < elf->e_phnum; i++) {
		if (phdr[i].p_type == PT_LOAD)
			return describe((uintptr_t)elf - phdr[i].p_vaddr, phdr, elf->e_phnum, resident);
	}
	return false;
}

void rh_find_init(void)
{
	unsigned count = 0;

	if (__atomic_load_n(&resident_count, __ATOMIC_RELAXED))
		return;
	if (dl_iterate_phdr(note_program, &residents[count]) > 0)
		count++;
	if (note_vdso(&residents[count]))
		count++;
	__atomic_store_n(&resident_count, count, __ATOMIC_RELEASE);
}

struct search {
	uintptr_t pc;
	struct rh_object *object;
};

static int search_object(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct search *search = argument;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		struct resident found;

		if (phdr->p_type != PT_LOAD || search->pc - (info->dlpi_addr + phdr->p_vaddr) >= phdr->p_memsz)
			continue;
		describe(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, &found);
		*search->object = found.object;
		return 1;
	}
	return 0;
}

bool rh_find_object(uintptr_t pc, struct rh_object *object)
{
	unsigned count = __atomic_load_n(&resident_count, __ATOMIC_ACQUIRE);
	struct search search = {pc, object};

	for (unsigned i = 0; i < count; i++) {
		if (pc - residents[i].code_start < residents[i].code_end - residents[i].code_start) {
			*object = residents[i].object;
			return true;
		}
	}
	*object = (struct rh_object){NULL, NULL, NULL};
#ifdef DLFO_STRUCT_HAS_EH_DBASE
	if (_dl_find_object) {
		struct dl_find_object found;

		/* It knows every object of a dynamic program; of a static one nothing, and that has no other way to load code but dlopen.
		 */
		if (_dl_find_object((void *)pc, &found) == 0) {
			*object = (struct rh_object){found.dlfo_map_start, found.dlfo_map_end, found.dlfo_eh_frame};
			if (object->header)
				return true;
		} else if (count) {
			return false;
		}
	}
#endif
	return dl_iterate_phdr(search_object, &search) != 0 && object->header != NULL;
}
