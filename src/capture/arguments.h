/* SPDX-License-Identifier: MIT
 *
 * The arguments of prctl(2) and syscall(2), to be passed on: up to six words, of which the caller may have passed fewer. Those that it did not pass are
 * whatever stood in their registers, which the function behind ignores as it would have without us.
 */
#ifndef RH_CAPTURE_ARGUMENTS_H
#define RH_CAPTURE_ARGUMENTS_H

#include <stdarg.h>

struct rh_arguments {
	long a, b, c, d, e, f;
};

#define RH_ARGUMENTS_AFTER(last, all)                                                                                          \
	do {                                                                                                                   \
		va_list list_;                                                                                                 \
		va_start(list_, last);                                                                                         \
		(all).a = va_arg(list_, long);                                                                                 \
		(all).b = va_arg(list_, long);                                                                                 \
		(all).c = va_arg(list_, long);                                                                                 \
		(all).d = va_arg(list_, long);                                                                                 \
		(all).e = va_arg(list_, long);                                                                                 \
		(all).f = va_arg(list_, long);                                                                                 \
		va_end(list_);                                                                                                 \
	} while (0)

#endif
