/* SPDX-License-Identifier: MIT
 *
 * The main job. The database grows in a temporary file beside its target, which takes the target's name when it is complete and on disk.
 */
#include "config.h"

#include "rip.h"

#include "account.h"
#include "replay/names.h"
#include "replay/pair.h"
#include "replay/rows.h"
#include "replay/world.h"
#include "store/allocations.h"
#include "store/store.h"
#include "store/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *volatile rip_unfinished;

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
	int result = replay_pair(&pairs, world, options->database, fault) || replay_names_find(&names, world, pairs.stacks, options->symbols, fault) ||
		     replay_rows_start(&rows, world, &pairs, &names, fault) || store_allocations(store, &rows) ||
		     store_sums(store, &rows) || store_names(store, world, &names) || store_world(store, world, &pairs) ||
		     store_commit(store);

	if (!result)
		account_close(options->account, world, &pairs, &names);
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

/* All profiles, or those of them that can be read. */
static int open_world(struct replay_world *world, const struct rip_options *options, struct fault *fault)
{
	progress_begin(options->progress, "reading", "events", 0);
	if (replay_world_start(world, options->count, options->progress, fault))
		return -1;
	for (size_t i = 0; i < options->count; i++) {
		struct fault bad = {{0}};
		size_t used;

		if (!replay_world_add(world, options->directories[i], &bad))
			continue;
		used = strlen(bad.text);
		if (!options->keep_going && options->count > 1)
			snprintf(bad.text + used, sizeof bad.text - used, " (-k leaves it out)");
		if (!options->keep_going || (i + 1 == options->count && !world->count)) {
			*fault = bad;
			return -1;
		}
		account_say(options->warn, "left out: %s", bad.text);
	}
	return replay_world_settle(world, fault);
}

int rip_run(const struct rip_options *options, struct fault *fault)
{
	struct replay_world world = {0};
	struct store store = {0};
	char *temporary = NULL;
	int fd, result = -1;

	if (check_target(options, fault))
		return -1;
	if (open_world(&world, options, fault))
		goto done;
	for (size_t i = 0; i < world.count; i++)
		account_warn(options->warn, &world.processes[i]);
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
