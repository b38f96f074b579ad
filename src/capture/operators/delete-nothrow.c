/* SPDX-License-Identifier: MIT
 *
 * operator delete(void *, const std::nothrow_t &)
 */
#include "config.h"

#include "capture/operators/operators.h"

void _ZdlPvRKSt9nothrow_t(void *block, const void *nothrow)
{
	(void)nothrow;
	_ZdlPv(block);
}
