/* SPDX-License-Identifier: MIT
 *
 * operator delete[](void *)
 */
#include "config.h"

#include "capture/operators/operators.h"

void _ZdaPv(void *block)
{
	_ZdlPv(block);
}
