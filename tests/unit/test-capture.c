/* SPDX-License-Identifier: MIT
 *
 * The allocator's functions in a program that is linked with the wrap flags: what they return, what they record, and that both agree
 * with the allocator's own, which is called as __real_NAME.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/intercept.h"
#include "rheaper.h"
#include "support/recording-tracker.h"

extern __typeof__(malloc) __real_malloc;
extern __typeof__(posix_memalign) __real_posix_memalign;
extern __typeof__(aligned_alloc) __real_aligned_alloc;
extern __typeof__(memalign) __real_memalign;
extern __typeof__(valloc) __real_valloc;
extern __typeof__(pvalloc) __real_pvalloc;
extern __typeof__(reallocarray) __real_reallocarray;
extern __typeof__(free) __real_free;
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

/* What the compiler cannot see through. */
static void *volatile none;
static void *volatile kept;
static volatile size_t large = SIZE_MAX / 2;

static void assert_one(enum recorded_kind kind, const void *block, size_t size, unsigned argument)
{
	assert_int_equal(recorded_count, 1);
	assert_int_equal(recorded[0].kind, kind);
	assert_ptr_equal(recorded[0].block, block);
	assert_int_equal(recorded[0].size, size);
	assert_int_equal(recorded[0].argument, argument);
}

/* The last event's frame 0 lies in this function, which begins at `start`. */
static void assert_caller(void *start)
{
	uintptr_t caller = recorded[recorded_count - 1].caller;

	assert_in_range(caller - (uintptr_t)start, 1, 400);
}

/* Calls an expression that allocates and says what must be recorded of it. */
#define ASSERT_RECORDS(expression, size, call)                    \
	do {                                                      \
		recording_on();                                   \
		kept = (expression);                              \
		recording_off();                                  \
		assert_non_null(kept);                            \
		assert_one(RECORDED_ALLOC, kept, size, call);     \
		free(kept);                                       \
	} while (0)

static void each_function_records_what_was_asked_for(void **state)
{
	(void)state;
	ASSERT_RECORDS(malloc(100), 100, RH_CALL_MALLOC);
	ASSERT_RECORDS(malloc(0), 0, RH_CALL_MALLOC);
	ASSERT_RECORDS(calloc(3, 7), 21, RH_CALL_CALLOC);
	ASSERT_RECORDS(realloc(none, 100), 100, RH_CALL_REALLOC);
	ASSERT_RECORDS(realloc(none, 0), 0, RH_CALL_REALLOC);
	ASSERT_RECORDS(reallocarray(none, 3, 7), 21, RH_CALL_REALLOCARRAY);
	ASSERT_RECORDS(aligned_alloc(64, 128), 128, RH_CALL_ALIGNED_ALLOC);
	ASSERT_RECORDS(memalign(64, 100), 100, RH_CALL_MEMALIGN);
	ASSERT_RECORDS(valloc(100), 100, RH_CALL_VALLOC);
	ASSERT_RECORDS(pvalloc(100), 100, RH_CALL_PVALLOC);
}

static void posix_memalign_records_what_was_asked_for(void **state)
{
	void *block = NULL;

	(void)state;
	recording_on();
	assert_int_equal(posix_memalign(&block, 64, 100), 0);
	recording_off();
	assert_one(RECORDED_ALLOC, block, 100, RH_CALL_POSIX_MEMALIGN);
	assert_int_equal((uintptr_t)block % 64, 0);
	free(block);
}

static __attribute__((noinline)) void call_malloc(void)
{
	kept = malloc(10);
}

static __attribute__((noinline)) void call_realloc(void)
{
	kept = realloc(kept, 20);
}

static __attribute__((noinline)) void call_pool(void)
{
	static char pool[16];

	rheaper_report_alloc(pool, sizeof pool);
	__asm__ volatile(""); /* not the last thing here, so no jump */
}

static void frame_0_is_the_caller(void **state)
{
	(void)state;
	recording_on();
	call_malloc();
	assert_caller(call_malloc);
	call_realloc();
	assert_caller(call_realloc);
	call_pool();
	assert_caller(call_pool);
	recording_off();
	free(kept);
}

static void nothing_is_recorded_while_tracking_is_off(void **state)
{
	void *block = NULL;

	(void)state;
	recording_on();
	recording_off();
	kept = malloc(10);
	kept = realloc(kept, 20);
	kept = reallocarray(kept, 20, 2);
	free(kept);
	assert_int_equal(posix_memalign(&block, 64, 10), 0);
	free(block);
	kept = valloc(1);
	free(kept);
	rheaper_report_alloc(&block, 1);
	rheaper_report_free(&block);
	assert_int_equal(recorded_count, 0);
}

static void a_failure_leaves_no_event_and_the_allocators_errno(void **state)
{
	void *block = &block;

	(void)state;
	recording_on();
#define ASSERT_FAILS(expression)                 \
	do {                                     \
		errno = 0;                       \
		kept = (expression);             \
		assert_null(kept);               \
		assert_int_equal(errno, ENOMEM); \
	} while (0)
	ASSERT_FAILS(malloc(large));
	ASSERT_FAILS(calloc(large, 4));
	ASSERT_FAILS(realloc(none, large));
	ASSERT_FAILS(reallocarray(none, large, 4));
	ASSERT_FAILS(aligned_alloc(64, large));
	ASSERT_FAILS(memalign(64, large));
	ASSERT_FAILS(valloc(large));
	ASSERT_FAILS(pvalloc(large));
	ASSERT_FAILS(pvalloc(SIZE_MAX - 10));
	assert_int_equal(posix_memalign(&block, 64, large), ENOMEM);
	assert_ptr_equal(block, &block);
	recording_off();
	assert_int_equal(recorded_count, 0);
}

static void free_is_recorded_before_the_allocator_has_the_block(void **state)
{
	uint64_t *block = malloc(64);

	(void)state;
	block[0] = 0x1111;
	block[1] = 0x2222;
	kept = block;
	recording_on();
	free(kept);
	recording_off();
	assert_one(RECORDED_FREE, kept, 0, RH_FREE_FREE);
	assert_int_equal(recorded[0].content[0], 0x1111);
	assert_int_equal(recorded[0].content[1], 0x2222);
}

static void free_of_null_is_nothing_and_errno_stays(void **state)
{
	(void)state;
	kept = malloc(10);
	errno = 77;
	recording_on();
	free(none);
	assert_int_equal(recorded_count, 0);
	free(kept);
	recording_off();
	assert_int_equal(errno, 77);
}

static void the_sized_frees_of_c23_are_frees(void **state)
{
	(void)state;
	kept = malloc(10);
	recording_on();
	free_sized(kept, 10);
	assert_one(RECORDED_FREE, kept, 0, RH_FREE_FREE);
	kept = aligned_alloc(64, 64);
	free_aligned_sized(kept, 64, 64);
	free_sized(none, 0);
	recording_off();
	assert_int_equal(recorded_count, 3);
	assert_ptr_equal(recorded[2].block, kept);
}

static void realloc_is_one_event_with_both_addresses_and_the_time_before(void **state)
{
	void *old;

	(void)state;
	kept = old = malloc(10);
	recording_on();
	kept = realloc(kept, 1000000);
	recording_off();
	assert_one(RECORDED_REALLOC, kept, 1000000, RH_CALL_REALLOC);
	assert_ptr_equal(recorded[0].old, old);
	assert_int_equal(recorded[0].begin, recorded_begins);
	recording_on();
	kept = reallocarray(kept, 10, 10);
	recording_off();
	assert_one(RECORDED_REALLOC, kept, 100, RH_CALL_REALLOCARRAY);
	free(kept);
}

static void a_failed_realloc_leaves_the_block_and_no_event(void **state)
{
	(void)state;
	kept = malloc(10);
	strcpy(kept, "content");
	recording_on();
	errno = 0;
	none = realloc(kept, large);
	assert_null(none);
	assert_int_equal(errno, ENOMEM);
	errno = 0;
	none = reallocarray(kept, large, 3);
	assert_null(none);
	assert_int_equal(errno, ENOMEM);
	recording_off();
	assert_int_equal(recorded_count, 0);
	assert_string_equal(kept, "content");
	free(kept);
}

static void realloc_to_nothing_is_a_free(void **state)
{
	void *result;

	(void)state;
	kept = malloc(64);
	memset(kept, 0x11, 64);
	recording_on();
	result = realloc(kept, 0);
	recording_off();
	assert_int_equal(recorded[0].kind, RECORDED_FREE);
	assert_int_equal(recorded[0].argument, RH_FREE_FREE);
	assert_int_equal(recorded[0].content[0], 0x1111111111111111);
	assert_int_equal(recorded_count, result ? 2 : 1); /* glibc returns NULL; C11 leaves it open */
	free(result);
}

/* Asks both the same; success, errno, alignment and room must agree. */
#define ASSERT_SAME(name, alignment, room, ...)                                            \
	do {                                                                               \
		void *ours, *theirs;                                                       \
		int our_errno, their_errno;                                                \
                                                                                           \
		errno = 0;                                                                 \
		theirs = __real_##name(__VA_ARGS__);                                       \
		their_errno = errno;                                                       \
		errno = 0;                                                                 \
		ours = name(__VA_ARGS__);                                                  \
		our_errno = errno;                                                         \
		assert_int_equal(ours == NULL, theirs == NULL);                            \
		assert_int_equal(our_errno, their_errno);                                  \
		if (ours) {                                                                \
			assert_int_equal((uintptr_t)ours % (alignment), 0);                \
			assert_true(malloc_usable_size(ours) >= (room));                   \
			assert_true(malloc_usable_size(theirs) >= (room));                 \
		}                                                                          \
		free(ours);                                                                \
		__real_free(theirs);                                                       \
	} while (0)

static void the_aligned_family_agrees_with_the_allocators_own(void **state)
{
	static const size_t alignments[] = {0, 1, 2, 3, 4, 8, 12, 16, 24, 64, 100, 4096, SIZE_MAX / 2 + 2, SIZE_MAX};
	static const size_t sizes[] = {0, 1, 100, 4096, 4097, SIZE_MAX / 2 + 1, SIZE_MAX - 4000, SIZE_MAX};

	(void)state;
	for (int tracking = 0; tracking < 2; tracking++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			size_t size = sizes[i], page = (size_t)sysconf(_SC_PAGESIZE);

			for (size_t j = 0; j < sizeof alignments / sizeof *alignments; j++) {
				size_t alignment = alignments[j];
				size_t power = alignment && !(alignment & (alignment - 1)) ? alignment : 1;
				void *ours = &ours, *theirs = &theirs;
				int result;

				if (tracking)
					recording_on();
				ASSERT_SAME(memalign, power, size, alignment, size);
				ASSERT_SAME(aligned_alloc, power, size, alignment, size);
				result = posix_memalign(&ours, alignment, size);
				recording_off();
				assert_int_equal(result, __real_posix_memalign(&theirs, alignment, size));
				if (result == 0) {
					assert_int_equal((uintptr_t)ours % alignment, 0);
					free(ours);
					free(theirs);
				} else {
					assert_ptr_equal(ours, &ours);
				}
			}
			if (tracking)
				recording_on();
			ASSERT_SAME(valloc, page, size, size);
			ASSERT_SAME(pvalloc, page, (size + page - 1) / page * page, size);
			ASSERT_SAME(reallocarray, 16, size * 3, none, size, 3);
			recording_off();
		}
}

static void malloc_usable_size_is_the_allocators(void **state)
{
	(void)state;
	kept = malloc(10);
	recording_on();
	assert_true(malloc_usable_size(kept) >= 10);
	assert_int_equal(malloc_usable_size(none), 0);
	recording_off();
	assert_int_equal(recorded_count, 0);
	free(kept);
}

/* ---- calls from inside the C library ---- */

static __attribute__((noinline)) void *allocate_deeper(void)
{
	void *block = malloc(10);

	block = realloc(block, 20);
	__asm__ volatile("" : "+r"(block));
	return block;
}

static void calls_from_below_an_outer_call_are_its_own(void **state)
{
	uintptr_t before;

	(void)state;
	recording_on();
	before = rh_outer_begin();
	free(allocate_deeper());
	assert_int_equal(recorded_count, 0);
	rh_outer_end(before);
	free(allocate_deeper());
	assert_int_equal(recorded_count, 3);
	recording_off();
}

static __attribute__((noinline)) void begin_and_leave(jmp_buf *where)
{
	rh_outer_begin();
	longjmp(*where, 1);
}

static __attribute__((noinline)) void leave_by_longjmp(jmp_buf *where)
{
	char deep[4096];

	__asm__ volatile("" : : "r"(deep) : "memory");
	begin_and_leave(where);
	__asm__ volatile("" : : "r"(deep) : "memory");
}

static void an_outer_call_left_by_longjmp_hides_nothing_of_outer_frames(void **state)
{
	jmp_buf where;

	(void)state;
	if (!setjmp(where))
		leave_by_longjmp(&where);
	recording_on();
	kept = malloc(10);
	recording_off();
	assert_int_equal(recorded_count, 1);
	rh_outer_end(0);
	free(kept);
}

/* ---- pools ---- */

static void pools_are_recorded_in_their_own_domain(void **state)
{
	static char pool[3][16];

	(void)state;
	recording_on();
	rheaper_report_alloc(pool[0], 16);
	rheaper_report_realloc(pool[0], pool[1], 12);
	rheaper_report_realloc(NULL, pool[2], 8);
	rheaper_report_free(pool[1]);
	recording_off();
	assert_int_equal(recorded_count, 4);
	assert_int_equal(recorded[0].argument, RH_CALL_POOL);
	assert_int_equal(recorded[0].size, 16);
	assert_int_equal(recorded[1].kind, RECORDED_REALLOC);
	assert_int_equal(recorded[1].argument, RH_CALL_POOL_REALLOC);
	assert_ptr_equal(recorded[1].old, pool[0]);
	assert_int_equal(recorded[2].kind, RECORDED_ALLOC);
	assert_int_equal(recorded[2].argument, RH_CALL_POOL_REALLOC);
	assert_int_equal(recorded[3].argument, RH_FREE_POOL);
}

static void pools_may_report_null(void **state)
{
	static char object[16];

	(void)state;
	recording_on();
	rheaper_report_alloc(NULL, 16);
	rheaper_report_realloc(object, NULL, 16);
	rheaper_report_free(NULL);
	recording_off();
	assert_int_equal(recorded_count, 0);
}

/* ---- dlclose ---- */

static void dlclose_tells_that_code_is_gone(void **state)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);

	(void)state;
	assert_non_null(library);
	recording_on();
	assert_int_equal(dlclose(library), 0);
	recording_off();
	assert_int_equal(recorded_module_changes, 1);
}

/* ---- sandboxes ---- */

static void prctl_and_syscall_pass_on_and_tell_of_seccomp(void **state)
{
	char name[17] = "";
	long far[6] = {0};

	(void)state;
	recorded_sandboxes = 0;
	assert_int_equal(prctl(PR_SET_NAME, "captured"), 0);
	assert_int_equal(prctl(PR_GET_NAME, name), 0);
	assert_string_equal(name, "captured");
	assert_int_equal(syscall(SYS_getpid), getpid());
	/* All six arguments arrive: the last one of mmap is the offset. */
	far[0] = syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 4096L);
	assert_true(far[0] != -1);
	munmap((void *)far[0], 4096);
	errno = 0;
	assert_int_equal(syscall(SYS_close, -1), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(recorded_sandboxes, 0);
	/* Refused by the kernel for want of a program, but seen coming. */
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL), -1);
	assert_int_equal(recorded_sandboxes, 1);
	assert_int_equal(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL), -1);
	assert_int_equal(syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0), -1);
	assert_int_equal(recorded_sandboxes, 3);
}

/* ---- the end of the process ---- */

static unsigned exits_noted(void (*leave)(int status))
{
	unsigned *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), noted;
	int status;
	pid_t child;

	assert_true(shared != MAP_FAILED);
	recorded_exits = shared;
	child = fork();
	if (child == 0) {
		leave(17);
		abort();
	}
	recorded_exits = NULL;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 17);
	noted = *shared;
	munmap(shared, sizeof *shared);
	return noted;
}

static void leaving_in_a_hurry_is_noted(void **state)
{
	(void)state;
	assert_int_equal(exits_noted(_exit), 1);
	assert_int_equal(exits_noted(_Exit), 1);
	assert_int_equal(exits_noted(quick_exit), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_function_records_what_was_asked_for),
		cmocka_unit_test(posix_memalign_records_what_was_asked_for),
		cmocka_unit_test(frame_0_is_the_caller),
		cmocka_unit_test(nothing_is_recorded_while_tracking_is_off),
		cmocka_unit_test(a_failure_leaves_no_event_and_the_allocators_errno),
		cmocka_unit_test(free_is_recorded_before_the_allocator_has_the_block),
		cmocka_unit_test(free_of_null_is_nothing_and_errno_stays),
		cmocka_unit_test(the_sized_frees_of_c23_are_frees),
		cmocka_unit_test(realloc_is_one_event_with_both_addresses_and_the_time_before),
		cmocka_unit_test(a_failed_realloc_leaves_the_block_and_no_event),
		cmocka_unit_test(realloc_to_nothing_is_a_free),
		cmocka_unit_test(the_aligned_family_agrees_with_the_allocators_own),
		cmocka_unit_test(malloc_usable_size_is_the_allocators),
		cmocka_unit_test(calls_from_below_an_outer_call_are_its_own),
		cmocka_unit_test(an_outer_call_left_by_longjmp_hides_nothing_of_outer_frames),
		cmocka_unit_test(pools_are_recorded_in_their_own_domain),
		cmocka_unit_test(pools_may_report_null),
		cmocka_unit_test(dlclose_tells_that_code_is_gone),
		cmocka_unit_test(prctl_and_syscall_pass_on_and_tell_of_seccomp),
		cmocka_unit_test(leaving_in_a_hurry_is_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
