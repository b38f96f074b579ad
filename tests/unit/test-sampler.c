/* SPDX-License-Identifier: MIT
 *
 * Which allocations are recorded at a given rate.
 */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tracker/sampler.h"

static unsigned taken(double rate, unsigned of, uint64_t seed)
{
	uint64_t threshold = rh_sampler_threshold(rate);
	unsigned count = 0;

	for (unsigned i = 0; i < of; i++)
		count += rh_sampler_takes(&seed, threshold);
	return count;
}

static void rate_one_takes_all(void **state)
{
	(void)state;
	assert_int_equal(taken(1.0, 100000, 1), 100000);
}

static void rate_zero_takes_none(void **state)
{
	(void)state;
	assert_int_equal(taken(0.0, 100000, 1), 0);
}

static void a_share_is_met_within_five_deviations(void **state)
{
	static const double rates[] = {0.001, 0.1, 0.5, 0.9};
	const unsigned n = 1000000;

	(void)state;
	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
		for (uint64_t seed = 1; seed < 6; seed++) {
			double deviation = sqrt(n * rates[i] * (1 - rates[i]));

			assert_true(fabs(taken(rates[i], n, seed * 7919) - n * rates[i]) < 5 * deviation);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_one_takes_all),
		cmocka_unit_test(rate_zero_takes_none),
		cmocka_unit_test(a_share_is_met_within_five_deviations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
