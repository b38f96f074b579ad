/* SPDX-License-Identifier: MIT
 *
 * sandbox HOW THREADS: a seccomp filter (seccomp(2)) that kills the process at any system call but write, openat, close, mmap, munmap,
 * exit_group, rt_sigreturn and futex. So many threads are there before and wait; the filter comes by prctl (HOW `prctl`: each thread its
 * own), by syscall (`syscall`: for all threads at once), or by libseccomp (`library`, for all at once). Then main makes 60000 blocks of
 * 1000 bytes, thread t of 1001 + t bytes, every second of them freed at once; then 50 signals come, whose handler makes a block of 2003
 * bytes each. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#ifdef WITH_LIBRARY
#include <seccomp.h>
#endif

#include "program.h"

enum { BLOCKS = 60000, THREADS_MAX = 16 };

static const int allowed[] = {SYS_write, SYS_openat, SYS_close, SYS_mmap, SYS_munmap, SYS_exit_group, SYS_rt_sigreturn, SYS_futex};
#define ALLOWED (sizeof allowed / sizeof *allowed)

static struct sock_filter code[ALLOWED + 3];
static const struct sock_fprog filter = {ALLOWED + 3, code};

static void compose(void)
{
	size_t n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ALLOWED; i++)
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], (unsigned char)(ALLOWED - i), 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	CHECK(n == filter.len);
}

static void lock_up(const char *how)
{
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	if (strcmp(how, "prctl") == 0) {
		CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
	} else if (strcmp(how, "syscall") == 0) {
		CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0);
	} else {
#ifdef WITH_LIBRARY
		scmp_filter_ctx context = seccomp_init(SCMP_ACT_KILL_PROCESS);

		CHECK(context && seccomp_attr_set(context, SCMP_FLTATR_CTL_TSYNC, 1) == 0);
		for (size_t i = 0; i < ALLOWED; i++)
			CHECK(seccomp_rule_add(context, SCMP_ACT_ALLOW, allowed[i], 0) == 0);
		CHECK(seccomp_load(context) == 0);
		seccomp_release(context);
#else
		CHECK(!"built with libseccomp");
#endif
	}
}

static volatile int started, go, ended, handled;
static volatile int outside; /* main is not in malloc, which a handler must not call then */
static const char *way;

static void handler(int number)
{
	(void)number;
	if (outside && handled < 50) {
		handled++;
		keep(malloc(2003));
	}
}

static void work(size_t size)
{
	for (int i = 0; i < BLOCKS; i++) {
		void *block = keep(malloc(size));

		CHECK(block);
		if (i % 2)
			free(block);
	}
}

/* Without a system call. */
static void wait_for(volatile int *word, int value)
{
	while (*word < value)
		;
}

static void *in_thread(void *argument)
{
	if (strcmp(way, "prctl") == 0)
		lock_up(way);
	__atomic_add_fetch(&started, 1, __ATOMIC_SEQ_CST); /* a thread's beginning takes other system calls, too */
	wait_for(&go, 1);
	work((size_t)argument);
	__atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
	wait_for(&go, 2); /* a thread's end takes other system calls */
	return NULL;
}

int main(int argc, char **argv)
{
	struct itimerval often = {{0, 2000}, {0, 2000}};
	pthread_t thread;
	sigset_t alarms;
	int threads;

	CHECK(argc == 3);
	way = argv[1];
	threads = atoi(argv[2]);
	/* The heap is there, is one, and does not shrink: it takes other system calls itself. */
	CHECK(mallopt(M_MMAP_THRESHOLD, 32 << 20) == 1 && mallopt(M_ARENA_MAX, 1) == 1 && mallopt(M_TRIM_THRESHOLD, 1 << 30) == 1);
	CHECK(mallopt(M_TOP_PAD, (threads + 1) * (40 << 20)) == 1);
	free(keep(malloc(900)));
	compose();
	track(".", 0, 0);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	CHECK(pthread_sigmask(SIG_BLOCK, &alarms, NULL) == 0);
	for (int t = 0; t < threads; t++)
		CHECK(pthread_create(&thread, NULL, in_thread, (void *)(1001 + (size_t)t)) == 0);
	wait_for(&started, threads);
	CHECK(signal(SIGALRM, handler) != SIG_ERR);
	CHECK(pthread_sigmask(SIG_UNBLOCK, &alarms, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	lock_up(way);
	go = 1;
	work(1000);
	outside = 1;
	wait_for(&handled, 50);
	wait_for(&ended, threads);
	CHECK(write(1, "done\n", 5) == 5);
	_exit(0);
}
