/* SPDX-License-Identifier: MIT
 *
 * usage: odd fork|switch|trap|line|disarm|deep|guard
 *
 * Things that no program should do, but that some do: to a profiler they happen in the middle of a recording. Only calls that are async-signal-safe are
 * ever interrupted: the program reports objects of a pool. Prints what it did, as numbers. */
#include "program.h"

#include <fenv.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1u << 31)
#endif

static sigjmp_buf out;
static volatile long reported, handled;
static volatile int stop, child;
static void *volatile kept; /* so that no compiler does without the block */

static void alarm_every(long first, long interval)
{
	struct itimerval timer = {{0, interval}, {0, first}};

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_alarm(void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigaction(SIGALRM, &action, NULL);
}

/* One object of 5 bytes from `depth` calls further in, of `frame` bytes each. */
static __attribute__((noinline)) void report(int depth, size_t frame)
{
	char room[frame];

	__asm__ volatile("" : : "r"(room) : "memory"); /* it is used */
	if (depth) {
		report(depth - 1, frame);
	} else {
		rheaper_report_alloc((void *)(uintptr_t)(16 * (reported + 1)), 5);
		reported++;
	}
	__asm__ volatile("" : : "r"(room) : "memory");
}

/* ---- a handler forks, the child returns from it and goes on ---- */

static void fork_here(int number)
{
	int status;
	pid_t pid;

	(void)number;
	if (child || handled == 100)
		return;
	pid = handled % 2 ? fork() : _Fork();
	if (pid == 0) {
		child = 1;
		rheaper_mark("child");
		return;
	}
	handled++;
	waitpid(pid, &status, 0);
	if (status)
		stop++;
}

static void forks(void)
{
	on_alarm(fork_here, 0);
	alarm_every(2000, 2000);
	while (handled < 100 && !child)
		report(30, 32);
	if (child) {
		for (int i = 0; i < 100; i++)
			report(30, 32);
		_exit(0);
	}
	alarm_every(0, 0);
	printf("reported=%ld crashed=%d\n", reported, stop);
}

/* ---- a handler ends the session and begins another with deeper stacks ---- */

static void switch_here(int number)
{
	rheaper_config config = RHEAPER_CONFIG_INIT;

	(void)number;
	config.profile_dir = ".";
	config.max_trackers = 4;
	config.tracker_event_buffer_size = 1;
	config.max_stack_depth = handled % 2 ? 1 : 4096;
	if (rheaper_disable_tracking() != 0 || rheaper_enable_tracking(&config, NULL, 0) != 0)
		stop++;
	handled++;
}

static void switches(void)
{
	on_alarm(switch_here, 0);
	alarm_every(2000, 2000);
	while (handled < 20)
		report(100, 32);
	alarm_every(0, 0);
	printf("failed=%d\n", stop);
}

/* ---- floating-point exceptions are unmasked ---- */

static void traps(void)
{
	rheaper_config config = RHEAPER_CONFIG_INIT;

	untrack();
	config.profile_dir = ".";
	config.sample_rate = 0.3;
	feclearexcept(FE_ALL_EXCEPT);
	feenableexcept(FE_INEXACT | FE_INVALID | FE_OVERFLOW);
	CHECK(rheaper_enable_tracking(&config, NULL, 0) == 0);
	for (int i = 0; i < 100; i++)
		report(5, 32);
	untrack();
	CHECK(fetestexcept(FE_ALL_EXCEPT) == 0);
	track(".", 0, 0);
}

/* ---- a jump out of a getline that waits ---- */

static void jump(int number)
{
	(void)number;
	siglongjmp(out, 1);
}

static void lines(void)
{
	char *volatile line = NULL;
	size_t size = 0;
	FILE *stream;
	int fds[2];

	CHECK(pipe(fds) == 0 && (stream = fdopen(fds[0], "r")) && write(fds[1], "hello\n", 6) == 6);
	CHECK(getline((char **)&line, &size, stream) == 6);
	on_alarm(jump, 0);
	if (!sigsetjmp(out, 1)) {
		alarm_every(100000, 0);
		(void)!getline((char **)&line, &size, stream);
	}
	line = realloc(line, 5000);
	line = realloc(line, 90000);
	free(line);
}

/* ---- handlers on an alternate stack that lies further out, and of which the kernel does not tell ---- */

static void report_here(int number)
{
	(void)number;
	rheaper_report_alloc((void *)(uintptr_t)(0x40000000 + 16 * handled), 7);
	handled++;
}

static void disarmed(void)
{
	char stack[65536];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack, .ss_flags = (int)SS_AUTODISARM};

	CHECK(sigaltstack(&alternate, NULL) == 0);
	on_alarm(report_here, SA_ONSTACK);
	alarm_every(200, 200);
	while (handled < 2000)
		report(60, 32);
	alarm_every(0, 0);
	printf("reported=%ld handled=%ld\n", reported, handled);
}

/* ---- jumps back over much stack ---- */

static void deep(void)
{
	on_alarm(jump, 0);
	for (volatile int i = 0; i < 40; i++)
		if (!sigsetjmp(out, 1)) {
			alarm_every(2000, 0);
			for (;;)
				report(50, 30000);
		}
	for (int i = 0; i < 1000; i++) {
		kept = malloc(4242);
		free(kept);
	}
}

/* ---- a stack that ends at a guard page, entered by code that no CFI describes rightly ---- */

static void one_block(void)
{
	kept = malloc(4243);
	free(kept);
}

#if defined(__x86_64__)
static __attribute__((noinline)) void call_on(void *top, void (*function)(void))
{
	__asm__ volatile("mov %%rsp, %%rbx\n\tmov %0, %%rsp\n\tcall *%1\n\tmov %%rbx, %%rsp"
			 :
			 : "r"(top), "r"(function)
			 : "rbx", "memory", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
}

static void guarded(void)
{
	const size_t size = 65536, guard = 4096;
	char *stack = mmap(NULL, size + guard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(stack != MAP_FAILED && mprotect(stack + size, guard, PROT_NONE) == 0);
	for (int i = 0; i < 10; i++)
		call_on(stack + size, one_block);
}
#else
static void guarded(void)
{
	for (int i = 0; i < 10; i++)
		one_block();
}
#endif

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = {{"fork", forks}, {"switch", switches}, {"trap", traps}, {"line", lines},
		    {"disarm", disarmed}, {"deep", deep}, {"guard", guarded}};

	track(".", 0, strcmp(argv[1], "fork") == 0 ? 1000 : 0);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
			ways[i].run();
	untrack();
	return 0;
}
