/* SPDX-License-Identifier: MIT
 *
 * What `rheaper` tells the libraries: the environment that the program is started with.
 */
#ifndef RH_LAUNCHER_SETTING_H
#define RH_LAUNCHER_SETTING_H

#include <stdbool.h>
#include <stddef.h>

/* Puts NAME=VALUE into this process's environment, if the library would take it; else says on standard error what is wrong with the option's value. */
bool setting_put(const char *option, const char *name, const char *value);

/* The absolute path of an installed library, as the loader needs it in LD_PRELOAD. NULL, with a word on standard error, if it is not there. */
const char *setting_library(const char *name, char *path, size_t size);

/* The C library's debugging library, without which there are no malloc hooks. NULL, with a word on standard error, if it is not there. */
const char *setting_debug_library(void);

/* Puts these libraries, a list with colons, before what LD_PRELOAD holds already. */
bool setting_preload(const char *libraries);

/* A program that is installed beside this one, else its bare name. */
const char *setting_beside(const char *name, char *path, size_t size);

#endif
