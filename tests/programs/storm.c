/* SPDX-License-Identifier: MIT
 *
 * storm ROUNDS LIBRARY...: four threads load, call and unload libraries without a pause, each an equal share of them in turn. Library
 * number n has the function work_n, whose blocks have 2000 + n bytes. Says how often a library came to lie where another one had been,
 * and lets a fifth thread allocate (3001 bytes) all the time. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include "program.h"

enum { THREADS = 4, BASES = 256 };

static int rounds, libraries;
static char **paths;
static volatile int stop;
static long reused, bystanders;
static struct {
	uintptr_t base;
	int library;
} seen[BASES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void remember(uintptr_t base, int library)
{
	int i = 0;

	pthread_mutex_lock(&lock);
	while (i < BASES - 1 && seen[i].base && seen[i].base != base)
		i++;
	reused += seen[i].base == base && seen[i].library != library;
	seen[i].base = base;
	seen[i].library = library;
	pthread_mutex_unlock(&lock);
}

static void once(int library)
{
	void *handle = dlopen(paths[library], RTLD_NOW | RTLD_LOCAL), *(*call)(void);
	struct link_map *map;
	char name[20];

	CHECK(handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0);
	remember(map->l_addr, library);
	snprintf(name, sizeof name, "work_%d", library);
	*(void **)&call = dlsym(handle, name);
	CHECK(call);
	free(call());
	CHECK(dlclose(handle) == 0);
}

static void *load(void *argument)
{
	int share = libraries / THREADS, first = (int)(size_t)argument * share;

	for (int i = 0; i < rounds; i++)
		once(first + i % share);
	return NULL;
}

static void *stand_by(void *unused)
{
	while (!stop) {
		free(keep(malloc(3001)));
		bystanders++;
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS], bystander;

	CHECK(argc > 2 && (argc - 2) % THREADS == 0);
	rounds = atoi(argv[1]);
	paths = argv + 2;
	libraries = argc - 2;
	track(".", 0, 0);
	CHECK(pthread_create(&bystander, NULL, stand_by, NULL) == 0);
	for (size_t t = 0; t < THREADS; t++)
		CHECK(pthread_create(&threads[t], NULL, load, (void *)t) == 0);
	for (size_t t = 0; t < THREADS; t++)
		CHECK(pthread_join(threads[t], NULL) == 0);
	stop = 1;
	CHECK(pthread_join(bystander, NULL) == 0);
	printf("reused=%ld bystanders=%ld\n", reused, bystanders);
	return 0;
}
