/* SPDX-License-Identifier: MIT
 *
 * A worker process: has all questions in its memory, is told which to answer, and dies of what it reads without harm to anyone.
 */
#ifndef SYMBOLS_WORKER_H
#define SYMBOLS_WORKER_H

#include "symbols/question.h"

#include <sys/types.h>

struct symbols_worker {
	pid_t pid;
	int socket; /* orders (symbols/reply.h) go in, messages come out; it ends when the worker does */
};

/* Starts one. It ends when the socket's other end is closed or its parent dies; others_sockets are those of its brothers, for it to close. False
 * with errno when there can be none. */
bool symbols_worker_start(struct symbols_worker *worker, const struct symbols_question *questions, const struct symbols_options *options,
			  const struct symbols_limits *limits, const int *others_sockets, size_t others);

/* Ends it, if it has not ended, and writes how it died: "crashed (Segmentation fault)" and the like. */
void symbols_worker_end(struct symbols_worker *worker, char *how, size_t size);

#endif
