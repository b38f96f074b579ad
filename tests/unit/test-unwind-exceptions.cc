/* SPDX-License-Identifier: MIT
 *
 * The walk from code that runs while a C++ exception travels: destructors, handlers, and functions whose cold part lies elsewhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" {
#include <cmocka.h>
}

#include "unwind/compare.h"

namespace
{

unsigned walked, agreed;

void walk()
{
	compare_here();
	walked++;
	agreed += compare_agreed();
}

struct Guard {
	std::string text;

	explicit Guard(const std::string &from) : text(from + " and more than fits into a short string")
	{
	}
	~Guard()
	{
		walk();
	}
};

__attribute__((noinline)) void thrower(int depth, const std::string &text)
{
	Guard guard(text);

	if (depth == 0)
		throw std::runtime_error(guard.text);
	thrower(depth - 1, text);
}

__attribute__((noinline)) void rethrower(int depth)
{
	try {
		thrower(depth, "text");
	} catch (const std::logic_error &) {
		walk();
	} catch (...) {
		walk();
		throw;
	}
}

void agrees_in_destructors_and_handlers(void **)
{
	bool caught = false;

	walked = agreed = 0;
	try {
		rethrower(20);
	} catch (const std::exception &error) {
		walk();
		caught = std::string(error.what()).find("text") == 0;
	}
	assert_true(caught);
	assert_int_equal(walked, 21 + 1 + 1);
	assert_int_equal(agreed, walked);
	assert_int_equal(compared.truncated, 0);
}

void agrees_in_templates_of_the_library(void **)
{
	std::vector<Guard> guards;

	walked = agreed = 0;
	for (int i = 0; i < 9; i++)
		guards.emplace_back(std::to_string(i));
	guards.clear();
	assert_true(walked >= 9);
	assert_int_equal(agreed, walked);
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_in_destructors_and_handlers),
		cmocka_unit_test(agrees_in_templates_of_the_library),
	};

	compare_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
