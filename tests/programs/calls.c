/* SPDX-License-Identifier: MIT
 *
 * A program that calls Rheaper's interface weakly, linked with it or not. It switches recording on and off, marks, and reports objects of a pool. With
 * RELINKED defined it is linked with Rheaper and only allocates. */
#include <rheaper.h>

#include "program.h"

#ifndef RELINKED
#pragma weak rheaper_enable_tracking
#pragma weak rheaper_disable_tracking
#pragma weak rheaper_tracking_enabled
#pragma weak rheaper_mark
#pragma weak rheaper_report_alloc
#pragma weak rheaper_report_realloc
#pragma weak rheaper_report_free
#endif

int main(int argc, char **argv)
{
	char path[4096] = "";
	void *block, *pool;

	(void)argv;
	if (argc > 2) {
#ifndef RELINKED
		if (!rheaper_enable_tracking) {
			puts("no Rheaper");
			return 0;
		}
#endif
		CHECK(!rheaper_tracking_enabled());
		CHECK(rheaper_mark("too early") == RHEAPER_ERROR_NOT_ENABLED);
		CHECK(rheaper_disable_tracking() == RHEAPER_ERROR_NOT_ENABLED);
		keep(malloc(4003));
		CHECK(rheaper_enable_tracking(NULL, path, sizeof path) == 0);
	}
	CHECK(rheaper_tracking_enabled());
	CHECK(rheaper_enable_tracking(NULL, NULL, 0) == RHEAPER_ERROR_ALREADY_ENABLED);
	block = keep(malloc(4007));
	pool = keep(malloc(4013));
	rheaper_report_alloc(pool, 4019);
	rheaper_report_realloc(pool, pool, 4027);
	rheaper_report_free(pool);
	CHECK(rheaper_mark("here") == 0);
	free(block);
	free(keep(strdup("four thousand")));
	if (argc > 2) {
		CHECK(rheaper_disable_tracking() == 0);
		keep(malloc(4049));
		CHECK(!rheaper_tracking_enabled());
	}
	puts(path);
	return 0;
}
