/* SPDX-License-Identifier: MIT
 *
 * The table of verbs.
 */
#include "config.h"

#include "command/commands.h"

#include <stddef.h>

const struct command *const commands[] = {&command_info, NULL};
