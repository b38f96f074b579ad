/* SPDX-License-Identifier: MIT
 *
 * operator delete(void *, std::align_val_t)
 */
#include "config.h"

#include "capture/operators/operators.h"

void _ZdlPvSt11align_val_t(void *block, size_t alignment)
{
	(void)alignment;
	rh_intercept_free(block);
}
