/* SPDX-License-Identifier: MIT
 *
 * The main job.
 */
#include "config.h"

#include "rip.h"

#include "account.h"
#include "output.h"
#include "replay/names.h"
#include "replay/pair.h"
#include "replay/rows.h"
#include "replay/world.h"
#include "store/allocations.h"
#include "store/store.h"
#include "store/tables.h"

#include <stdio.h>
#include <string.h>

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
	struct output output;
	struct store store = {0};
	int result = output_start(&output, options->database, options->force, fault) || open_world(&world, options, fault) ? -1 : 0;

	for (size_t i = 0; i < world.count && !result; i++)
		account_warn(options->warn, &world.processes[i]);
	if (!result) {
		result = store_open(&store, output.temporary, options->database, fault) || write_database(&store, &world, options, fault) ? -1 : 0;
		store_close(&store);
	}
	if (!result)
		result = output_publish(&output, fault);
	output_close(&output);
	replay_world_close(&world);
	return result;
}
