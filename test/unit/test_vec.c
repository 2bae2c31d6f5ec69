/* SPDX-License-Identifier: MIT */
#include "base/vec.h"

#include "check.h"

struct numbers {
	VEC(int) v;
};

static void fill(struct numbers *n, int len)
{
	for (int i = 0; i < len; i++)
		*vec_push(&n->v, 1 << 20) = i;
}

static void test_vec_push__stops_at_the_ceiling(void **state)
{
	struct numbers n = { 0 };

	fill(&n, 20);
	assert_null(vec_push(&n.v, 20));
	assert_int_equal(n.v.len, 20);
	vec_done(&n.v);
}

static void test_vec_shrink__frees_a_spike_and_keeps_the_elements(void **state)
{
	struct numbers n = { 0 };

	fill(&n, 100000);
	n.v.len = 3000;
	vec_shrink(&n.v);
	assert_int_equal(n.v.cap, 6000);
	for (int i = 0; i < 3000; i++)
		assert_int_equal(n.v.at[i], i);
	*vec_push(&n.v, 1 << 20) = 7;
	assert_int_equal(n.v.at[3000], 7);
	vec_done(&n.v);
}

static void test_vec_shrink__keeps_memory_that_is_used_or_small(void **state)
{
	struct numbers n = { 0 };
	size_t cap;

	vec_shrink(&n.v);
	assert_null(n.v.at);
	fill(&n, 4000);
	cap = n.v.cap;
	n.v.len = cap / 4;
	vec_shrink(&n.v);
	assert_int_equal(n.v.cap, cap);
	n.v.len = 0;
	vec_shrink(&n.v);
	assert_int_equal(n.v.cap, VEC_SMALL);
	vec_shrink(&n.v);
	assert_int_equal(n.v.cap, VEC_SMALL);
	vec_done(&n.v);
}

static void test_vec_relax__frees_a_spike_one_use_later(void **state)
{
	struct numbers n = { 0 };

	fill(&n, 5000);
	vec_relax(&n.v);
	assert_true(n.v.cap >= 5000); /* it was all used: the next may be as many */
	fill(&n, 10);
	vec_relax(&n.v);
	assert_int_equal(n.v.cap, 0);
	vec_done(&n.v);
}

RUN_TESTS(TEST(test_vec_push__stops_at_the_ceiling),
          TEST(test_vec_shrink__frees_a_spike_and_keeps_the_elements),
          TEST(test_vec_shrink__keeps_memory_that_is_used_or_small),
          TEST(test_vec_relax__frees_a_spike_one_use_later))
