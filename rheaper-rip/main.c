/* SPDX-License-Identifier: MIT
 *
 * rheaper-rip: the verb is the first word, if it is one.
 */
#include "config.h"

#include "command/commands.h"

#include <string.h>

int main(int argc, char **argv)
{
	command_catch_signals();
	for (size_t i = 0; commands[i] && argc > 1; i++)
		if (commands[i]->verb && !strcmp(argv[1], commands[i]->verb))
			return commands[i]->run(commands[i], argc - 1, argv + 1);
	return command_main_job.run(&command_main_job, argc, argv);
}
