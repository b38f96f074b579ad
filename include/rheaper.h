/* SPDX-License-Identifier: MIT
 *
 * Rheaper: an in-process heap profiler. This is its whole public interface; rheaper(3) is the same in prose.
 *
 * Threads: every function here may be called from any thread at any time, also while other threads allocate.
 * Signals: rheaper_mark, rheaper_tracking_enabled and the rheaper_report_* functions are async-signal-safe.
 *          rheaper_enable_tracking and rheaper_disable_tracking may be called in a signal handler too; one that interrupts
 *          another such call of its own thread gets RHEAPER_ERROR_BUSY.
 * Errors:  0 or a negative rheaper_error; errno is left as it was; nothing is printed. (A bad value in a RHEAPER_ environment variable, which has nothing
 *          to do with these functions, is said once on standard error: rheaper(3).)
 *
 * A program that should also run without the library may declare what it calls as weak (#pragma weak rheaper_mark).
 */
#ifndef RHEAPER_H
#define RHEAPER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RHEAPER_API
#define RHEAPER_API __attribute__((visibility("default")))
#endif

/* How a session records. Start from RHEAPER_CONFIG_INIT and change what differs. */
typedef struct rheaper_config {
	size_t struct_size;                 /* sizeof of this struct where the caller was compiled; set by RHEAPER_CONFIG_INIT */
	uint32_t max_stack_depth;           /* frames kept of a backtrace, innermost first: 1 to 4096 */
	uint32_t max_trackers;              /* local trackers in the pool: 1 to 4096. More threads than that share a few. */
	uint32_t tracker_event_buffer_size; /* events that a local tracker buffers before it writes them: 1 to 65536 */
	double sample_rate;                 /* share of the allocations that is recorded: 1.0 all, 0.0 none */
	const char *profile_dir;            /* where the directory rip-<pid> is made; NULL or "": the current directory */
	uint64_t sample_interval;           /* mean bytes between two samples; 0 = off. Not built yet: must be 0. */
} rheaper_config;

/* clang-format off */
#define RHEAPER_CONFIG_INIT { sizeof(rheaper_config), 128, 200, 5000, 1.0, NULL, 0 }
/* clang-format on */

typedef enum rheaper_error {
	RHEAPER_OK = 0,
	RHEAPER_ERROR_ALREADY_ENABLED = -1, /* a session is running; it goes on undisturbed */
	RHEAPER_ERROR_NOT_ENABLED = -2,     /* there is no session to end or to mark */
	RHEAPER_ERROR_INVALID_CONFIG = -3,  /* a value out of its range, or a struct_size that was never valid */
	RHEAPER_ERROR_DIRECTORY = -4,       /* profile_dir is missing or cannot be written to */
	RHEAPER_ERROR_PATH_TOO_LONG = -5,   /* the profile's path exceeds PATH_MAX or path_size */
	RHEAPER_ERROR_NO_SPACE = -6,        /* no room for the profile: disk, quota or RLIMIT_FSIZE */
	RHEAPER_ERROR_NO_MEMORY = -7,       /* memory could not be mapped: RLIMIT_AS or the machine */
	RHEAPER_ERROR_BUSY = -8,            /* this call interrupted another enable or disable of its own thread */
	RHEAPER_ERROR_INVALID_ARGUMENT = -9, /* a NULL name */
	RHEAPER_ERROR_SANDBOX = -10         /* too late: the program has installed a seccomp filter since */
} rheaper_error;

/* Starts to record. config NULL means the defaults. When path is not NULL the profile's absolute path is stored there (path_size
 * bytes, NUL included). Makes a new directory rip-<pid>, later rip-<pid>.1, rip-<pid>.2 ...; on any error tracking stays as it was. */
RHEAPER_API int rheaper_enable_tracking(const rheaper_config *config, char *path, size_t path_size);

/* Stops, waits for events in flight, writes what is buffered and closes the profile. */
RHEAPER_API int rheaper_disable_tracking(void);

/* 1 while a session records, else 0. */
RHEAPER_API int rheaper_tracking_enabled(void);

/* A static English sentence for an error code, also for an unknown one. Never NULL. */
RHEAPER_API const char *rheaper_strerror(int error);

/* Keeps a named instant in the profile. name is cut after 255 bytes. */
RHEAPER_API int rheaper_mark(const char *name);

/* For pools and arenas that hand out parts of a block of their own: the same as an intercepted malloc, realloc and free, in a
 * domain apart (an object may have the address of the block that it lies in). A NULL p or old is ignored, as in free(NULL).
 * Call report_alloc after the object exists, report_free before it is reused. */
RHEAPER_API void rheaper_report_alloc(void *p, size_t n);
RHEAPER_API void rheaper_report_realloc(void *old, void *p, size_t n);
RHEAPER_API void rheaper_report_free(void *p);

/* A program's own allocator. A relinked program that defines the object rheaper_backend has its allocations made by these functions,
 * recorded or not; they are found when the program is linked or loaded, and nothing is to be called. Without the definition it is the allocator that the
 * program was linked with. What a program does that is not relinked, and what shared libraries do for themselves, does not come here.
 *
 *     const struct rheaper_backend rheaper_backend = {my_malloc, my_calloc, my_realloc, my_free, my_memalign, my_usable_size};
 *
 * Each function keeps the contract of malloc(3), posix_memalign(3) or malloc_usable_size(3) for the function that it is named after,
 * errno and NULL arguments included; none is NULL. memalign also serves aligned_alloc, posix_memalign, valloc and pvalloc, which check
 * their arguments first.
 *
 * Threads: called by any thread at any time, without a lock held. Signals: as async-signal-safe as the program needs its malloc to be.
 * Early: called as soon as anything in the program allocates, so before its constructors, and until after its last destructor.
 * They must not allocate by names that are wrapped (malloc in a relinked object comes back to them).
 *
 * Two heaps in a process meet. Libraries return blocks from the process's own malloc that the program frees (scandir, open_memstream,
 * many others), so free, realloc and usable_size must know such blocks and hand them on. In the other direction, a block of this
 * allocator must not be given to code that is not relinked and that frees or reallocates it, unless the process's malloc is this very
 * allocator. Rheaper itself keeps to that where the C library's getline and getdelim reallocate. In a static program everything is
 * relinked, and there is one heap. */
struct rheaper_backend {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *block, size_t size);
	void (*free)(void *block);
	void *(*memalign)(size_t alignment, size_t size);
	size_t (*usable_size)(void *block);
};
RHEAPER_API extern const struct rheaper_backend rheaper_backend;

#ifdef __cplusplus
}
#endif

#endif
