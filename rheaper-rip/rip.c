/* SPDX-License-Identifier: MIT
 *
 * The main job. The database grows in a temporary file beside its target, which takes the target's name when it is complete and on disk.
 */
#include "config.h"

#include "rip.h"

#include "replay/names.h"
#include "replay/pair.h"
#include "replay/rows.h"
#include "replay/world.h"
#include "store/allocations.h"
#include "store/store.h"
#include "store/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *volatile rip_unfinished;

static void __attribute__((format(printf, 2, 3))) warn(const struct rip_options *options, const char *format, ...)
{
	char text[FAULT_SIZE];
	va_list list;

	if (!options->warn)
		return;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	options->warn(text);
}

static uint64_t lost_events(const struct read_profile *profile, int kind)
{
	uint64_t lost = profile->chunks.lost[kind] + (kind == RH_LOSS_WRITE ? profile->gaps : 0);

	for (size_t i = 0; i < profile->thread_count; i++)
		lost += profile->threads[i]->lost[kind];
	for (size_t i = 0; i < profile->chunks.stream_count; i++)
		lost += profile->chunks.streams[i].lost[kind];
	return lost;
}

static void warn_of_profile(const struct rip_options *options, const struct read_profile *profile)
{
	static const char *const kinds[RH_LOSSES] = RH_LOSS_NAMES;
	const char *name = profile->directory;

	if (!profile->chunks.rings)
		warn(options, "%s: file %s is missing or damaged: the last events of each thread are lost", name, RH_FILE_RINGS);
	if (profile->chunks.damaged)
		warn(options, "%s: passed over damage in the log: %" PRIu64 " place%s", name, profile->chunks.damaged,
		     profile->chunks.damaged == 1 ? "" : "s");
	if (profile->chunks.cut)
		warn(options, "%s: the log was cut short in %" PRIu64 " place%s: read to the last whole event", name, profile->chunks.cut,
		     profile->chunks.cut == 1 ? "" : "s");
	for (int kind = 0; kind < RH_LOSSES; kind++)
		if (lost_events(profile, kind))
			warn(options, "%s: events lost (%s): %" PRIu64, name, kinds[kind] ? kinds[kind] : "unknown",
			     lost_events(profile, kind));
	if (!profile->rate_known && profile->events)
		warn(options, "%s: the log does not tell how fast its clock runs: all times are 0", name);
	if (!profile->events)
		warn(options, "%s: the profile is empty: nothing was recorded", name);
}

/* fsyncs the directory that holds path, so that its entry is on disk. Some file systems cannot: they say EINVAL. */
static int sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, result = 0;

	if (fd < 0 || (fsync(fd) && errno != EINVAL))
		result = -1;
	if (fd >= 0)
		close(fd);
	free(directory);
	return result;
}

/* Gives the finished file its name. */
static int publish(const char *temporary, const struct rip_options *options, struct fault *fault)
{
	int fd = open(temporary, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fsync(fd)) {
		fault_errno(fault, options->database);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	close(fd);
	/* link refuses a name that came up meanwhile; where the file system has no links, the check at the start must do. */
	if (!options->force && !link(temporary, options->database))
		unlink(temporary);
	else if (!options->force && errno == EEXIST)
		return fault_errno(fault, options->database);
	else if (rename(temporary, options->database))
		return fault_errno(fault, options->database);
	rip_unfinished = NULL;
	return sync_directory(options->database) ? fault_errno(fault, options->database) : 0;
}

static int write_database(struct store *store, struct replay_world *world, const struct rip_options *options, struct fault *fault)
{
	struct replay_pairs pairs = {0};
	struct replay_names names = {0};
	struct replay_rows rows = {0};
	int result = replay_pair(&pairs, world, fault) || replay_names_find(&names, world, pairs.stacks, options->symbols, fault) ||
		     replay_rows_start(&rows, world, &pairs, &names, fault) || store_allocations(store, &rows) ||
		     store_sums(store, &rows) || store_names(store, world, &names) || store_world(store, world, &pairs) ||
		     store_commit(store);

	replay_rows_free(&rows);
	replay_names_free(&names);
	replay_pairs_free(&pairs);
	return result ? -1 : 0;
}

static int check_target(const struct rip_options *options, struct fault *fault)
{
	struct stat st;

	if (lstat(options->database, &st))
		return errno == ENOENT ? 0 : fault_errno(fault, options->database);
	if (S_ISDIR(st.st_mode))
		return fault_set(fault, options->database, FAULT_NOWHERE, "%s", strerror(EISDIR));
	if (!options->force)
		return fault_set(fault, options->database, FAULT_NOWHERE, "%s (-f replaces it)", strerror(EEXIST));
	return 0;
}

int rip_run(const struct rip_options *options, struct fault *fault)
{
	struct replay_world world = {0};
	struct store store = {0};
	char *temporary = NULL;
	int fd, result = -1;

	if (check_target(options, fault))
		return -1;
	if (replay_world_open(&world, options->directories, options->count, fault))
		goto done;
	for (size_t i = 0; i < world.count; i++)
		warn_of_profile(options, &world.processes[i].profile);
	if (asprintf(&temporary, "%s.tmp-%ld", options->database, (long)getpid()) < 0) {
		temporary = NULL;
		fault_memory(fault);
		goto done;
	}
	unlink(temporary); /* of a process that had this pid before, was killed, and is no more */
	rip_unfinished = temporary;
	fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0) {
		fault_errno(fault, options->database);
		goto done;
	}
	close(fd);
	if (!store_open(&store, temporary, options->database, fault))
		result = write_database(&store, &world, options, fault);
	store_close(&store);
	if (!result)
		result = publish(temporary, options, fault);
	if (rip_unfinished)
		unlink(temporary);
done:
	rip_unfinished = NULL;
	free(temporary);
	replay_world_close(&world);
	return result;
}
