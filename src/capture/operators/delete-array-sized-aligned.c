/* SPDX-License-Identifier: MIT
 *
 * operator delete[](void *, std::size_t, std::align_val_t)
 */
#include "config.h"

#include "capture/operators/operators.h"

void _ZdaPvmSt11align_val_t(void *block, size_t size, size_t alignment)
{
	(void)size;
	_ZdaPvSt11align_val_t(block, alignment);
}
