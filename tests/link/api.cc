/* SPDX-License-Identifier: MIT
 *
 * Only the interface, linked without the wrap flags: it links, malloc and new work, and what the program reports is recorded. */
#include <cstdlib>

#include <rheaper.h>

extern "C" __attribute__((noinline, used)) void from_pool()
{
	static char pool[3][16];

	rheaper_report_alloc(pool[0], 16);
	rheaper_report_realloc(pool[0], pool[1], 12);
	rheaper_report_realloc(NULL, pool[2], 8);
	rheaper_report_free(pool[1]);
	rheaper_report_free(pool[2]);
	rheaper_report_alloc(NULL, 1);
	rheaper_report_free(NULL);
}

static void *volatile kept;

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	kept = std::malloc(10);
	if (!kept)
		return 6;
	std::free(kept);
	kept = new int[10];
	delete[] static_cast<int *>(kept);
	rheaper_config config = RHEAPER_CONFIG_INIT;
	config.profile_dir = argv[1];
	if (rheaper_enable_tracking(&config, NULL, 0) != 0)
		return 3;
	from_pool();
	return rheaper_disable_tracking() != 0 ? 4 : 0;
}
