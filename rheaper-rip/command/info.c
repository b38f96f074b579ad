/* SPDX-License-Identifier: MIT
 *
 * rheaper-rip info DIR...
 *
 * What a profile directory holds, told from its manifest and one way over its records, without making anything of it.
 */
#include "config.h"

#include "command/commands.h"

#include "account.h"
#include "replay/lives.h"
#include "replay/world.h"
#include "text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS 1e6

static const char usage[] = "Usage: rheaper-rip info [OPTION]... DIR...\n"
			    "Tells what each profile directory holds, without ripping it.\n"
			    "\n"
			    "      --json             as one JSON object\n"
			    "  -q, --quiet            no progress\n"
			    "  -h, --help             print this and exit\n"
			    "\n"
			    "Exit status: 0 done, 1 a directory could not be read, 2 wrong usage.\n";

/* What could not be printed for want of memory is no answer: told at the end. */
static bool memory_out;

/* Sizes of what the directory holds. */
struct extent {
	uint64_t chunks, log_bytes, buffer_bytes; /* in log files; in the rings, not written out yet */
};

static struct extent measure(const struct read_chunks *chunks)
{
	struct extent extent = {.chunks = chunks->count};
	struct stat st;

	for (size_t i = 1; i < chunks->file_count; i++) /* the first is the rings */
		if (!stat(chunks->files[i], &st))
			extent.log_bytes += (uint64_t)st.st_size;
	for (size_t i = 0; i < chunks->count; i++)
		if (chunks->chunks[i].memory)
			extent.buffer_bytes += chunks->chunks[i].length;
	return extent;
}

static const char *text_of(const struct read_manifest *manifest, const char *key)
{
	const char *text = read_manifest_text(manifest, key);

	return text ? text : "unknown";
}

/* ---- For people ---------------------------------------------------------------------------------------------------------------- */

/* "label  text", on one line whatever the text is. */
static void tell(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void tell(const char *label, const char *format, ...)
{
	char *text;
	va_list list;
	int size;

	va_start(list, format);
	size = vasprintf(&text, format, list);
	va_end(list);
	if (size < 0) {
		memory_out = true;
		return;
	}
	text_line(text);
	printf("  %-9s %s\n", label, text);
	free(text);
}

static void tell_sampling(const struct read_manifest *manifest)
{
	uint64_t interval = read_manifest_number(manifest, "sample_interval", 0);
	double rate = read_manifest_real(manifest, "sample_rate", 1);

	if (interval > 1)
		tell("sampled", "one allocation in %" PRIu64 " bytes, on the average", interval);
	else if (rate < 1)
		tell("sampled", "%g%% of the allocations", rate * 100);
}

static void tell_times(const struct replay_process *process)
{
	const struct read_profile *profile = &process->profile;
	uint64_t started = read_manifest_number(&profile->manifest, "start_realtime", 0);
	time_t seconds = (time_t)(started / NS_PER_S);
	char date[64] = "unknown";
	struct tm tm;

	if (started && gmtime_r(&seconds, &tm))
		strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", &tm);
	tell("started", "%s", date);
	tell("ended", "%s, %.3f s later", replay_life_word(process->ended), (double)profile->end / (double)NS_PER_S);
}

static void tell_losses(const struct read_profile *profile)
{
	for (int kind = 0; kind < RH_LOSSES; kind++)
		if (account_lost(profile, kind))
			tell("lost", "%" PRIu64 " events (%s)", account_lost(profile, kind), account_loss_word(kind));
}

static void tell_damage(const struct read_profile *profile)
{
	const struct read_chunks *chunks = &profile->chunks;

	if (chunks->damaged)
		tell("damage", "%" PRIu64 " place%s in the log", chunks->damaged, chunks->damaged == 1 ? "" : "s");
	if (chunks->cut)
		tell("damage", "cut short in %" PRIu64 " place%s", chunks->cut, chunks->cut == 1 ? "" : "s");
	if (!chunks->rings)
		tell("damage", "file %s is missing or damaged: the last events of each thread are lost", RH_FILE_RINGS);
	if (!profile->rate_known && profile->events)
		tell("damage", "how fast its clock runs is not told");
	if (!read_profile_truncated(profile))
		tell("damage", "none");
}

static void tell_manifest(const struct read_manifest *manifest)
{
	puts("  manifest");
	for (size_t i = 0; i < manifest->count; i++) {
		char *value = read_manifest_words(manifest, manifest->lines[i].key);
		char *line = NULL;

		if (value && asprintf(&line, "%s=%s", manifest->lines[i].key, value) >= 0) {
			text_line(line);
			printf("    %s\n", line);
			free(line);
		} else {
			memory_out = true;
		}
		free(value);
	}
}

static void tell_process(const struct replay_process *process)
{
	const struct read_profile *profile = &process->profile;
	const struct read_manifest *manifest = &profile->manifest;
	const struct extent extent = measure(&profile->chunks);
	char *words = read_manifest_words(manifest, "cmdline"), *name = strdup(profile->directory);

	if (name)
		text_line(name);
	else
		memory_out = true;
	puts(name ? name : "");
	tell("process", "%s of %s on %s", text_of(manifest, "pid"), text_of(manifest, "parent"), text_of(manifest, "host"));
	tell("program", "%s", text_of(manifest, "exe"));
	if (words)
		tell("command", "%s", words);
	tell("recorded", "by rheaper %s, %s, backend %s", text_of(manifest, "rheaper"), text_of(manifest, "frontend"),
	     text_of(manifest, "backend"));
	tell_sampling(manifest);
	tell_times(process);
	tell("threads", "%zu", profile->thread_count);
	tell("events", "%" PRIu64 ": %" PRIu64 " allocations, %" PRIu64 " frees, %" PRIu64 " reallocs", profile->events,
	     profile->kinds[RH_RECORD_ALLOC], profile->kinds[RH_RECORD_FREE], profile->kinds[RH_RECORD_REALLOC]);
	tell_losses(profile);
	tell("marks", "%zu", profile->mark_count);
	tell("modules", "%zu", process->modules.count);
	tell("log", "%" PRIu64 " bytes and %" PRIu64 " in buffers, %" PRIu64 " chunks", extent.log_bytes, extent.buffer_bytes, extent.chunks);
	tell_damage(profile);
	tell_manifest(manifest);
	free(words);
	free(name);
}

/* ---- For programs -------------------------------------------------------------------------------------------------------------- */

/* A string as RFC 8259, section 7 wants it. The text is made fit first: of what must be escaped that leaves these four. */
static void json_string(const char *text)
{
	char *fit = text_fit(text, strlen(text));

	if (!fit)
		memory_out = true;
	putchar('"');
	for (const char *p = fit; p && *p; p++) {
		if (*p == '\n' || *p == '\t')
			fputs(*p == '\n' ? "\\n" : "\\t", stdout);
		else
			printf(*p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
	}
	putchar('"');
	free(fit);
}

static void json_key(const char *key)
{
	fputs(", ", stdout);
	json_string(key);
	fputs(": ", stdout);
}

static void json_number(const char *key, uint64_t number)
{
	json_key(key);
	printf("%" PRIu64, number);
}

static void json_text(const char *key, const char *text)
{
	json_key(key);
	if (text)
		json_string(text);
	else
		fputs("null", stdout);
}

static void json_manifest(const struct read_manifest *manifest)
{
	json_key("manifest");
	putchar('{');
	for (size_t i = 0; i < manifest->count; i++) {
		char *value = read_manifest_words(manifest, manifest->lines[i].key);

		if (i)
			fputs(", ", stdout);
		json_string(manifest->lines[i].key);
		fputs(": ", stdout);
		json_string(value ? value : "");
		free(value);
	}
	putchar('}');
}

static void json_losses(const struct read_profile *profile)
{
	const char *blank = "";

	json_key("losses");
	putchar('{');
	for (int kind = 0; kind < RH_LOSSES; kind++) {
		if (account_lost(profile, kind)) {
			printf("%s\"%s\": %" PRIu64, blank, account_loss_word(kind), account_lost(profile, kind));
			blank = ", ";
		}
	}
	putchar('}');
}

static void json_process(const struct replay_process *process)
{
	const struct read_profile *profile = &process->profile;
	const struct read_manifest *manifest = &profile->manifest;
	const struct extent extent = measure(&profile->chunks);
	char *words = read_manifest_words(manifest, "cmdline");

	fputs("{\"directory\": ", stdout);
	json_string(profile->directory);
	json_number("pid", read_manifest_number(manifest, "pid", 0));
	json_number("parent", read_manifest_number(manifest, "parent", 0));
	json_text("host", read_manifest_text(manifest, "host"));
	json_text("exe", read_manifest_text(manifest, "exe"));
	json_text("cmdline", words);
	json_key("started");
	printf("%.6f", (double)read_manifest_number(manifest, "start_realtime", 0) / NS_PER_MS);
	json_key("duration");
	printf("%.6f", (double)profile->end / NS_PER_MS);
	json_text("ended", replay_life_word(process->ended));
	json_number("threads", profile->thread_count);
	json_number("events", profile->events);
	json_number("allocations", profile->kinds[RH_RECORD_ALLOC]);
	json_number("frees", profile->kinds[RH_RECORD_FREE]);
	json_number("reallocs", profile->kinds[RH_RECORD_REALLOC]);
	json_losses(profile);
	json_number("marks", profile->mark_count);
	json_number("modules", process->modules.count);
	json_number("log_bytes", extent.log_bytes);
	json_number("buffer_bytes", extent.buffer_bytes);
	json_number("chunks", extent.chunks);
	json_number("damaged", profile->chunks.damaged);
	json_number("cut", profile->chunks.cut);
	json_key("rings");
	fputs(profile->chunks.rings ? "true" : "false", stdout);
	json_manifest(manifest);
	putchar('}');
	free(words);
}

/* -------------------------------------------------------------------------------------------------------------------------------- */

static void tell_world(const struct replay_world *world, bool json)
{
	if (json)
		fputs("{\"profiles\": [", stdout);
	for (size_t i = 0; i < world->count; i++) {
		if (i)
			fputs(json ? ",\n" : "\n", stdout);
		if (json)
			json_process(&world->processes[i]);
		else
			tell_process(&world->processes[i]);
	}
	if (json)
		fputs("]}\n", stdout);
}

/* Like ls(1): what cannot be read is said, and the others are told about. */
static int inform(char **directories, size_t count, bool json, struct progress *progress)
{
	struct replay_world world = {0};
	struct fault fault = {{0}};
	int status = COMMAND_DONE, result;

	progress_begin(progress, "reading", "events", 0);
	result = replay_world_start(&world, count, progress, &fault);
	for (size_t i = 0; i < count && !result; i++) {
		struct fault bad = {{0}};

		if (replay_world_add(&world, directories[i], &bad))
			status = command_end(-1, &bad);
	}
	if (!result && world.count)
		result = replay_world_settle(&world, &fault);
	if (!command_end(result, &fault)) {
		tell_world(&world, json);
		result = memory_out ? fault_memory(&fault) : 0;
		command_end(result, &fault);
	}
	if (result)
		status = COMMAND_FAILED;
	replay_world_close(&world);
	return command_finish_output() == COMMAND_DONE ? status : COMMAND_FAILED;
}

static int run(const struct command *command, int argc, char **argv)
{
	enum { JSON = 256 };
	static const struct option options[] = {{"json", no_argument, NULL, JSON},
						{"quiet", no_argument, NULL, 'q'},
						{"help", no_argument, NULL, 'h'},
						{NULL, 0, NULL, 0}};
	struct progress *progress = command_progress();
	int status = COMMAND_DONE, c;
	bool json = false;

	while ((c = command_option(command, argc, argv, "qh", options, &status)) >= 0) {
		if (c == JSON)
			json = true;
		else if (c == 'q')
			progress = NULL;
	}
	if (c == COMMAND_OVER)
		return status;
	if (optind == argc)
		return command_misused(command, "no profile directory given");
	return inform(argv + optind, (size_t)(argc - optind), json, progress);
}

const struct command command_info = {.verb = "info", .summary = "what a profile directory holds", .usage = usage, .run = run};
