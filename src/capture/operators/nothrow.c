/* SPDX-License-Identifier: MIT
 *
 * What the nothrow forms of operator new do where the throwing forms are ours: the same, for the caller that they say.
 */
#include "config.h"

#include "capture/operators/operators.h"

void *rh_nothrow_new(size_t size, bool array, const struct rh_frame *caller)
{
	void *block;

	if (!RH_IS_OURS(_Znwm, rh_operator_new) || (array && !RH_IS_OURS(_Znam, rh_operator_new_array)))
		return NULL;
	block = rh_allocate_object(size);
	if (rh_tracking())
		rh_record(block, size, array ? RH_CALL_NEW_ARRAY : RH_CALL_NEW, caller);
	return block;
}

void *rh_nothrow_new_aligned(size_t size, size_t alignment, bool array, const struct rh_frame *caller)
{
	void *block;

	if (!RH_IS_OURS(_ZnwmSt11align_val_t, rh_operator_new_aligned) ||
	    (array && !RH_IS_OURS(_ZnamSt11align_val_t, rh_operator_new_array_aligned)))
		return NULL;
	block = rh_allocate_aligned_object(size, alignment);
	if (rh_tracking())
		rh_record(block, size, array ? RH_CALL_NEW_ARRAY_ALIGNED : RH_CALL_NEW_ALIGNED, caller);
	return block;
}
