/* SPDX-License-Identifier: MIT
 *
 * Tells how processes ended. The library's own word comes first; then another profile of the same process, which took its program's place
 * by exec; then the machine itself: a process that is not there any more, and said nothing, was killed.
 */
#include "config.h"

#include "replay/lives.h"

#include "read/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

const char *replay_life_word(enum replay_life ended)
{
	static const char *const words[] = {"unknown", "disabled", "exit", "exec", "killed"};

	return words[ended];
}

/* The machine that this runs on. Empty strings: unknown. */
struct machine {
	struct utsname system;
	char boot_id[64];
};

/* The beginning of a file of /proc, as a string; "" when it cannot be read. */
static void read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read_file_at(fd, text, size - 1, 0);

	text[got > 0 ? got : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

static void look_around(struct machine *machine)
{
	if (uname(&machine->system))
		machine->system.nodename[0] = '\0';
	read_text("/proc/sys/kernel/random/boot_id", machine->boot_id, sizeof machine->boot_id);
	machine->boot_id[strcspn(machine->boot_id, "\n")] = '\0';
}

static const char *text_of(const struct replay_process *process, const char *key)
{
	const char *text = read_manifest_text(&process->profile.manifest, key);

	return text ? text : "";
}

static uint64_t number_of(const struct replay_process *process, const char *key)
{
	return read_manifest_number(&process->profile.manifest, key, 0);
}

/* Both known, and the same. */
static bool same(const char *a, const char *b)
{
	return *a && !strcmp(a, b);
}

/* Whether the process with that pid is another one than the one that began at `start` (clock ticks since boot), or none. A process that
 * cannot be looked at (proc(5), hidepid) may be the one. */
static bool is_gone(pid_t pid, uint64_t start)
{
	char path[64], stat[1024], *p;

	if (kill(pid, 0) && errno == ESRCH)
		return true;
	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	read_text(path, stat, sizeof stat);
	/* proc_pid_stat(5): the second field, a name in parentheses, may hold anything; the third is the state, field 22 the start. */
	p = strrchr(stat, ')');
	if (!p || p[1] != ' ')
		return false;
	if (p[2] == 'Z' || p[2] == 'X')
		return true;
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p && start && strtoull(p + 1, NULL, 10) != start;
}

/* It said nothing of an end. Only the machine that it ran on can tell that it is over: elsewhere its pid means nothing. */
static bool was_killed(const struct replay_process *process, const struct machine *machine)
{
	uint64_t pid = number_of(process, "pid");

	if (!same(machine->system.nodename, text_of(process, "host")) || !*machine->boot_id || !*text_of(process, "boot_id") || !pid ||
	    pid > INT_MAX)
		return false;
	return !same(machine->boot_id, text_of(process, "boot_id")) || is_gone((pid_t)pid, number_of(process, "process_start"));
}

/* Processes by what tells them from all others: boot, pid and start; of the same the one that began to record first comes first. */
static int by_identity(const void *left, const void *right)
{
	const struct replay_process *a = *(const struct replay_process *const *)left, *b = *(const struct replay_process *const *)right;
	int boots = strcmp(text_of(a, "boot_id"), text_of(b, "boot_id"));
	static const char *const keys[] = {"pid", "process_start", "start_monotonic"};

	for (size_t i = 0; i < sizeof keys / sizeof *keys && !boots; i++)
		if (number_of(a, keys[i]) != number_of(b, keys[i]))
			return number_of(a, keys[i]) < number_of(b, keys[i]) ? -1 : 1;
	return boots ? boots : a < b ? -1 : a > b;
}

static enum replay_life own_word(const struct replay_process *process)
{
	if (process->profile.chunks.ended == RH_ENDED_DISABLED || same(text_of(process, "ended"), "disabled"))
		return REPLAY_DISABLED;
	return process->profile.chunks.ended == RH_ENDED_EXIT ? REPLAY_EXITED : REPLAY_UNKNOWN;
}

/* `next` follows in the order of by_identity: the same process, recorded anew. */
static bool is_succeeded(const struct replay_process *process, const struct replay_process *next)
{
	return same(text_of(process, "boot_id"), text_of(next, "boot_id")) && number_of(process, "pid") == number_of(next, "pid") &&
	       number_of(process, "process_start") && number_of(process, "process_start") == number_of(next, "process_start") &&
	       number_of(process, "start_monotonic") < number_of(next, "start_monotonic");
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* How well `other` fits as the parent: 0 not at all. A profile may have been moved since its path was written down. */
static int kinship(const struct replay_process *process, const struct replay_process *other)
{
	const char *profile = text_of(process, "parent_profile");
	char *real;
	int result;

	if (other->offset > process->offset || !same(text_of(process, "boot_id"), text_of(other, "boot_id")))
		return 0;
	if (!*profile)
		return 1;
	real = realpath(other->profile.directory, NULL);
	result = real && !strcmp(real, profile) ? 3 : real && !strcmp(base_name(real), base_name(profile)) ? 2 : 0;
	free(real);
	return result;
}

/* Of the processes with the parent's pid the one that fits best, and of equals the last that began before the child. */
static void find_parent(struct replay_process **sorted, size_t count, struct replay_process *process)
{
	const char *boot = text_of(process, "boot_id");
	uint64_t pid = number_of(process, "parent");
	struct replay_process *best = NULL;
	int best_kinship = 0;
	size_t low = 0;

	for (size_t high = count; low < high;) {
		size_t middle = low + (high - low) / 2;
		int boots = strcmp(text_of(sorted[middle], "boot_id"), boot);

		if (boots < 0 || (!boots && number_of(sorted[middle], "pid") < pid))
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && number_of(sorted[low], "pid") == pid && !strcmp(text_of(sorted[low], "boot_id"), boot); low++) {
		int found = sorted[low] == process ? 0 : kinship(process, sorted[low]);

		if (found > best_kinship || (found && found == best_kinship && sorted[low]->offset >= best->offset)) {
			best = sorted[low];
			best_kinship = found;
		}
	}
	process->parent = best;
}

bool replay_lives_find(struct replay_world *world)
{
	struct replay_process **sorted = malloc((world->count + 1) * sizeof *sorted);
	struct machine machine;

	if (!sorted)
		return false;
	look_around(&machine);
	for (size_t i = 0; i < world->count; i++)
		sorted[i] = &world->processes[i];
	qsort(sorted, world->count, sizeof *sorted, by_identity);
	for (size_t i = 0; i < world->count; i++) {
		struct replay_process *process = sorted[i];

		process->ended = own_word(process);
		if (process->ended == REPLAY_UNKNOWN && i + 1 < world->count && is_succeeded(process, sorted[i + 1]))
			process->ended = REPLAY_EXECED;
		if (process->ended == REPLAY_UNKNOWN && was_killed(process, &machine))
			process->ended = REPLAY_KILLED;
		find_parent(sorted, world->count, process);
	}
	free(sorted);
	return true;
}
