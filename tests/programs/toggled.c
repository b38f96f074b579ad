/* SPDX-License-Identifier: MIT
 *
 * Sends itself signals: allocates 5 blocks of 6007 bytes, then the signal in argv[1], 6 of 6011, the signal again, 7 of 6029, once more, 8 of 6037. */
#include <signal.h>

#include "program.h"

int main(int argc, char **argv)
{
	static const size_t sizes[] = {6007, 6011, 6029, 6037};

	CHECK(argc > 1);
	for (int step = 0; step < 4; step++) {
		for (int i = 0; i < 5 + step; i++)
			keep(malloc(sizes[step]));
		if (step < 3)
			raise(atoi(argv[1]));
	}
	puts("ok");
	return 0;
}
