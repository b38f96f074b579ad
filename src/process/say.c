/* SPDX-License-Identifier: MIT
 *
 * Lines on standard error.
 */
#include "config.h"

#include "process/say.h"

#include <stdarg.h>
#include <stdbool.h>

#include "process/path.h"
#include "process/syscalls.h"

#define LINE_SIZE 8192

static struct {
	bool known;
	dev_t device, number;
	ino_t inode;
} standard_error;

void rh_say_begin(void)
{
	struct stat status;

	standard_error.known = fstat(STDERR_FILENO, &status) == 0;
	if (!standard_error.known)
		return;
	standard_error.device = status.st_dev;
	standard_error.inode = status.st_ino;
	standard_error.number = status.st_rdev;
}

void rh_say(const char *part, ...)
{
	static char line[LINE_SIZE]; /* not on a signal handler's stack; two lines at once are not expected, and harmless */
	struct rh_text text = rh_text(line, sizeof line - 1);
	struct stat status;
	va_list parts;
	int saved = errno;

	if (standard_error.known && fstat(STDERR_FILENO, &status) == 0 && status.st_dev == standard_error.device &&
	    status.st_ino == standard_error.inode && status.st_rdev == standard_error.number) {
		rh_text_add(&text, "rheaper: ");
		va_start(parts, part);
		for (; part; part = va_arg(parts, const char *))
			rh_text_add(&text, part);
		va_end(parts);
		line[text.length] = '\n';
		(void)!rh_sys_write(STDERR_FILENO, line, text.length + 1);
	}
	errno = saved;
}
