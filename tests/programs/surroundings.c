/* SPDX-License-Identifier: MIT
 *
 * surroundings HOW ARGUMENT: 100000 blocks, half of them before the process's surroundings change, half after.
 *   chdir DIR       another working directory, with a relative profile directory
 *   chroot DIR      another root
 *   setuid ID       another user
 *   umask OCTAL     this umask, which is set before tracking begins
 *   rmdir DIR       DIR is the working directory when tracking begins elsewhere (..), and is deleted then
 *   gone DIR        tracking cannot begin relative to a working directory that is deleted; no blocks
 *   remove PROFILES the profile is removed while it is written; a second session is whole */
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <sys/stat.h>

#include "program.h"

enum { BLOCKS = 100000 };

static void allocate(int count)
{
	for (int i = 0; i < count; i++)
		CHECK(keep(malloc((size_t)i % 8 + 1)));
}

static void remove_profile(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	CHECK(directory);
	while ((entry = readdir(directory)))
		if (*entry->d_name != '.')
			CHECK(unlinkat(dirfd(directory), entry->d_name, 0) == 0);
	closedir(directory);
	CHECK(rmdir(path) == 0);
}

int main(int argc, char **argv)
{
	rheaper_config config = RHEAPER_CONFIG_INIT;
	char path[4096];
	const char *how = argv[1], *what = argv[2];

	CHECK(argc == 3);
	if (strcmp(how, "umask") == 0)
		umask((mode_t)strtoul(what, NULL, 8));
	if (strcmp(how, "rmdir") == 0 || strcmp(how, "gone") == 0)
		CHECK(mkdir(what, 0700) == 0 && chdir(what) == 0);
	if (strcmp(how, "gone") == 0) {
		CHECK(rmdir(what) == 0);
		config.profile_dir = "here";
		CHECK(rheaper_enable_tracking(&config, path, sizeof path) == RHEAPER_ERROR_DIRECTORY);
		CHECK(!rheaper_tracking_enabled());
		return 3;
	}
	config.profile_dir = strcmp(how, "rmdir") == 0 ? ".." : ".";
	CHECK(rheaper_enable_tracking(&config, path, sizeof path) == 0);
	CHECK(*path == '/');
	allocate(BLOCKS / 2);
	if (strcmp(how, "chdir") == 0)
		CHECK(chdir(what) == 0);
	else if (strcmp(how, "chroot") == 0)
		CHECK(chroot(what) == 0 && chdir("/") == 0);
	else if (strcmp(how, "setuid") == 0)
		CHECK(setgroups(0, NULL) == 0 && setgid((gid_t)atoi(what)) == 0 && setuid((uid_t)atoi(what)) == 0);
	else if (strcmp(how, "rmdir") == 0)
		CHECK(rmdir(what) == 0);
	else if (strcmp(how, "remove") == 0)
		remove_profile(path);
	allocate(BLOCKS / 2);
	if (strcmp(how, "remove") == 0) {
		CHECK(rheaper_disable_tracking() == 0);
		CHECK(access(path, F_OK) == -1);
		CHECK(rheaper_enable_tracking(&config, path, sizeof path) == 0);
		allocate(BLOCKS);
		CHECK(rheaper_disable_tracking() == 0);
	}
	puts("done");
	return 3;
}
