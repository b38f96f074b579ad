/* SPDX-License-Identifier: MIT
 *
 * RLIMIT_FSIZE, and the signal that comes with it.
 *   limits default      the limit comes after tracking began, SIGXFSZ has its default action, which kills
 *   limits handler      ... and the program has a handler: it sees its own signal only
 *   limits thread       ... and one that is blocked and pending for the thread stays so
 *   limits process      ... and one that is blocked and pending for the process
 *   limits ignored      ... and an ignored one stays ignored
 *   limits before N     the limit of N bytes stands before: tracking cannot start, and says why
 * Each allocates 200000 blocks of 1 to 8 bytes. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "program.h"

enum { BLOCKS = 200000 };

static volatile sig_atomic_t seen;

static void handler(int number)
{
	(void)number;
	seen++;
}

static void limit(rlim_t size)
{
	struct rlimit value = {size, size};

	CHECK(setrlimit(RLIMIT_FSIZE, &value) == 0);
}

static int pending(void)
{
	sigset_t set;

	CHECK(sigpending(&set) == 0);
	return sigismember(&set, SIGXFSZ);
}

static int blocked(void)
{
	sigset_t set;

	CHECK(pthread_sigmask(SIG_BLOCK, NULL, &set) == 0);
	return sigismember(&set, SIGXFSZ);
}

static void allocate(void)
{
	for (int i = 0; i < BLOCKS; i++)
		CHECK(keep(malloc((size_t)i % 8 + 1)));
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	int own = open("own", O_WRONLY | O_CREAT, 0600);
	sigset_t set;

	CHECK(argc >= 2 && own >= 0);
	if (strcmp(how, "before") == 0) {
		rheaper_config config = RHEAPER_CONFIG_INIT;

		limit(strtoul(argv[2], NULL, 10));
		errno = 77;
		CHECK(rheaper_enable_tracking(&config, NULL, 0) == RHEAPER_ERROR_NO_SPACE);
		CHECK(errno == 77 && !rheaper_tracking_enabled() && !pending() && !blocked());
		allocate();
		return 0;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	if (strcmp(how, "ignored") == 0)
		signal(SIGXFSZ, SIG_IGN);
	else if (strcmp(how, "default") != 0)
		signal(SIGXFSZ, handler);
	track(".", 0, 0);
	limit(4096);
	if (strcmp(how, "thread") == 0 || strcmp(how, "process") == 0) {
		CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
		CHECK((*how == 't' ? pthread_kill(pthread_self(), SIGXFSZ) : kill(getpid(), SIGXFSZ)) == 0);
		CHECK(pending());
	}
	allocate();
	CHECK(seen == 0);
	if (*how == 't' || *how == 'p') {
		CHECK(pending() && blocked());
		CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
		CHECK(seen == 1);
	}
	CHECK(!pending() && !blocked());
	if (strcmp(how, "default") != 0) { /* its own write beyond the limit is its own affair */
		CHECK(pwrite(own, "x", 1, 5000) == -1 && errno == EFBIG);
		CHECK(seen == (strcmp(how, "ignored") == 0 ? 0 : *how == 'h' ? 1 : 2));
	}
	puts("done");
	return 3;
}
