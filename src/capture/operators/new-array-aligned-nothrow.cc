/* SPDX-License-Identifier: MIT
 *
 * operator new[](std::size_t, std::align_val_t, const std::nothrow_t &)
 */
#include "capture/operators/nothrow.h"

void *operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t &) noexcept
{
	const rh_frame caller = RH_CALLER();

	try {
		void *block = rh_nothrow_new_aligned(size, static_cast<std::size_t>(alignment), true, &caller);

		return block ? block : ::operator new[](size, alignment);
	} catch (...) {
		return nullptr;
	}
}
