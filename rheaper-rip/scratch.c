/* SPDX-License-Identifier: MIT
 *
 * Makes files without a name.
 */
#include "config.h"

#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int scratch_open(const char *neighbour, struct fault *fault)
{
	const char *slash = strrchr(neighbour, '/');
	char *path;
	int fd;

	if (asprintf(&path, "%.*s/.rheaper-rip-XXXXXX", slash ? (int)(slash - neighbour) : 1, slash ? neighbour : ".") < 0)
		return fault_memory(fault);
	*strrchr(path, '/') = '\0';
	fd = open(*path ? path : "/", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0) { /* not every file system has O_TMPFILE: open(2) */
		path[strlen(path)] = '/';
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
	}
	if (fd < 0)
		fault_errno(fault, neighbour);
	free(path);
	return fd;
}
