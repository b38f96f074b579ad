/* SPDX-License-Identifier: MIT
 *
 * meeting HOW: a relinked program, to be started by `rheaper`: two copies of Rheaper, of which one records. `on`: the preloaded one
 * records already, and enabling once more is an error. `off`: nothing is recorded until the program itself says so, into the directory
 * that it names. Makes blocks by every kind of call, each with a size of its own that is seen in the profile once a call, reports of a
 * pool and a mark, from threads too. */
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "program.h"

static void work()
{
	char *text;

	for (int i = 0; i < 100; i++) {
		free(keep(malloc(6001)));
		keep(calloc(1, 6011));
		free(keep(realloc(keep(malloc(6029)), 6037)));
		::operator delete(keep(::operator new(6043)));
		delete[] static_cast<char *>(keep(new char[6047]));
		text = static_cast<char *>(malloc(6053));
		memset(text, 'x', 6052);
		text[6052] = '\0';
		free(keep(strdup(text)));
		free(text);
		std::string string(6067 - 1, 'y'); /* libstdc++ may be shared: new from elsewhere */
		keep(&string[0]);
	}
}

int main(int argc, char **argv)
{
	rheaper_config config = RHEAPER_CONFIG_INIT;
	char path[4096] = "";
	int pool;

	CHECK(argc == 2);
	if (strcmp(argv[1], "on") == 0) {
		CHECK(rheaper_tracking_enabled());
		CHECK(rheaper_enable_tracking(&config, path, sizeof path) == RHEAPER_ERROR_ALREADY_ENABLED);
	} else {
		CHECK(!rheaper_tracking_enabled());
		keep(malloc(6073)); /* not recorded */
		config.profile_dir = "own";
		CHECK(rheaper_enable_tracking(&config, path, sizeof path) == 0);
		CHECK(rheaper_tracking_enabled());
	}
	CHECK(rheaper_mark("met") == 0);
	work();
	std::vector<std::thread> threads;
	for (int i = 0; i < 3; i++)
		threads.emplace_back(work);
	for (auto &thread : threads)
		thread.join();
	rheaper_report_alloc(&pool, 6079);
	rheaper_report_free(&pool);
	CHECK(rheaper_disable_tracking() == 0);
	CHECK(!rheaper_tracking_enabled());
	keep(malloc(6089)); /* not recorded */
	return 0;
}
