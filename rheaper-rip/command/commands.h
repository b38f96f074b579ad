/* SPDX-License-Identifier: MIT
 *
 * The table of verbs. Each stands in a file of its own, which this names.
 */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "command/command.h"

extern const struct command command_main_job; /* command/main-job.c */
extern const struct command command_info;     /* command/info.c */

/* In the order of --help, without the main job; ends with NULL. */
extern const struct command *const commands[];

#endif
