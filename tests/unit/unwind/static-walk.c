/* SPDX-License-Identifier: MIT
 *
 * A static program that compares rh_unwind, in the form that the static archive has, with libgcc's unwinder. Exits 0 when they agree.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "log/format.h"
#include "unwind/shapes.h"
#include "unwind/unwind.h"

#define DEPTH 256

struct list {
	const struct rh_frame *from;
	unsigned count;
	uint64_t pcs[DEPTH];
};

static unsigned walks, longest;
static struct rh_walker walker;

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *argument)
{
	struct list *list = argument;
	int exact = 0;
	uint64_t pc = _Unwind_GetIPInfo(context, &exact);

	if (list->count == 0 && (pc != list->from->pc || _Unwind_GetCFA(context) != list->from->cfa))
		return _URC_NO_REASON;
	if (pc && list->count < DEPTH)
		list->pcs[list->count++] = pc | (exact ? RH_PC_EXACT : 0);
	return _URC_NO_REASON;
}

RH_KEEPS_FRAME __attribute__((noinline)) static void compare(void)
{
	struct rh_frame from = RH_CALLER();
	static struct list ours, theirs;

	ours.count = rh_unwind(&walker, &from, ours.pcs, DEPTH);
	theirs.from = &from;
	theirs.count = 0;
	_Unwind_Backtrace(visit, &theirs);
	walks++;
	if (ours.count > longest)
		longest = ours.count;
	if (ours.count == theirs.count && memcmp(ours.pcs, theirs.pcs, ours.count * sizeof(ours.pcs[0])) == 0)
		return;
	printf("walk %u differs: %u and %u frames\n", walks, ours.count, theirs.count);
	exit(1);
}

static int order(const void *a, const void *b)
{
	compare();
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int number)
{
	(void)number;
	compare();
}

static void raise_usr1(void)
{
	raise(SIGUSR1);
}

int main(void)
{
	int values[] = {3, 1, 2, 5, 4};

	rh_unwind_init();
	for (unsigned i = 0; i < shape_count; i++)
		shapes[i].call(compare);
	shape_mix(50, compare);
	qsort(values, sizeof(values) / sizeof(values[0]), sizeof(values[0]), order);
	signal(SIGUSR1, on_signal);
	shape_mix(20, raise_usr1);
	if (walks < 20 || longest < 50 || walker.truncated || walker.fallbacks) {
		printf("%u walks, longest %u, truncated %lu, fallbacks %lu\n", walks, longest, walker.truncated, walker.fallbacks);
		return 1;
	}
	return 0;
}
