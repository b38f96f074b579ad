/* SPDX-License-Identifier: MIT
 *
 * operator delete[](void *, std::align_val_t, const std::nothrow_t &)
 */
#include "config.h"

#include "capture/operators/operators.h"

void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *block, size_t alignment, const void *nothrow)
{
	(void)nothrow;
	_ZdaPvSt11align_val_t(block, alignment);
}
