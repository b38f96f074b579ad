/* SPDX-License-Identifier: MIT
 *
 * What the programs share: a check that ends the program, and tracking that starts or says why not. With PLAIN defined there is no Rheaper
 * and nothing starts, so that the same program shows what it does by itself. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef PLAIN
#include <rheaper.h>
#endif

/* Ends the program at once, without destructors: exit status 99 and where. */
#define CHECK(condition)                                                                   \
	do {                                                                               \
		if (!(condition)) {                                                        \
			dprintf(2, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			_exit(99);                                                         \
		}                                                                          \
	} while (0)

#ifdef PLAIN
static inline void track(const char *directory, uint32_t trackers, uint32_t buffer)
{
	(void)directory, (void)trackers, (void)buffer;
}

static inline void untrack(void)
{
}
#else
/* 0: the default. */
static inline void track(const char *directory, uint32_t trackers, uint32_t buffer)
{
	rheaper_config config = RHEAPER_CONFIG_INIT;
	int error;

	config.profile_dir = directory;
	if (trackers)
		config.max_trackers = trackers;
	if (buffer)
		config.tracker_event_buffer_size = buffer;
	error = rheaper_enable_tracking(&config, NULL, 0);
	if (error) {
		dprintf(2, "rheaper_enable_tracking: %s\n", rheaper_strerror(error));
		_exit(98);
	}
}

static inline void untrack(void)
{
	CHECK(rheaper_disable_tracking() == 0);
}
#endif

/* The compiler may not leave out this allocation, nor guess its address. */
static inline void *keep(void *block)
{
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

#endif
