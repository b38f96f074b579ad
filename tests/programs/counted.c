/* SPDX-License-Identifier: MIT
 *
 * Stands for Rheaper in a program that is not linked with it: where tracking would go on and off, the preloaded counter does. */
#include <stdio.h>

#include <rheaper.h>

extern void counter_on(void) __attribute__((weak));
extern void counter_off(void) __attribute__((weak));

int rheaper_enable_tracking(const rheaper_config *config, char *path, size_t path_size)
{
	(void)config;
	if (path)
		snprintf(path, path_size, "no profile");
	if (counter_on)
		counter_on();
	return 0;
}

int rheaper_disable_tracking(void)
{
	if (counter_off)
		counter_off();
	return 0;
}

int rheaper_mark(const char *name)
{
	(void)name;
	return 0;
}

const char *rheaper_strerror(int error)
{
	(void)error;
	return "";
}
