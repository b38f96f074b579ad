/* SPDX-License-Identifier: MIT
 *
 * Inlined functions and a tail call, optimised; malloc called through a pointer. */
#include <stdio.h>
#include <stdlib.h>

extern void *(*volatile alloc_fn)(size_t);
void *(*volatile alloc_fn)(size_t) = malloc;

static inline __attribute__((always_inline)) void *leaf_inl(size_t n)
{
	void *p = alloc_fn(n); /* LEAF */
	*(volatile char *)p = 1;
	return p;
}

static inline __attribute__((always_inline)) void *mid_inl(size_t n)
{
	void *p = leaf_inl(n); /* MID */
	*(volatile char *)p = 2;
	return p;
}

__attribute__((noinline)) void *outer_real(size_t n)
{
	void *p = mid_inl(n); /* OUTER */
	*(volatile char *)p = 3;
	return p;
}

__attribute__((noinline)) void *tail_callee(size_t n)
{
	void *p = malloc(n);
	*(volatile char *)p = 4;
	return p;
}

__attribute__((noinline)) void *tail_caller(size_t n)
{
	return tail_callee(n + 1); /* becomes a jump */
}

int main(void)
{
	for (int i = 0; i < 60; i++) {
		void *p = outer_real(7717);
		if (i < 20)
			free(p);
	}
	for (int i = 0; i < 30; i++) {
		void *p = tail_caller(7722);
		*(volatile char *)p = 5;
	}
	puts("ok");
	return 0;
}
