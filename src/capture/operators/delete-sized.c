/* SPDX-License-Identifier: MIT
 *
 * operator delete(void *, std::size_t)
 */
#include "config.h"

#include "capture/operators/operators.h"

void _ZdlPvm(void *block, size_t size)
{
	(void)size;
	_ZdlPv(block);
}
