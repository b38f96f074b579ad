/* SPDX-License-Identifier: MIT
 *
 * __wrap_tempnam, an archive member of its own: the linker warns of programs that refer to tempnam, and only those that call it should
 * hear that.
 */
#include "config.h"

#include "capture/intercept-libc.h"
#include "capture/wrap.h"

RH_LIBC_DECLARE(tempnam);

RH_WRAPPER char *__wrap_tempnam(const char *directory, const char *prefix)
{
	uintptr_t before;
	char *result;

	if (!rh_tracking())
		return RH_LIBC(tempnam)(directory, prefix);
	before = rh_outer_begin();
	result = RH_LIBC(tempnam)(directory, prefix);
	rh_outer_end(before);
	return rh_record_string(result, RH_CALL_OTHER);
}
