/* SPDX-License-Identifier: MIT */
#include "serve/quota.h"

#include "base/clock.h"
#include "check.h"

#define KIB ((size_t)1024)

static void test_quota__allows_a_burst_and_then_a_little(void **state)
{
	struct quota r = { 0 };
	uint64_t now = 1000 * NS_PER_S;

	(void)state;
	assert_true(quota_take(&r, 7, QUOTA_BURST_BYTES, now));
	assert_false(quota_take(&r, 7, KIB, now));
	assert_true(quota_take(&r, 8, QUOTA_BURST_BYTES, now)); /* each user has its own */
	now += NS_PER_S;
	assert_true(quota_take(&r, 7, QUOTA_BYTES_PER_S, now));
	assert_false(quota_take(&r, 7, KIB, now));
	now += 3600 * NS_PER_S; /* it does not pile up */
	assert_true(quota_take(&r, 7, QUOTA_BURST_BYTES, now));
	assert_false(quota_take(&r, 7, KIB, now));
	quota_done(&r);
}

static void test_quota__does_not_count_what_it_refused(void **state)
{
	struct quota r = { 0 };

	(void)state;
	assert_false(quota_take(&r, 7, (size_t)QUOTA_BURST_BYTES + 1, NS_PER_S));
	assert_true(quota_take(&r, 7, QUOTA_BURST_BYTES, NS_PER_S));
	quota_done(&r);
}

RUN_TESTS(TEST(test_quota__allows_a_burst_and_then_a_little),
          TEST(test_quota__does_not_count_what_it_refused))
