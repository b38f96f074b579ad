/* SPDX-License-Identifier: MIT
 *
 * operator delete(void *)
 */
#include "config.h"

#include "capture/operators/operators.h"

void _ZdlPv(void *block)
{
	rh_intercept_free(block);
}
