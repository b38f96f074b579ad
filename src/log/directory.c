/* SPDX-License-Identifier: MIT
 *
 * The profile directory and its manifest.
 */
#include "config.h"

#include "log/directory.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "log/format.h"
#include "process/path.h"
#include "process/syscalls.h"

/* Names tried after one another when an earlier process with this pid left its profiles here. */
#define ATTEMPTS 10000

/* The number of the next profile of this process: 0 is the bare name. */
static uint32_t next_number;
static int next_number_pid;

/* One caller at a time: paths need not burden the stack, which may be a signal handler's. */
static char file[RH_PATH_SCRATCH];

static int error_of(int system_error)
{
	switch (system_error) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return RHEAPER_ERROR_NO_SPACE;
	case ENAMETOOLONG:
		return RHEAPER_ERROR_PATH_TOO_LONG;
	case ENOMEM:
		return RHEAPER_ERROR_NO_MEMORY;
	default:
		return RHEAPER_ERROR_DIRECTORY;
	}
}

int rh_directory_make(const char *parent, char *path, size_t size)
{
	struct rh_text text = rh_text(path, size - RH_FILE_NAME_MAX);
	size_t stem;
	int pid = getpid();

	if (!parent || !*parent)
		parent = ".";
	if (*parent != '/') {
		if (rh_sys(SYS_getcwd, path, size - RH_FILE_NAME_MAX) < 0)
			return errno == ERANGE ? RHEAPER_ERROR_PATH_TOO_LONG : RHEAPER_ERROR_DIRECTORY;
		if (*path != '/') /* "(unreachable)": the current directory is outside our root (getcwd(2)) */
			return RHEAPER_ERROR_DIRECTORY;
		text.length = strlen(path);
		if (text.length > 1)
			rh_text_add(&text, "/");
	}
	if (strcmp(parent, ".") != 0) {
		rh_text_add(&text, parent);
		if (path[text.length - 1] != '/')
			rh_text_add(&text, "/");
	}
	rh_text_add(&text, RH_DIRECTORY_PREFIX);
	rh_text_number(&text, (uint64_t)pid);
	stem = text.length;

	if (next_number_pid != pid) {
		next_number_pid = pid;
		next_number = 0;
	}
	for (int i = 0; i < ATTEMPTS; i++, next_number++) {
		text.length = stem;
		path[stem] = '\0';
		if (next_number) {
			rh_text_add(&text, ".");
			rh_text_number(&text, next_number);
		}
		if (text.full)
			return RHEAPER_ERROR_PATH_TOO_LONG;
		if (mkdir(path, 0700) == 0) {
			next_number++;
			chmod(path, 0700); /* the umask may have taken more than it should */
			return 0;
		}
		if (errno != EEXIST)
			return error_of(errno);
	}
	return RHEAPER_ERROR_DIRECTORY;
}

void rh_directory_remove(const char *path)
{
	static const char *const names[] = {RH_FILE_MANIFEST, RH_FILE_RINGS, RH_FILE_SPILL};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct rh_text text = rh_text(file, sizeof file);

		rh_text_add(&text, path);
		rh_text_add(&text, "/");
		rh_text_add(&text, names[i]);
		unlink(file);
	}
	rmdir(path);
}

/* Lines on their way into the manifest. */
struct lines {
	int fd;
	int error; /* first errno, 0 so far */
	size_t used;
	char buffer[1024];
};

static void flush(struct lines *lines)
{
	size_t done = 0;

	while (done < lines->used && !lines->error) {
		ssize_t n = rh_sys_write(lines->fd, lines->buffer + done, lines->used - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			lines->error = errno;
	}
	lines->used = 0;
}

static void put(struct lines *lines, char c)
{
	if (lines->used == sizeof lines->buffer)
		flush(lines);
	lines->buffer[lines->used++] = c;
}

static void put_plain(struct lines *lines, const char *text)
{
	while (*text)
		put(lines, *text++);
}

static void put_escaped(struct lines *lines, const char *bytes, size_t size)
{
	for (; size; bytes++, size--) {
		const char *escape = *bytes == '\n' ? "\\n" : *bytes == '\r' ? "\\r" : *bytes == '\\' ? "\\\\" : *bytes == '\0' ? "\\0" : NULL;

		if (escape)
			put_plain(lines, escape);
		else
			put(lines, *bytes);
	}
}

static void line_text(struct lines *lines, const char *key, const char *value)
{
	put_plain(lines, key);
	put(lines, '=');
	put_escaped(lines, value, strlen(value));
	put(lines, '\n');
}

static void line_number(struct lines *lines, const char *key, uint64_t value)
{
	char buffer[24];
	struct rh_text text = rh_text(buffer, sizeof buffer);

	rh_text_number(&text, value);
	line_text(lines, key, buffer);
}

/* A share between 0 and 1 with nine decimals: what printf would do, without its locale. */
static void line_share(struct lines *lines, const char *key, double value)
{
	uint64_t billionths = (uint64_t)(value * 1e9 + 0.5);
	char buffer[24];
	struct rh_text text = rh_text(buffer, sizeof buffer);

	rh_text_number(&text, billionths / 1000000000);
	rh_text_add(&text, ".");
	for (uint64_t unit = 100000000; unit; unit /= 10)
		rh_text_number(&text, billionths / unit % 10);
	line_text(lines, key, buffer);
}

/* The content of a file, up to a byte that ends it (WHOLE: none does). */
#define WHOLE (-1)

static void line_file(struct lines *lines, const char *key, const char *path, int end)
{
	char piece[256], *found = NULL;
	ssize_t n;
	int fd = rh_sys_open(path, O_RDONLY, 0);

	put_plain(lines, key);
	put(lines, '=');
	while (fd >= 0 && !found && ((n = rh_sys_read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))) {
		if (n > 0 && end != WHOLE)
			found = memchr(piece, end, (size_t)n);
		if (n > 0)
			put_escaped(lines, piece, found ? (size_t)(found - piece) : (size_t)n);
	}
	if (fd >= 0)
		rh_sys_close(fd);
	put(lines, '\n');
}

/* When the process began, in clock ticks since boot: with its pid and the boot id that names it. (proc_pid_stat(5): field 22; the second, a name in
 * parentheses, may hold anything.) 0 if unknown. */
static uint64_t process_start(void)
{
	static char stat[1024];
	ssize_t n = rh_sys_read_file("/proc/self/stat", stat, sizeof stat - 1);
	char *p;
	uint64_t value = 0;

	stat[n > 0 ? n : 0] = '\0';
	p = strrchr(stat, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return 0;
	for (p++; *p >= '0' && *p <= '9'; p++)
		value = value * 10 + (uint64_t)(*p - '0');
	return value;
}

static int manifest_open(const char *directory, int flags)
{
	struct rh_text text = rh_text(file, sizeof file);

	rh_text_add(&text, directory);
	rh_text_add(&text, "/" RH_FILE_MANIFEST);
	return rh_sys_open(file, O_WRONLY | O_APPEND | O_NOFOLLOW | flags, 0600);
}

int rh_manifest_write(const char *directory, const struct rh_manifest *m)
{
	struct lines lines = {.fd = manifest_open(directory, O_CREAT | O_EXCL)};
	struct utsname system;
	ssize_t n;

	if (lines.fd < 0)
		return error_of(errno);
	fchmod(lines.fd, 0600);
	line_number(&lines, "format", RH_FORMAT_VERSION);
	line_text(&lines, "rheaper", PACKAGE_VERSION);
	if (uname(&system) == 0) {
		line_text(&lines, "machine", system.machine);
		line_text(&lines, "host", system.nodename);
	}
	line_number(&lines, "pid", (uint64_t)getpid());
	line_number(&lines, "parent", (uint64_t)m->parent);
	if (m->parent_profile)
		line_text(&lines, "parent_profile", m->parent_profile);
	line_number(&lines, "process_start", process_start());
	line_file(&lines, "boot_id", "/proc/sys/kernel/random/boot_id", '\n');
	n = readlink("/proc/self/exe", file, sizeof file - 1);
	file[n > 0 ? n : 0] = '\0';
	line_text(&lines, "exe", file);
	line_file(&lines, "cmdline", "/proc/self/cmdline", m->no_arguments ? '\0' : WHOLE);
	line_text(&lines, "frontend", m->frontend);
	line_text(&lines, "backend", m->backend);
	line_text(&lines, "clock", m->clock);
	line_number(&lines, "start_ticks", m->start_ticks);
	line_number(&lines, "start_monotonic", m->start_monotonic);
	line_number(&lines, "start_realtime", m->start_realtime);
	line_number(&lines, "max_stack_depth", m->config->max_stack_depth);
	line_number(&lines, "max_trackers", m->config->max_trackers);
	line_number(&lines, "tracker_event_buffer_size", m->config->tracker_event_buffer_size);
	line_share(&lines, "sample_rate", m->config->sample_rate);
	line_number(&lines, "sample_interval", m->config->sample_interval);
	flush(&lines);
	rh_sys_close(lines.fd);
	return lines.error ? error_of(lines.error) : 0;
}

void rh_manifest_end(const char *directory, uint64_t end_ticks, uint64_t end_monotonic)
{
	struct lines lines = {.fd = manifest_open(directory, 0)};

	if (lines.fd < 0)
		return;
	line_text(&lines, "ended", "disabled");
	line_number(&lines, "end_ticks", end_ticks);
	line_number(&lines, "end_monotonic", end_monotonic);
	flush(&lines);
	rh_sys_close(lines.fd);
}
