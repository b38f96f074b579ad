/* SPDX-License-Identifier: MIT
 *
 * operator delete[](void *, std::align_val_t)
 */
#include "config.h"

#include "capture/operators/operators.h"

void _ZdaPvSt11align_val_t(void *block, size_t alignment)
{
	_ZdlPvSt11align_val_t(block, alignment);
}
