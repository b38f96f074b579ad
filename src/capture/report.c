/* SPDX-License-Identifier: MIT
 *
 * What pools and arenas report of themselves. Their objects are a domain of their own (log/format.h): they lie inside blocks of the heap.
 */
#include "config.h"

#include "process/peer.h"
#include "rheaper.h"
#include "tracker/tracker.h"

RH_KEEPS_FRAME void rheaper_report_alloc(void *p, size_t n)
{
	if (rh_tracking() && p) {
		struct rh_frame caller = RH_CALLER();

		rh_event_alloc(p, n, RH_CALL_POOL, &caller);
	} else if (rh_peer) {
		rh_peer->report_alloc(p, n);
	}
}

/* The pool has done it already, so the old object ends when the new one begins. */
RH_KEEPS_FRAME void rheaper_report_realloc(void *old, void *p, size_t n)
{
	if (rh_tracking() && p) {
		struct rh_frame caller = RH_CALLER();

		if (old)
			rh_event_realloc(old, p, n, RH_CALL_POOL_REALLOC, rh_event_realloc_begin(), &caller);
		else
			rh_event_alloc(p, n, RH_CALL_POOL_REALLOC, &caller);
	} else if (rh_peer) {
		rh_peer->report_realloc(old, p, n);
	}
}

void rheaper_report_free(void *p)
{
	if (rh_tracking() && p)
		rh_event_free(p, RH_FREE_POOL);
	else if (rh_peer)
		rh_peer->report_free(p);
}
