/* SPDX-License-Identifier: MIT
 *
 * operator new[](std::size_t, const std::nothrow_t &)
 */
#include "capture/operators/nothrow.h"

void *operator new[](std::size_t size, const std::nothrow_t &) noexcept
{
	const rh_frame caller = RH_CALLER();

	try {
		void *block = rh_nothrow_new(size, true, &caller);

		return block ? block : ::operator new[](size);
	} catch (...) {
		return nullptr;
	}
}
