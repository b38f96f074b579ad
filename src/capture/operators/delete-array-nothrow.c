/* SPDX-License-Identifier: MIT
 *
 * operator delete[](void *, const std::nothrow_t &)
 */
#include "config.h"

#include "capture/operators/operators.h"

void _ZdaPvRKSt9nothrow_t(void *block, const void *nothrow)
{
	(void)nothrow;
	_ZdaPv(block);
}
