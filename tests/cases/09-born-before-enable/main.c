/* SPDX-License-Identifier: MIT
 *
 * Blocks that are older than tracking, and frees that come after it. */
#include "case.h"
#include <stdio.h>
#include <stdlib.h>

static void *p[100], *q[50];

int main(void)
{
	for (int i = 0; i < 100; i++)
		p[i] = malloc(7517);
	case_on(".");
	for (int i = 0; i < 50; i++)
		q[i] = malloc(7523);
	for (int i = 0; i < 80; i++)
		free(p[i]); /* unknown to the profiler */
	void *r[20];
	for (int i = 0; i < 20; i++)
		r[i] = realloc(p[80 + i], 7529); /* unknown old block, new one is known */
	for (int i = 0; i < 20; i++)
		free(q[i]);
	for (int i = 0; i < 5; i++)
		free(r[i]);
	case_off();
	for (int i = 20; i < 50; i++)
		free(q[i]); /* after the end */
	for (int i = 0; i < 10; i++)
		(void)!malloc(7537);
	puts("ok");
	return 0;
}
