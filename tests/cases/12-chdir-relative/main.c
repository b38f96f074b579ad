/* SPDX-License-Identifier: MIT
 *
 * A relative profile directory, then chdir before a second thread begins to record. */
#include "case.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *th(void *a)
{
	for (int i = 0; i < 30; i++)
		free(malloc(7639));
	return a;
}

int main(void)
{
	case_on("sub/..");
	(void)!malloc(7643);
	if (chdir("/"))
		return 1;
	pthread_t t;
	pthread_create(&t, 0, th, 0);
	pthread_join(t, 0); /* this thread's log is created after chdir */
	for (int i = 0; i < 7000; i++)
		free(malloc(7649));
	case_off();
	puts("ok");
	return 0;
}
