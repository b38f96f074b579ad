/* SPDX-License-Identifier: MIT
 *
 * What there is to say about a job besides the database: warnings about each profile, and the closing account.
 */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include "replay/names.h"
#include "replay/pair.h"
#include "replay/world.h"

/* Told one line without its newline. */
typedef void account_line(const char *text);

/* Says a line, made fit for a terminal (text.h). line may be NULL: no one listens. */
void account_say(account_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Events that a profile lost, by enum rh_loss: those that the log counts, and for RH_LOSS_WRITE the gaps that it has. */
uint64_t account_lost(const struct read_profile *profile, int kind);

/* The word for table losses. */
const char *account_loss_word(int kind);

/* Everything that is odd about a process's profile but no failure. */
void account_warn(account_line *line, const struct replay_process *process);

/* The closing account: events, rows, what did not pair, losses, and how the search for symbols went. */
void account_close(account_line *line, const struct replay_world *world, const struct replay_pairs *pairs,
		   const struct replay_names *names);

#endif
