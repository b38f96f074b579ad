/* SPDX-License-Identifier: MIT
 *
 * operator delete[](void *, std::size_t)
 */
#include "config.h"

#include "capture/operators/operators.h"

void _ZdaPvm(void *block, size_t size)
{
	(void)size;
	_ZdaPv(block);
}
