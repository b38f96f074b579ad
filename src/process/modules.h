/* SPDX-License-Identifier: MIT
 *
 * Which files are mapped as code, as far as the profile was told. The loader's own lock is never taken on the event path: a program may
 * hold locks in a dl_iterate_phdr callback that an allocating thread waits for. Instead, an address that is new to the unwinder is looked
 * up with _dl_find_object (lock-free, glibc 2.35), and known modules are checked the same way when something may have been unloaded.
 */
#ifndef RH_PROCESS_MODULES_H
#define RH_PROCESS_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RH_BUILD_ID_MAX 64

struct rh_module {
	uint64_t base;  /* load bias */
	uint64_t start; /* first address, page aligned */
	uint64_t end;   /* address after the last */
	const char *path;
	uint32_t path_size; /* bytes, no NUL */
	uint32_t build_id_size;
	uint8_t build_id[RH_BUILD_ID_MAX];
};

struct rh_tracker;

/* Forgets all and takes the loader's list, whose lock it needs. inherited: a forked child's first session; it keeps the list that it has
 * from its parent instead, because the lock may have been held, for ever, by a thread that did not come along. Not on the event path. */
void rh_modules_begin(bool inherited);

/* Looks whether the pcs of a stack (on which they stand right now) belong to known modules, and whether these are still what they were.
 * Records those that are new and those that are gone; all of them if the tracker owes them (modules_due). Returns true if there was any:
 * rows may have been wrong, so walk again. Waits for another thread that is at it, but not for ever: then it skips its work, and says so
 * by leaving *done false. Async-signal-safe. */
bool rh_modules_check(struct rh_tracker *tracker, const uint64_t *pcs, unsigned count, bool *done);

/* Around dlclose, from any thread. Code may be unloaded between the two, and the second records what is gone if a session runs. */
void rh_modules_changing(void);
void rh_modules_changed(void);

#endif
