/* SPDX-License-Identifier: MIT
 *
 * Another copy of Rheaper in the same process. A program that was linked with Rheaper may be started under a preloaded one: then the preloaded copy, which
 * sees every call, is the one that records, and the other only passes calls on, those of the public interface too.
 *
 * A copy that is made for preloading carries an ELF note that leads to its functions. The first one in the loader's list counts.
 */
#ifndef RH_PROCESS_PEER_H
#define RH_PROCESS_PEER_H

#include "rheaper.h"

/* The public interface of one copy. Only ever appended to. */
struct rh_peer {
	int (*enable_tracking)(const rheaper_config *config, char *path, size_t path_size);
	int (*disable_tracking)(void);
	int (*tracking_enabled)(void);
	int (*mark)(const char *name);
	void (*report_alloc)(void *p, size_t n);
	void (*report_realloc)(void *old, void *p, size_t n);
	void (*report_free)(void *p);
};

/* Who records in our place; NULL: this copy does. Set by rh_peer_find. */
extern const struct rh_peer *rh_peer __attribute__((visibility("hidden")));

/* Looks for it, with the loader's lock. Once, before the first event. */
void rh_peer_find(void);

#endif
