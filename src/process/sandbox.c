/* SPDX-License-Identifier: MIT
 *
 * Programs that lock themselves up.
 */
#include "config.h"

#include "process/sandbox.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tracker/session.h"
#include "tracker/start.h"

static void coming(bool strict)
{
	/* The environment is read while it can be; whoever records prepares. */
	rh_start_reading();
	rh_prepare_for_sandbox(strict);
	rh_sandboxed = true;
}

void rh_sandbox_prctl(int option, unsigned long mode)
{
	if (__builtin_expect(option == PR_SET_SECCOMP, 0) && (mode == SECCOMP_MODE_STRICT || mode == SECCOMP_MODE_FILTER))
		coming(mode == SECCOMP_MODE_STRICT);
}

void rh_sandbox_syscall(long number, long first, long second)
{
	/* Strict mode takes no flags (seccomp(2)): with one, libseccomp only finds out whether the call exists. */
	if (__builtin_expect(number == SYS_seccomp, 0) &&
	    ((first == SECCOMP_SET_MODE_STRICT && second == 0) || first == SECCOMP_SET_MODE_FILTER))
		coming(first == SECCOMP_SET_MODE_STRICT);
	else if (__builtin_expect(number == SYS_prctl, 0))
		rh_sandbox_prctl((int)first, (unsigned long)second);
}
