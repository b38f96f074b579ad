/* SPDX-License-Identifier: MIT
 *
 * Between the cases and Rheaper: check.py links it into each of them.
 *   CASE_AUTO=1  tracking runs from the earliest constructor to the last destructor
 *   CASE_DIR     the profile_dir used then */
#include <stdlib.h>

#include <rheaper.h>

#include "case.h"

int case_enable(const char *profile_dir)
{
	rheaper_config config = RHEAPER_CONFIG_INIT;

	config.max_stack_depth = 64;
	config.profile_dir = profile_dir;
	return rheaper_enable_tracking(&config, NULL, 0);
}

int case_disable(void)
{
	return rheaper_disable_tracking();
}

__attribute__((constructor(101))) static void begin(void)
{
	if (getenv("CASE_AUTO"))
		case_enable(getenv("CASE_DIR"));
}

__attribute__((destructor(101))) static void end(void)
{
	if (getenv("CASE_AUTO"))
		case_disable();
}
