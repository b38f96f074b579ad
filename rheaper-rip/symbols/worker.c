/* SPDX-License-Identifier: MIT
 *
 * The worker is a fork, not another program: the questions are there already, and only answers travel.
 */
#include "config.h"

#include "symbols/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "symbols/reply.h"

#define USUAL_CPU_SECONDS 60
#define LEAST_MEMORY ((size_t)1 << 30)
#define LOOKUPS 256 /* answers that are told together, and for which the time counts anew */

/* A sanitizer reserves terabytes of addresses, and its reports are to be seen. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* ---- Inside the worker ---- */

static struct symbols_reply reply; /* the only one of this process */
static const struct symbols_limits *bounds;

static void bound(int resource, uint64_t value)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return;
	limit.rlim_cur = value < limit.rlim_max ? (rlim_t)value : limit.rlim_max;
	setrlimit(resource, &limit);
}

/* The time that may pass until the next answer counts from now. */
static void bound_time(void)
{
	struct timespec used = {0};

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	bound(RLIMIT_CPU, (uint64_t)used.tv_sec + 1 + (bounds->cpu_seconds ? bounds->cpu_seconds : USUAL_CPU_SECONDS));
}

static void bound_memory(void)
{
	size_t wanted = bounds->memory, present = 0;
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	FILE *statm = fopen("/proc/self/statm", "re");

	if (!wanted)
		wanted = pages > 0 && (size_t)pages / 2 * (size_t)page > LEAST_MEMORY ? (size_t)pages / 2 * (size_t)page : LEAST_MEMORY;
	if (!statm || fscanf(statm, "%zu", &present) != 1) /* proc(5): pages of address space */
		present = 0;
	if (statm)
		fclose(statm);
	if (present && !SANITIZED)
		bound(RLIMIT_AS, present * (size_t)page + wanted);
}

/* What was found before a crash is still told. The buffer holds whole messages only, except while one is put into it. */
static void last_words(int number)
{
	symbols_reply_flush(&reply);
	signal(number, SIG_DFL);
	raise(number);
}

/* Nothing of the parent's that matters may be touched, nobody is to hear of a crash, and of two that need memory this one is to go. */
static void settle_in(void)
{
	static const int deadly[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU};
	static char stack[16384]; /* for a handler when the stack is used up */
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC), oom = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	for (size_t i = 0; i < sizeof deadly / sizeof *deadly && !SANITIZED; i++)
		sigaction(deadly[i], &(struct sigaction){.sa_handler = last_words, .sa_flags = SA_ONSTACK}, NULL);
	if (nowhere >= 0)
		dup2(nowhere, STDIN_FILENO);
	if (nowhere >= 0 && !SANITIZED) {
		dup2(nowhere, STDOUT_FILENO);
		dup2(nowhere, STDERR_FILENO);
	}
	/* Without effect where /proc is not mounted. */
	if (oom >= 0 && write(oom, "1000", 4) < 0)
		errno = 0;
	prctl(PR_SET_DUMPABLE, 0);
	bound_memory();
}

static void tell_reading(void *context, const char *path)
{
	(void)context;
	symbols_reply_reading(&reply, path);
}

static void answer(const struct symbols_question *question, const struct symbols_order *order, const struct symbols_options *given)
{
	struct symbols_options options = given ? *given : (struct symbols_options){0};
	struct symbols_frame frames[SYMBOLS_FRAMES_MAX];

	options.no_dwarf = options.no_dwarf || order->no_dwarf;
	options.reading = tell_reading;
	struct symbols *symbols = symbols_new(&options);
	struct symbols_module *module =
	    symbols ? symbols_module(symbols, question->path, question->build_id, question->build_id_size) : NULL;

	if (!module)
		_exit(1);
	symbols_reply_begin(&reply);
	bound_time();
	for (size_t i = order->from; i < question->count && !reply.failed; i++) {
		size_t count = symbols_lookup(module, question->addresses[i], frames, SYMBOLS_FRAMES_MAX);

		symbols_reply_place(&reply, frames, count);
		if ((i + 1) % LOOKUPS == 0) {
			symbols_reply_flush(&reply);
			bound_time();
		}
	}
	symbols_reply_done(&reply, symbols_status(module), symbols_reason(module), symbols_debug_file(module));
	symbols_free(symbols);
}

static _Noreturn void work(int socket, const struct symbols_question *questions, const struct symbols_options *options)
{
	struct symbols_order order;

	if (!symbols_reply_start(&reply, socket))
		_exit(1);
	while (recv(socket, &order, sizeof order, MSG_WAITALL) == (ssize_t)sizeof order && !reply.failed)
		answer(&questions[order.question], &order, options);
	_exit(0);
}

/* ---- Outside ---- */

bool symbols_worker_start(struct symbols_worker *worker, const struct symbols_question *questions, const struct symbols_options *options,
			  const struct symbols_limits *limits, const int *others_sockets, size_t others)
{
	static const struct symbols_limits usual;
	sigset_t all, old;
	int sockets[2];
	pid_t parent = getpid();

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return false;
	/* The parent's handlers unlink its unfinished files: they must not run in the child. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	worker->pid = fork();
	if (!worker->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		for (size_t i = 0; i < others; i++)
			close(others_sockets[i]);
		close(sockets[0]);
		bounds = limits ? limits : &usual;
		settle_in();
		sigprocmask(SIG_SETMASK, &old, NULL);
		work(sockets[1], questions, options);
	}
	int error = errno;

	sigprocmask(SIG_SETMASK, &old, NULL);
	close(sockets[1]);
	worker->socket = sockets[0];
	if (worker->pid < 0) {
		close(sockets[0]);
		errno = error;
	}
	return worker->pid > 0;
}

void symbols_worker_end(struct symbols_worker *worker, char *how, size_t size)
{
	int status;
	pid_t gone;

	close(worker->socket);
	kill(worker->pid, SIGKILL); /* it may be alive and have told nonsense */
	while ((gone = waitpid(worker->pid, &status, 0)) < 0 && errno == EINTR)
		;
	if (gone == worker->pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		snprintf(how, size, "used up its time");
	else if (gone == worker->pid && WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		snprintf(how, size, "crashed (%s)", strsignal(WTERMSIG(status)));
	else
		snprintf(how, size, "ended unexpectedly");
	worker->pid = 0;
}
