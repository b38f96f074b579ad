/* SPDX-License-Identifier: MIT
 *
 * ends HOW: C++ objects that allocate when they begin and end. Three threads and main have a thread_local object each, the program a
 * static one, and functions for exit and quick_exit. HOW is `return`, `exit` or `quick_exit`. A block that an end makes stays live. */
#include <thread>

#include "program.h"

namespace
{

/* A block of operator new from beginning to end; the end makes one of new and one of malloc. */
template <unsigned Size> struct Object {
	char *begun = static_cast<char *>(keep(::operator new(Size)));

	~Object()
	{
		::operator delete(begun);
		keep(::operator new(Size + 2));
		keep(malloc(Size + 4));
	}
	void touch()
	{
		*begun = 1;
	}
};

Object<5003> whole;
thread_local Object<5101> each;

void at_exit()
{
	keep(malloc(5303));
}

void at_quick()
{
	keep(::operator new(5401));
}

void work()
{
	each.touch();
}

} // namespace

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	track(".", 0, 0);
	keep(malloc(5501));
	whole.touch();
	each.touch();
	CHECK(atexit(at_exit) == 0);
	CHECK(at_quick_exit(at_quick) == 0);
	for (int i = 0; i < 3; i++)
		std::thread(work).join();
	if (strcmp(how, "exit") == 0)
		exit(0);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(0);
	return 0;
}
