/* SPDX-License-Identifier: MIT
 *
 * operator new[](std::size_t)
 */
#include "config.h"

#include "capture/operators/operators.h"

void *_Znam(size_t size)
{
	if (!RH_IS_OURS(_Znwm, rh_operator_new))
		return _Znwm(size);
	return rh_intercept_new(size, RH_CALL_NEW_ARRAY);
}

void *rh_operator_new_array(size_t size) __attribute__((alias("_Znam")));
