/* SPDX-License-Identifier: MIT
 *
 * Surveys a log. Times are kept as ticks while it runs, and converted when all pairs of the clock are known.
 */
#include "config.h"

#include "read/survey.h"

#include "read/record.h"
#include "vector.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct survey {
	struct read_profile *profile;
	struct progress *progress;
	struct fault *fault;
	struct read_cursor *cursor;
	struct read_thread *thread; /* of the records that come now */
	uint64_t last;		    /* latest ticks of all */
	uint64_t events;	    /* of the present chunk */
	uint64_t lost_writes;	    /* said by LOSS records of the present stream */
};

static int by_serial(const void *left, const void *right)
{
	const struct read_thread *a = left, *b = right;

	return a->serial < b->serial ? -1 : a->serial > b->serial;
}

struct read_thread *read_profile_thread(const struct read_profile *profile, uint64_t serial)
{
	struct read_thread key = {.serial = serial};
	struct read_thread **node = tfind(&key, &profile->thread_tree, by_serial);

	return node ? *node : NULL;
}

static struct read_thread *thread_of(struct survey *survey, uint64_t serial, uint64_t tid)
{
	struct read_profile *profile = survey->profile;
	struct read_thread *thread = read_profile_thread(profile, serial);

	if (thread)
		return thread;
	if (profile->thread_count >= READ_NO_THREAD || !VECTOR_ROOM(profile->threads, profile->thread_capacity, profile->thread_count) ||
	    !(thread = calloc(1, sizeof *thread)))
		return NULL;
	thread->serial = serial;
	thread->tid = tid;
	thread->first = INT64_MAX;
	thread->last = INT64_MIN;
	thread->index = (uint32_t)profile->thread_count;
	if (!tsearch(thread, &profile->thread_tree, by_serial)) {
		free(thread);
		return NULL;
	}
	profile->threads[profile->thread_count++] = thread;
	return thread;
}

/* A copy of a string of a record, cut at the first NUL. */
static char *copy_text(const struct read_record *record, int which)
{
	return strndup((const char *)record->text[which], record->text_size[which]);
}

static bool take_module(struct read_profile *profile, const struct read_record *record)
{
	struct read_module *module;

	if (!VECTOR_ROOM(profile->modules, profile->module_capacity, profile->module_count))
		return false;
	module = &profile->modules[profile->module_count];
	memset(module, 0, sizeof *module);
	module->time = (int64_t)record->ticks;
	if (record->argument == RH_CONTROL_UNLOAD) {
		module->unload = true;
		module->start = record->field[0];
		profile->module_count++;
		return true;
	}
	module->base = record->field[0];
	module->start = record->field[1];
	module->end = record->field[2];
	module->build_id_size = record->text_size[1];
	module->path = copy_text(record, 0);
	module->build_id = malloc(module->build_id_size + 1);
	profile->module_count++;
	if (!module->path || !module->build_id)
		return false;
	memcpy(module->build_id, record->text[1], module->build_id_size);
	return true;
}

static bool take_mark(struct survey *survey, const struct read_record *record)
{
	struct read_profile *profile = survey->profile;
	char *name = copy_text(record, 0);

	if (!name || !VECTOR_ROOM(profile->marks, profile->mark_capacity, profile->mark_count)) {
		free(name);
		return false;
	}
	profile->marks[profile->mark_count++] = (struct read_mark){(int64_t)record->ticks, survey->thread->index, name};
	return true;
}

static uint64_t add_clamped(uint64_t a, uint64_t b)
{
	return a + b < a || a + b > INT64_MAX ? INT64_MAX : a + b;
}

static void touch(struct survey *survey, uint64_t ticks)
{
	if ((int64_t)ticks < survey->thread->first)
		survey->thread->first = (int64_t)ticks;
	if ((int64_t)ticks > survey->thread->last)
		survey->thread->last = (int64_t)ticks;
}

static bool take_control(struct survey *survey, const struct read_record *record)
{
	struct read_profile *profile = survey->profile;
	char *name;

	switch ((enum rh_control)record->argument) {
	case RH_CONTROL_THREAD:
		survey->thread = thread_of(survey, record->field[0], record->field[1]);
		return survey->thread;
	case RH_CONTROL_NAME:
		name = copy_text(record, 0);
		free(survey->thread->name);
		survey->thread->name = name;
		return name;
	case RH_CONTROL_MARK:
		touch(survey, record->ticks);
		return take_mark(survey, record);
	case RH_CONTROL_LOSS:
		if (record->field[0] < RH_LOSSES)
			survey->thread->lost[record->field[0]] = add_clamped(survey->thread->lost[record->field[0]], record->field[1]);
		if (record->field[0] == RH_LOSS_WRITE)
			survey->lost_writes = add_clamped(survey->lost_writes, record->field[1]);
		return true;
	case RH_CONTROL_RSS:
		if (!VECTOR_ROOM(profile->rss, profile->rss_capacity, profile->rss_count))
			return false;
		profile->rss[profile->rss_count++] = (struct read_rss){(int64_t)record->ticks, record->field[0]};
		return true;
	case RH_CONTROL_MODULE:
	case RH_CONTROL_UNLOAD:
		return take_module(profile, record);
	case RH_CONTROL_SYNC:
		return read_clock_add(&profile->clock, record->ticks, record->field[0]);
	}
	return true;
}

static int survey_chunk(struct survey *survey, struct read_chunk *chunk, const uint8_t *records)
{
	struct read_cursor *cursor = survey->cursor;
	struct read_record record;
	int more;

	survey->events = 0;
	read_cursor_start(cursor, records, chunk->length, chunk->head.ticks);
	while ((more = read_record_next(cursor, &record)) > 0) {
		survey->profile->kinds[record.kind]++;
		if (record.kind != RH_RECORD_CONTROL) {
			survey->events++;
			touch(survey, record.ticks);
		} else if (!take_control(survey, &record)) {
			return fault_memory(survey->fault);
		}
	}
	if (cursor->ticks > survey->last)
		survey->last = cursor->ticks;
	if (more < 0) { /* of a cut chunk it is known already */
		if (chunk->closed)
			survey->profile->chunks.damaged++;
		else if (!chunk->cut)
			survey->profile->chunks.cut++;
		chunk->length = (uint32_t)(cursor->at - records);
	}
	survey->profile->events += survey->events;
	progress_add(survey->progress, survey->events);
	return 0;
}

static int survey_stream(struct survey *survey, struct read_chunk_stream *stream, uint8_t **buffer, size_t *capacity)
{
	struct read_chunks *chunks = &survey->profile->chunks;
	uint64_t expected = 0, sequence = 0, missing = 0, told;

	survey->lost_writes = 0;
	for (size_t i = stream->first; i < stream->first + stream->count; i++) {
		struct read_chunk *chunk = &chunks->chunks[i];
		const uint8_t *records = read_chunk_records(chunks, chunk, buffer, capacity, survey->fault);

		if (!records)
			return -1;
		if (chunk->head.first_event > expected)
			missing = add_clamped(missing, chunk->head.first_event - expected);
		else if (chunk->head.sequence > sequence)
			chunks->cut++; /* a chunk of nothing but control records: modules, names, marks */
		sequence = (uint64_t)chunk->head.sequence + 1;
		if (!read_clock_add(&survey->profile->clock, chunk->head.ticks, chunk->head.monotonic))
			return fault_memory(survey->fault);
		if (survey_chunk(survey, chunk, records))
			return -1;
		expected = add_clamped(chunk->head.first_event, survey->events);
	}
	told = add_clamped(survey->lost_writes, stream->lost[RH_LOSS_WRITE]);
	if (missing > told)
		survey->profile->gaps = add_clamped(survey->profile->gaps, missing - told);
	return 0;
}

static int rss_by_time(const void *left, const void *right)
{
	const struct read_rss *a = left, *b = right;

	return a->time < b->time ? -1 : a->time > b->time;
}

/* At the same instant the old module goes before the new one comes. */
static int modules_by_time(const void *left, const void *right)
{
	const struct read_module *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->unload != b->unload)
		return a->unload ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static void convert_times(struct survey *survey)
{
	struct read_profile *profile = survey->profile;
	const struct read_manifest *manifest = &profile->manifest;
	uint64_t end = survey->last;
	size_t hint = 0;

	profile->rate_known = read_clock_settle(&profile->clock);
#define CONVERT(time) ((time) = read_clock_time(&profile->clock, (uint64_t)(time), &hint))
	for (size_t i = 0; i < profile->thread_count; i++) {
		if (profile->threads[i]->first <= profile->threads[i]->last) {
			CONVERT(profile->threads[i]->first);
			CONVERT(profile->threads[i]->last);
		}
	}
	for (size_t i = 0; i < profile->mark_count; i++)
		CONVERT(profile->marks[i].time);
	for (size_t i = 0; i < profile->rss_count; i++)
		CONVERT(profile->rss[i].time);
	for (size_t i = 0; i < profile->module_count; i++)
		CONVERT(profile->modules[i].time);
#undef CONVERT
	if (read_manifest_find(manifest, "end_ticks"))
		end = read_manifest_number(manifest, "end_ticks", end);
	else if (profile->chunks.ended)
		end = profile->chunks.end_ticks;
	if (end < survey->last)
		end = survey->last;
	profile->end = end ? read_clock_time(&profile->clock, end, &hint) : 0;
	if (profile->end < 0)
		profile->end = 0;
	if (profile->rss_count)
		qsort(profile->rss, profile->rss_count, sizeof *profile->rss, rss_by_time);
	if (profile->module_count)
		qsort(profile->modules, profile->module_count, sizeof *profile->modules, modules_by_time);
}

int read_survey(struct read_profile *profile, struct progress *progress, struct fault *fault)
{
	struct survey survey = {.profile = profile, .progress = progress, .fault = fault, .cursor = malloc(sizeof *survey.cursor)};
	uint8_t *buffer = NULL;
	size_t capacity = 0;
	int result = 0;

	if (!survey.cursor)
		return fault_memory(fault);
	for (size_t i = 0; i < profile->chunks.stream_count && !result; i++)
		result = survey_stream(&survey, &profile->chunks.streams[i], &buffer, &capacity);
	free(buffer);
	free(survey.cursor);
	if (!result)
		convert_times(&survey);
	return result;
}
