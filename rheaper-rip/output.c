/* SPDX-License-Identifier: MIT
 *
 * Makes, publishes and removes the temporary file.
 */
#include "config.h"

#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *volatile output_unfinished;

static int check_target(const struct output *output, struct fault *fault)
{
	struct stat st;

	if (lstat(output->target, &st))
		return errno == ENOENT ? 0 : fault_errno(fault, output->target);
	if (S_ISDIR(st.st_mode))
		return fault_set(fault, output->target, FAULT_NOWHERE, "%s", strerror(EISDIR));
	if (!output->force)
		return fault_set(fault, output->target, FAULT_NOWHERE, "%s (-f replaces it)", strerror(EEXIST));
	return 0;
}

int output_start(struct output *output, const char *target, bool force, struct fault *fault)
{
	int fd;

	memset(output, 0, sizeof *output);
	output->target = target;
	output->force = force;
	if (check_target(output, fault))
		return -1;
	if (asprintf(&output->temporary, "%s.tmp-%ld", target, (long)getpid()) < 0) {
		output->temporary = NULL;
		return fault_memory(fault);
	}
	unlink(output->temporary); /* of a process that had this pid before, was killed, and is no more */
	output_unfinished = output->temporary;
	fd = open(output->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return fault_errno(fault, target);
	close(fd);
	return 0;
}

/* fsyncs the directory that holds path, so that its entry is on disk. Some file systems cannot: they say EINVAL. */
static int sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, result = 0;

	if (fd < 0 || (fsync(fd) && errno != EINVAL))
		result = -1;
	if (fd >= 0)
		close(fd);
	free(directory);
	return result;
}

int output_publish(struct output *output, struct fault *fault)
{
	int fd = open(output->temporary, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fsync(fd)) {
		fault_errno(fault, output->target);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	close(fd);
	/* link refuses a name that came up meanwhile; where the file system has no links, the check at the start must do. */
	if (!output->force && !link(output->temporary, output->target))
		unlink(output->temporary);
	else if (!output->force && errno == EEXIST)
		return fault_errno(fault, output->target);
	else if (rename(output->temporary, output->target))
		return fault_errno(fault, output->target);
	output_unfinished = NULL;
	return sync_directory(output->target) ? fault_errno(fault, output->target) : 0;
}

void output_close(struct output *output)
{
	if (output_unfinished)
		unlink(output_unfinished);
	output_unfinished = NULL;
	free(output->temporary);
	output->temporary = NULL;
}
