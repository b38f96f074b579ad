/* SPDX-License-Identifier: MIT
 *
 * A program that replaces the scalar operators: its own win, and the forms that it does not replace reach them. Each allocation is one row,
 * of the malloc in them. */
#include <cstdlib>
#include <new>

#include <rheaper.h>

static void *volatile kept;
static int made, ended;

__attribute__((noinline)) void *operator new(std::size_t size)
{
	void *block = std::malloc(size ? size : 1);

	made++;
	if (!block)
		throw std::bad_alloc();
	return block;
}

void operator delete(void *block) noexcept
{
	ended++;
	std::free(block);
}

extern "C" __attribute__((noinline, used)) void from_new()
{
	kept = ::operator new(5);
	::operator delete(kept, std::size_t(5));
	kept = ::operator new[](5);
	::operator delete[](kept, std::size_t(5));
	kept = ::operator new(5, std::nothrow);
	::operator delete(kept);
	kept = ::operator new[](5, std::nothrow);
	::operator delete[](kept);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	rheaper_config config = RHEAPER_CONFIG_INIT;
	config.profile_dir = argv[1];
	if (rheaper_enable_tracking(&config, NULL, 0) != 0)
		return 3;
	made = ended = 0; /* some allocators use the operators themselves when they start */
	from_new();
	if (rheaper_disable_tracking() != 0)
		return 4;
	return made == 4 && ended == 4 ? 0 : 5;
}
