/* SPDX-License-Identifier: MIT */
#include "serve/ration.h"

#include "base/clock.h"
#include "check.h"

#define KIB ((size_t)1024)

static void test_ration__allows_a_burst_and_then_a_little(void **state)
{
	struct ration r = { 0 };
	uint64_t now = 1000 * NS_PER_S;

	(void)state;
	assert_true(ration_take(&r, 7, RATION_BURST_BYTES, now));
	assert_false(ration_take(&r, 7, KIB, now));
	assert_true(ration_take(&r, 8, RATION_BURST_BYTES, now)); /* each has his own */
	now += NS_PER_S;
	assert_true(ration_take(&r, 7, RATION_BYTES_PER_S, now));
	assert_false(ration_take(&r, 7, KIB, now));
	now += 3600 * NS_PER_S; /* it does not pile up */
	assert_true(ration_take(&r, 7, RATION_BURST_BYTES, now));
	assert_false(ration_take(&r, 7, KIB, now));
	ration_done(&r);
}

static void test_ration__does_not_count_what_it_refused(void **state)
{
	struct ration r = { 0 };

	(void)state;
	assert_false(ration_take(&r, 7, (size_t)RATION_BURST_BYTES + 1, NS_PER_S));
	assert_true(ration_take(&r, 7, RATION_BURST_BYTES, NS_PER_S));
	ration_done(&r);
}

RUN_TESTS(TEST(test_ration__allows_a_burst_and_then_a_little),
          TEST(test_ration__does_not_count_what_it_refused))
