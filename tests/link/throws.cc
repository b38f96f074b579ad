/* SPDX-License-Identifier: MIT
 *
 * A program that needs of the C++ library little more than std::bad_alloc: a static libstdc++ has no other reason to bring what throws it.
 * */
#include <cstdint>
#include <new>

static volatile std::size_t large = SIZE_MAX / 4;
static void *volatile kept;

int main()
{
	try {
		kept = ::operator new(large);
	} catch (const std::bad_alloc &) {
		return 0;
	}
	return 1;
}
