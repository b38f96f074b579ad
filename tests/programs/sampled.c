/* SPDX-License-Identifier: MIT
 *
 * sampled RATE BLOCKS: that many blocks of 100 bytes; every second is freed at once, every fourth is reallocated to 300 before. */
#include "program.h"

int main(int argc, char **argv)
{
	rheaper_config config = RHEAPER_CONFIG_INIT;
	long blocks;

	CHECK(argc == 3);
	config.sample_rate = strtod(argv[1], NULL);
	blocks = atol(argv[2]);
	CHECK(rheaper_enable_tracking(&config, NULL, 0) == 0);
	for (long i = 0; i < blocks; i++) {
		void *block = keep(malloc(100));

		CHECK(block);
		if (i % 4 == 0)
			block = keep(realloc(block, 300));
		if (i % 2 == 0)
			free(block);
	}
	untrack();
	return 0;
}
