/* SPDX-License-Identifier: MIT
 *
 * What the environment asks for.
 */
#include "config.h"

#include "process/environment.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "unwind/unwind.h"

extern void *__libc_stack_end; /* of the dynamic loader, or of a static program's libc: the stack pointer at the start */

/* The environment's vector as the kernel laid it out. */
static char **initial_environment(void)
{
	long *stack = __libc_stack_end;

	return (char **)(stack + 1 + *stack + 1); /* argc, argv[argc], NULL */
}

/* What follows `name=` in a string of the environment, or NULL. */
static const char *value_of(const char *string, const char *name)
{
	size_t length = strlen(name);

	return strncmp(string, name, length) == 0 && string[length] == '=' ? string + length + 1 : NULL;
}

/* A decimal number, all of the string. */
static bool read_number(const char *text, uint64_t most, uint64_t *number)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || value > (UINT64_MAX - 9) / 10)
			return false;
		value = value * 10 + (uint64_t)(*text - '0');
	}
	*number = value;
	return value <= most;
}

static bool read_uint32(const char *text, uint32_t *field)
{
	uint64_t number;

	if (!read_number(text, UINT32_MAX, &number))
		return false;
	*field = (uint32_t)number;
	return true;
}

static bool read_switch(const char *text, bool *field)
{
	if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
		return false;
	*field = *text == '1';
	return true;
}

/* A share: 1, 0.25, .5. Neither locale nor exponent. */
static bool read_share(const char *text, double *field)
{
	uint64_t whole = 0, unit = 1, part = 0;
	const char *digits = text;

	for (; *text >= '0' && *text <= '9' && whole < 1000; text++)
		whole = whole * 10 + (uint64_t)(*text - '0');
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++)
			if (unit < UINT64_C(1000000000000)) {
				part = part * 10 + (uint64_t)(*text - '0');
				unit *= 10;
			}
	if (*text || !*digits || strcmp(digits, ".") == 0)
		return false;
	*field = (double)whole + (double)part / (double)unit;
	return *field <= 1.0;
}

/* Bytes: a number, with K, M or G behind it. */
static bool read_bytes(const char *text, uint64_t *field)
{
	char digits[24];
	size_t length = strlen(text);
	unsigned shift = 0;

	if (length && length < sizeof digits) {
		const char *unit = strchr("KMG", text[length - 1]);

		if (unit) {
			shift = 10 * (unsigned)(*unit == 'K' ? 1 : *unit == 'M' ? 2 : 3);
			length--;
		}
	}
	if (!length || length >= sizeof digits)
		return false;
	memcpy(digits, text, length);
	digits[length] = '\0';
	if (!read_number(digits, UINT64_MAX >> shift, field))
		return false;
	*field <<= shift;
	return true;
}

/* A signal by number or name, with or without SIG; RTMIN+n and RTMAX-n too. */
static bool read_signal(const char *text, int *field)
{
	static const struct {
		const char *name;
		int number;
	} names[] = {{"HUP", SIGHUP},   {"INT", SIGINT},     {"QUIT", SIGQUIT}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"ALRM", SIGALRM},
		     {"TERM", SIGTERM}, {"CHLD", SIGCHLD},   {"CONT", SIGCONT}, {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU}, {"URG", SIGURG},
		     {"IO", SIGIO},     {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"PWR", SIGPWR}};
	uint64_t number;

	if (strncmp(text, "SIG", 3) == 0)
		text += 3;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(text, names[i].name) == 0) {
			*field = names[i].number;
			return true;
		}
	if (strncmp(text, "RTMIN+", 6) == 0 && read_number(text + 6, 30, &number)) {
		*field = SIGRTMIN + (int)number;
		return *field <= SIGRTMAX;
	}
	if (strncmp(text, "RTMAX-", 6) == 0 && read_number(text + 6, 30, &number)) {
		*field = SIGRTMAX - (int)number;
		return *field >= SIGRTMIN;
	}
	if (!read_number(text, 64, &number) || number < 1 || number == SIGKILL || number == SIGSTOP)
		return false;
	*field = (int)number;
	return true;
}

static bool read_unwinder(const char *text, int *field)
{
	static const char *const names[] = {[RH_UNWINDER_CFI] = "cfi", [RH_UNWINDER_LIBUNWIND] = "libunwind", [RH_UNWINDER_FP] = "fp"};

	for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
		if (strcmp(text, names[i]) == 0) {
			*field = i;
			return true;
		}
	return false;
}

static bool read_directory(const char *text, char *field)
{
	size_t length = strlen(text);

	if (length >= PATH_MAX)
		return false;
	memcpy(field, text, length + 1);
	return true;
}

const char *rh_environment_take(struct rh_environment *e, const char *string, const char **value)
{
	rheaper_config *config = &e->config;
	uint64_t pid;

/* The variable `name`: its value is read by an expression in `text`, which is false when it is bad. */
#define VARIABLE(name, reading)                                                                                                \
	do {                                                                                                                   \
		const char *text = value_of(string, name);                                                                     \
		if (text) {                                                                                                    \
			*value = text;                                                                                         \
			return (reading) ? NULL : name;                                                                        \
		}                                                                                                              \
	} while (0)
	VARIABLE("RHEAPER_ENABLE", read_switch(text, &e->enable));
	VARIABLE("RHEAPER_FOLLOW_FORK", read_switch(text, &e->follow));
	VARIABLE("RHEAPER_QUIET", read_switch(text, &e->quiet));
	VARIABLE("RHEAPER_NO_CMDLINE", read_switch(text, &e->no_arguments));
	VARIABLE("RHEAPER_TOGGLE_SIGNAL", read_signal(text, &e->toggle_signal));
	VARIABLE("RHEAPER_PROFILE_DIR", read_directory(text, e->profile_dir));
	VARIABLE("RHEAPER_MAX_STACK_DEPTH", read_uint32(text, &config->max_stack_depth));
	VARIABLE("RHEAPER_MAX_TRACKERS", read_uint32(text, &config->max_trackers));
	VARIABLE("RHEAPER_TRACKER_EVENT_BUFFER_SIZE", read_uint32(text, &config->tracker_event_buffer_size));
	VARIABLE("RHEAPER_SAMPLE_RATE", read_share(text, &config->sample_rate));
	VARIABLE("RHEAPER_SAMPLE_INTERVAL", read_bytes(text, &config->sample_interval));
	VARIABLE("RHEAPER_UNWINDER", read_unwinder(text, &e->unwinder));
	VARIABLE("RHEAPER_LAUNCHED", read_number(text, INT32_MAX, &pid) && ((e->launched = (int64_t)pid), true));
#undef VARIABLE
	return NULL;
}

const char *rh_environment_read(struct rh_environment *environment, const char **value)
{
	static const rheaper_config defaults = RHEAPER_CONFIG_INIT;
	const char *bad = NULL;

	*value = NULL;
	environment->enable = environment->quiet = environment->no_arguments = false;
	environment->follow = true;
	environment->toggle_signal = 0;
	environment->launched = 0;
	environment->unwinder = -1;
	environment->config = defaults;
	environment->profile_dir[0] = '\0';
	if (getauxval(AT_SECURE)) {
		environment->follow = false;
		return NULL;
	}
	for (char **string = initial_environment(); *string; string++) {
		const char *this_value = NULL, *this_bad;

		if (strncmp(*string, "RHEAPER_", 8) != 0)
			continue;
		this_bad = rh_environment_take(environment, *string, &this_value);
		if (this_bad && !bad) {
			bad = this_bad;
			*value = this_value;
		}
	}
	environment->config.profile_dir = environment->profile_dir;
	return bad;
}
