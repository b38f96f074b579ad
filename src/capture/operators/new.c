/* SPDX-License-Identifier: MIT
 *
 * operator new(std::size_t)
 */
#include "config.h"

#include "capture/operators/operators.h"

void *_Znwm(size_t size)
{
	return rh_intercept_new(size, RH_CALL_NEW);
}

void *rh_operator_new(size_t size) __attribute__((alias("_Znwm")));
