/* SPDX-License-Identifier: MIT
 *
 * operator new[](std::size_t, std::align_val_t)
 */
#include "config.h"

#include "capture/operators/operators.h"

void *_ZnamSt11align_val_t(size_t size, size_t alignment)
{
	if (!RH_IS_OURS(_ZnwmSt11align_val_t, rh_operator_new_aligned))
		return _ZnwmSt11align_val_t(size, alignment);
	return rh_intercept_new_aligned(size, alignment, RH_CALL_NEW_ARRAY_ALIGNED);
}

void *rh_operator_new_array_aligned(size_t size, size_t alignment) __attribute__((alias("_ZnamSt11align_val_t")));
