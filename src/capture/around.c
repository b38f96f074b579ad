/* SPDX-License-Identifier: MIT
 *
 * dlclose, _Fork, _exit, _Exit, quick_exit, prctl, syscall and __cxa_atexit in a preloaded library, over the next definition of each.
 */
#include "config.h"

#include "capture/around.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/arguments.h"
#include "process/modules.h"
#include "process/sandbox.h"
#include "process/syscalls.h"
#include "tracker/start.h"

#define RH_AROUND __attribute__((visibility("default")))

/* Not declared by a header. */
int __cxa_atexit(void (*function)(void *), void *argument, void *object);

static int (*next_dlclose)(void *handle);
static void (*next__exit)(int status);
static void (*next__Exit)(int status);
static void (*next_quick_exit)(int status);
static pid_t (*next__Fork)(void);

static int (*next_prctl)(int option, ...);
static long (*next_syscall)(long number, ...);

#define FIND(name) (*(void **)&next_##name = dlsym(RTLD_NEXT, #name))

void rh_around_begin(void)
{
	FIND(dlclose);
	FIND(_exit);
	FIND(_Exit);
	FIND(quick_exit);
	FIND(_Fork);
	FIND(prctl);
	FIND(syscall);
}

/* ---- processes that lock themselves up ---- */

RH_AROUND int prctl(int option, ...)
{
	struct rh_arguments all;

	RH_ARGUMENTS_AFTER(option, all);
	rh_sandbox_prctl(option, (unsigned long)all.a);
	if (!next_prctl)
		FIND(_Fork);
	FIND(prctl);
	return next_prctl(option, all.a, all.b, all.c, all.d);
}

RH_AROUND long syscall(long number, ...)
{
	struct rh_arguments all;

	RH_ARGUMENTS_AFTER(number, all);
	rh_sandbox_syscall(number, all.a, all.b);
	if (!next_syscall)
		FIND(syscall);
	return next_syscall(number, all.a, all.b, all.c, all.d, all.e, all.f);
}

/* ---- code that goes away, processes that end in a hurry ---- */

RH_AROUND int dlclose(void *handle)
{
	int result;

	if (!next_dlclose)
		FIND(dlclose);
	rh_modules_changing();
	result = next_dlclose(handle);
	rh_modules_changed();
	return result;
}

/* Async-signal-safe, so nothing is looked up here; glibc has it from 2.34 on, and who calls it has it. */
RH_AROUND pid_t _Fork(void)
{
	pid_t child = next__Fork ? next__Fork() : (pid_t)rh_sys(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (child == 0)
		rh_forked();
	return child;
}

static void end(void)
{
	rh_note_exit();
	rh_say_closing_line();
}

/* All that _exit does (_exit(2)). */
static _Noreturn void leave(int status)
{
	for (;;)
		rh_sys(SYS_exit_group, status);
}

RH_AROUND void _exit(int status)
{
	end();
	if (next__exit)
		next__exit(status);
	leave(status);
}

RH_AROUND void _Exit(int status)
{
	end();
	if (next__Exit)
		next__Exit(status);
	leave(status);
}

/* Its handlers may still allocate, and are recorded. */
RH_AROUND void quick_exit(int status)
{
	end();
	if (!next_quick_exit)
		FIND(quick_exit);
	next_quick_exit(status);
	leave(status);
}

/* ---- the last moment for the closing line ---- */

/* Of so many functions that the program registers. */
#define EXIT_FUNCTIONS_MAX 4

static int (*next___cxa_atexit)(void (*function)(void *), void *argument, void *object);

static void say(void *unused)
{
	(void)unused;
	rh_say_closing_line();
}

/* What the program registers by atexit may close standard error, as that of GNU's utilities does: the line must be said before. The last function that is
 * registered is the first to be called. atexit passes no argument (it is linked into the program), static destructors pass their object. */
RH_AROUND int __cxa_atexit(void (*function)(void *), void *argument, void *object)
{
	static unsigned count;
	int result;

	if (!next___cxa_atexit)
		FIND(__cxa_atexit);
	result = next___cxa_atexit(function, argument, object);
	if (result == 0 && !argument && rh_closing_line_due() && __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) < EXIT_FUNCTIONS_MAX)
		next___cxa_atexit(say, NULL, NULL);
	return result;
}
