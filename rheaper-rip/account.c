/* SPDX-License-Identifier: MIT
 *
 * Warnings and the closing account.
 */
#include "config.h"

#include "account.h"

#include "fault.h"
#include "text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[RH_LOSSES] = RH_LOSS_NAMES;

const char *account_loss_word(int kind)
{
	return kinds[kind] ? kinds[kind] : "unknown";
}

void account_say(account_line *line, const char *format, ...)
{
	char text[FAULT_SIZE];
	va_list list;

	if (!line)
		return;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	text_line(text);
	line(text);
}

/* Losses that belong to no thread. */
static uint64_t unowned_losses(const struct read_profile *profile, int kind)
{
	uint64_t lost = profile->chunks.lost[kind] + (kind == RH_LOSS_WRITE ? profile->gaps : 0);

	for (size_t i = 0; i < profile->chunks.stream_count; i++)
		lost += profile->chunks.streams[i].lost[kind];
	return lost;
}

uint64_t account_lost(const struct read_profile *profile, int kind)
{
	uint64_t lost = unowned_losses(profile, kind);

	for (size_t i = 0; i < profile->thread_count; i++)
		lost += profile->threads[i]->lost[kind];
	return lost;
}

/* Why a profile may hold nothing. */
static const char *cause_of_emptiness(const struct replay_process *process)
{
	const struct read_manifest *manifest = &process->profile.manifest;
	const char *frontend = read_manifest_text(manifest, "frontend");

	for (int kind = 0; kind < RH_LOSSES; kind++)
		if (account_lost(&process->profile, kind))
			return "nothing could be recorded";
	if (read_manifest_real(manifest, "sample_rate", 1) == 0)
		return "nothing was recorded: the sample rate is 0";
	if (frontend && !strcmp(frontend, "wrap"))
		return "nothing was recorded: no code that is linked with the wrap flags allocated while tracking was on";
	return "nothing was recorded";
}

void account_warn(account_line *line, const struct replay_process *process)
{
	const struct read_profile *profile = &process->profile;
	const char *name = profile->directory;

	if (!profile->chunks.rings)
		account_say(line, "%s: file %s is missing or damaged: the last events of each thread are lost", name, RH_FILE_RINGS);
	if (profile->chunks.damaged)
		account_say(line, "%s: passed over damage in the log: %" PRIu64 " place%s", name, profile->chunks.damaged,
			    profile->chunks.damaged == 1 ? "" : "s");
	if (profile->chunks.cut)
		account_say(line, "%s: the log was cut short in %" PRIu64 " place%s: read to the last whole event", name,
			    profile->chunks.cut, profile->chunks.cut == 1 ? "" : "s");
	for (int kind = 0; kind < RH_LOSSES; kind++)
		if (account_lost(profile, kind))
			account_say(line, "%s: events lost (%s): %" PRIu64, name, account_loss_word(kind), account_lost(profile, kind));
	if (!profile->rate_known && profile->events)
		account_say(line, "%s: the log does not tell how fast its clock runs: all times are 0", name);
	/* A forked child that only execs or exits is no news. */
	if (!profile->events && !read_manifest_find(&profile->manifest, "parent_profile"))
		account_say(line, "%s: the profile is empty: %s", name, cause_of_emptiness(process));
}

static void tell_losses(account_line *line, const struct read_profile *profile)
{
	for (int kind = 0; kind < RH_LOSSES; kind++) {
		uint64_t unowned = unowned_losses(profile, kind);

		for (size_t i = 0; i < profile->thread_count; i++) {
			const struct read_thread *thread = profile->threads[i];

			if (thread->lost[kind])
				account_say(line, "lost (%s): %" PRIu64 " of thread %" PRIu64 "%s%s in %s", account_loss_word(kind),
					    thread->lost[kind], thread->tid, thread->name ? " " : "", thread->name ? thread->name : "",
					    profile->directory);
		}
		if (unowned)
			account_say(line, "lost (%s): %" PRIu64 " of no known thread in %s", account_loss_word(kind), unowned, profile->directory);
	}
}

/* What the worker that looked into a file had to say, and how many of its frames have names. */
static void tell_question(account_line *line, const struct symbols_question *question)
{
	size_t named = question->count - question->named[SYMBOLS_NOBODY];

	account_say(line, "symbols: %zu found, %zu missing in %s (%s%s%s)", named, question->count - named, question->path, question->status,
		    question->reason ? ": " : "", question->reason ? question->reason : "");
}

static void tell_symbols(account_line *line, const struct replay_world *world, const struct replay_names *names)
{
	uint64_t nowhere = 0;

	for (size_t i = 0; i < names->question_count; i++)
		tell_question(line, &names->questions[i]);
	for (size_t i = 0; i < world->stacks.frame_count; i++)
		nowhere += world->stacks.frames[i].module == REPLAY_NO_MODULE;
	if (nowhere)
		account_say(line, "symbols: %" PRIu64 " missing in no known module", nowhere);
}

void account_close(account_line *line, const struct replay_world *world, const struct replay_pairs *pairs, const struct replay_names *names)
{
	account_say(line, "events: %" PRIu64, world->events);
	account_say(line, "rows: %" PRIu64, pairs->allocations);
	account_say(line, "unmatched frees: %" PRIu64, pairs->unmatched_frees);
	account_say(line, "closed by reuse: %" PRIu64, pairs->reused);
	for (size_t i = 0; i < world->count; i++)
		tell_losses(line, &world->processes[i].profile);
	if (!names->wanted)
		account_say(line, "symbols: left out");
	else
		tell_symbols(line, world, names);
}
