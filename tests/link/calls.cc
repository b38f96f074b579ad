/* SPDX-License-Identifier: MIT
 *
 * The C++ operators in every form, called from functions that are named after them. check.py knows how often. Everything is deleted. */
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <rheaper.h>

#define SITE extern "C" __attribute__((noinline, used)) void

struct alignas(64) wide {
	char bytes[100];
};

static void *volatile kept;
static volatile std::size_t large = SIZE_MAX / 4, five = 5;
static int handled;

SITE from_new()
{
	kept = ::operator new(five);
	::operator delete(kept);
	kept = ::operator new(five);
	::operator delete(kept, std::size_t(5));
	kept = ::operator new(0);
	::operator delete(kept);
}

SITE from_new_array()
{
	kept = ::operator new[](five);
	::operator delete[](kept);
	kept = ::operator new[](five);
	::operator delete[](kept, std::size_t(5));
}

SITE from_nothrow()
{
	kept = ::operator new(five, std::nothrow);
	::operator delete(kept, std::nothrow);
	kept = ::operator new[](five, std::nothrow);
	::operator delete[](kept, std::nothrow);
	if (::operator new(large, std::nothrow) || ::operator new[](large, std::nothrow))
		std::abort();
}

SITE from_aligned()
{
	wide *one = new wide, *several = new wide[five];
	kept = one;
	if (reinterpret_cast<std::uintptr_t>(one) % 64 || reinterpret_cast<std::uintptr_t>(several) % 64)
		std::abort();
	kept = several;
	delete one;
	delete[] several;
}

SITE from_string()
{
	std::string text(five * 20, 'x'); /* instantiated in the C++ library */
	kept = &text[0];
}

SITE from_vector()
{
	std::vector<int> numbers(five);
	kept = numbers.data();
}

static void give_up()
{
	handled++;
	std::set_new_handler(nullptr);
}

SITE from_failures()
{
	int caught = 0;

	std::set_new_handler(give_up);
	try {
		kept = ::operator new(large);
	} catch (const std::bad_alloc &) {
		caught++;
	}
	try {
		kept = new char[large];
	} catch (const std::bad_alloc &) {
		caught++;
	}
	if (caught != 2 || handled != 1)
		std::abort();
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	rheaper_config config = RHEAPER_CONFIG_INIT;
	config.profile_dir = argv[1];
	if (rheaper_enable_tracking(&config, NULL, 0) != 0)
		return 3;
	from_new();
	from_new_array();
	from_nothrow();
	from_aligned();
	from_string();
	from_vector();
	from_failures();
	return rheaper_disable_tracking() != 0 ? 4 : 0;
}
