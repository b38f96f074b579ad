/* SPDX-License-Identifier: MIT
 *
 * Tracking switched off, on, on, off, off. */
#include "case.h"
#include <stdio.h>
#include <stdlib.h>

static void *tracked(void)
{
	return malloc(7577);
}

int main(void)
{
	case_off(); /* disable with nothing enabled */
	int a = case_on("."), b = case_on("."); /* second one must be refused or ignored, not restart */
	for (int i = 0; i < 10; i++) {
		void *p = tracked();
		if (i < 3)
			free(p);
	}
	int c = case_off(), d = case_off();
	for (int i = 0; i < 5; i++)
		(void)!malloc(7583);
	if (case_enable && (a != 0 || b == 0 || c != 0 || d == 0))
		return 1;
	puts("ok");
	return 0;
}
