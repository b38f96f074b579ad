/* SPDX-License-Identifier: MIT
 *
 * Who answers what: the questions, largest first, go to whichever worker is free; a dead worker's question comes back.
 */
#include "config.h"

#include "symbols/question.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "symbols/reply.h"
#include "symbols/worker.h"

#define WORKERS_MAX 4	   /* each may hold a debug file's index in memory */
#define ADDRESSES_EACH 500 /* fewer are not worth a further process */
#define IDLE SIZE_MAX

struct seat {
	struct symbols_worker worker; /* pid 0: none */
	size_t question;	      /* or IDLE */
	struct symbols_reception reception;
};

struct office {
	struct symbols_question *questions;
	const struct symbols_options *options;
	const struct symbols_limits *limits;
	struct symbols_strings *strings;
	struct progress *progress;
	size_t *queue; /* numbers of questions; those at [next, count) are not taken yet */
	size_t next, count;
	struct seat seats[WORKERS_MAX];
	size_t seat_count;
};

static const struct symbols_question *sorted; /* for by_size */

static int by_size(const void *left, const void *right)
{
	size_t a = *(const size_t *)left, b = *(const size_t *)right;

	if (sorted[a].count != sorted[b].count)
		return sorted[a].count > sorted[b].count ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* All addresses that have no answer yet stay unknown. False when memory is out. */
static bool give_up(struct symbols_question *question, const char *status, const char *reason)
{
	static const struct symbols_frame unknown;

	while (question->answered < question->count)
		if (!symbols_question_answer(question, &unknown, 1))
			return false;
	question->status = status;
	question->reason = reason;
	return true;
}

/* A seat gets a worker, if there can be one. */
static bool employ(struct office *office, struct seat *seat)
{
	int sockets[WORKERS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < office->seat_count; i++)
		if (office->seats[i].worker.pid)
			sockets[count++] = office->seats[i].worker.socket;
	symbols_reception_reset(&seat->reception);
	seat->question = IDLE;
	if (symbols_worker_start(&seat->worker, office->questions, office->options, office->limits, sockets, count))
		return true;
	seat->worker.pid = 0;
	return false;
}

/* Its worker is gone or must go. The question comes back, to be answered without what killed it, or is given up. */
static bool dismiss(struct office *office, struct seat *seat)
{
	struct symbols_question *question = seat->question == IDLE ? NULL : &office->questions[seat->question];
	char how[64], text[4096 + 128];

	symbols_worker_end(&seat->worker, how, sizeof how);
	if (!question)
		return true;
	const char *file = question->reading ? question->reading : question->path;

	snprintf(text, sizeof text, "the worker %s while it read %s", how, file);
	question->death = symbols_strings_add(office->strings, text, strlen(text));
	if (!question->death)
		return false;
	if (question->no_dwarf) {
		seat->question = IDLE;
		return give_up(question, "damaged", question->death);
	}
	question->no_dwarf = true;
	office->queue[--office->next] = seat->question;
	seat->question = IDLE;
	return true;
}

static void give_order(struct office *office, struct seat *seat)
{
	size_t number = office->queue[office->next++];
	const struct symbols_question *question = &office->questions[number];
	const struct symbols_order order = {(uint32_t)number, (uint32_t)question->answered, question->no_dwarf};

	seat->question = number;
	symbols_reception_reset(&seat->reception);
	/* If it is dead already, its socket says so when we listen. */
	(void)!send(seat->worker.socket, &order, sizeof order, MSG_NOSIGNAL);
}

/* Every question that waits goes to a free worker. False when memory is out. */
static bool assign(struct office *office)
{
	bool any = false;

	for (size_t i = 0; i < office->seat_count && office->next < office->count; i++) {
		struct seat *seat = &office->seats[i];

		if (!seat->worker.pid && !employ(office, seat))
			continue;
		if (seat->question == IDLE)
			give_order(office, seat);
	}
	for (size_t i = 0; i < office->seat_count; i++)
		any = any || office->seats[i].worker.pid;
	if (any)
		return true;
	int error = errno;

	while (office->next < office->count) {
		char text[256];

		snprintf(text, sizeof text, "no process could be started to look for them: %s", strerror(error));
		const char *reason = symbols_strings_add(office->strings, text, strlen(text));

		if (!reason || !give_up(&office->questions[office->queue[office->next++]], "failed", reason))
			return false;
	}
	return true;
}

/* Takes what a worker has to say. False when memory is out. */
static bool listen_to(struct office *office, struct seat *seat)
{
	static unsigned char bytes[65536];
	ssize_t size = recv(seat->worker.socket, bytes, sizeof bytes, 0);

	if (size < 0 && errno == EINTR)
		return true;
	if (size <= 0 || seat->question == IDLE)
		return dismiss(office, seat);
	struct symbols_question *question = &office->questions[seat->question];
	size_t before = question->answered;
	enum symbols_received received = symbols_receive(&seat->reception, bytes, (size_t)size, question, office->strings);

	progress_add(office->progress, question->answered - before);
	switch (received) {
	case SYMBOLS_RECEIVED_PART:
		return true;
	case SYMBOLS_RECEIVED_ALL:
		if (question->death) {
			question->status = "damaged";
			question->reason = question->death;
		}
		seat->question = IDLE;
		return true;
	case SYMBOLS_RECEIVED_NONSENSE:
		return dismiss(office, seat);
	case SYMBOLS_RECEIVED_NO_MEMORY:
		break;
	}
	return false;
}

/* False when memory is out. */
static bool run(struct office *office)
{
	for (;;) {
		struct pollfd polls[WORKERS_MAX];
		size_t of[WORKERS_MAX];
		nfds_t busy = 0;

		if (!assign(office))
			return false;
		for (size_t i = 0; i < office->seat_count; i++) {
			if (office->seats[i].question == IDLE)
				continue;
			of[busy] = i;
			polls[busy++] = (struct pollfd){.fd = office->seats[i].worker.socket, .events = POLLIN};
		}
		if (!busy)
			return true;
		if (poll(polls, busy, -1) < 0 && errno != EINTR)
			return false;
		for (nfds_t i = 0; i < busy; i++)
			if (polls[i].revents && !listen_to(office, &office->seats[of[i]]))
				return false;
	}
}

static size_t workers_for(const struct office *office, size_t addresses)
{
	cpu_set_t cpus;
	size_t wanted = office->limits ? office->limits->workers : 0;

	if (!wanted) {
		wanted = sched_getaffinity(0, sizeof cpus, &cpus) ? 1 : (size_t)CPU_COUNT(&cpus);
		if (wanted > 1 + addresses / ADDRESSES_EACH)
			wanted = 1 + addresses / ADDRESSES_EACH;
	}
	if (wanted > office->count)
		wanted = office->count;
	return wanted < WORKERS_MAX ? wanted : WORKERS_MAX;
}

bool symbols_ask(struct symbols_question *questions, size_t count, const struct symbols_options *options, const struct symbols_limits *limits,
		 struct symbols_strings *strings, struct progress *progress)
{
	struct office office = {questions, options, limits, strings, progress, .count = count};
	size_t addresses = 0;
	bool done = true;

	office.queue = calloc(count + 1, sizeof *office.queue);
	if (!office.queue)
		return false;
	for (size_t i = 0; i < count; i++) {
		office.queue[i] = i;
		addresses += questions[i].count;
		questions[i].first = calloc(questions[i].count + 1, sizeof *questions[i].first);
		done = done && questions[i].first;
	}
	sorted = questions;
	qsort(office.queue, count, sizeof *office.queue, by_size);
	office.seat_count = workers_for(&office, addresses);
	for (size_t i = 0; i < WORKERS_MAX; i++)
		office.seats[i].question = IDLE;
	done = done && run(&office);
	for (size_t i = 0; i < office.seat_count; i++) {
		char how[64];

		if (office.seats[i].worker.pid)
			symbols_worker_end(&office.seats[i].worker, how, sizeof how);
		symbols_reception_free(&office.seats[i].reception);
	}
	free(office.queue);
	return done;
}

void symbols_questions_free(struct symbols_question *questions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(questions[i].frames);
		free(questions[i].first);
		questions[i].frames = NULL;
		questions[i].first = NULL;
	}
}
