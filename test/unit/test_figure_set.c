/* SPDX-License-Identifier: MIT */
#include "model/figure_set.h"

#include "check.h"

static struct figure_set set_of(const uint64_t *values, size_t n)
{
	struct figure_set s = { 0 };

	for (size_t i = 0; i < n; i++)
		figure_set_add(&s, (struct figure){ values[i], QUALITY_EXACT });
	return s;
}

static void assert_figure(struct figure is, uint64_t value, enum quality quality)
{
	assert_int_equal(is.value, value);
	assert_int_equal(is.quality, quality);
}

static void test_figure_set__finds_the_middle(void **state)
{
	struct figure_set s = set_of((uint64_t[]){ 9, 1, 5 }, 3);

	assert_figure(figure_set_median(&s), 5, QUALITY_EXACT);
	figure_set_add(&s, (struct figure){ 8, QUALITY_EXACT });
	assert_figure(figure_set_median(&s), 6, QUALITY_EXACT); /* 1 5 8 9 */
	figure_set_done(&s);
}

static void test_figure_set__finds_the_nearest_rank(void **state)
{
	struct figure_set s = { 0 };

	for (uint64_t i = 1; i <= 40; i++)
		figure_set_add(&s, (struct figure){ 41 - i, QUALITY_EXACT });
	assert_figure(figure_set_percentile(&s, 95), 38, QUALITY_EXACT);
	assert_figure(figure_set_percentile(&s, 100), 40, QUALITY_EXACT);
	assert_figure(figure_set_percentile(&s, 0), 1, QUALITY_EXACT);
	figure_set_done(&s);
}

static void test_figure_set__joins_qualities_and_counts_what_is_missing(void **state)
{
	struct figure_set s = { 0 };

	assert_figure(figure_set_median(&s), 0, QUALITY_MISSING);
	figure_set_add(&s, (struct figure){ 0 });
	assert_figure(figure_set_percentile(&s, 95), 0, QUALITY_MISSING);
	figure_set_done(&s);
	figure_set_add(&s, (struct figure){ 3, QUALITY_AT_LEAST });
	figure_set_add(&s, (struct figure){ 5, QUALITY_EXACT });
	assert_figure(figure_set_median(&s), 4, QUALITY_AT_LEAST);
	figure_set_add(&s, (struct figure){ 0 });
	assert_int_equal(s.missing, 1);
	assert_figure(figure_set_median(&s), 4, QUALITY_SAMPLED);
	figure_set_done(&s);
}

static void test_figure_set__takes_from_bounds_what_they_prove(void **state)
{
	struct figure_set s = set_of((uint64_t[]){ 1, 2, 3, 4 }, 4);

	/* Whatever it is, it is among the largest. */
	figure_set_add(&s, (struct figure){ 5, QUALITY_AT_LEAST });
	assert_figure(figure_set_median(&s), 3, QUALITY_EXACT);
	assert_figure(figure_set_percentile(&s, 100), 5, QUALITY_AT_LEAST);
	/* The median lies between 2 and 3. */
	figure_set_add(&s, (struct figure){ 1, QUALITY_AT_LEAST });
	assert_figure(figure_set_median(&s), 2, QUALITY_SAMPLED);
	figure_set_done(&s);
	figure_set_add(&s, (struct figure){ 3, QUALITY_AT_LEAST });
	figure_set_add(&s, (struct figure){ 5, QUALITY_AT_LEAST });
	assert_figure(figure_set_median(&s), 4, QUALITY_AT_LEAST);
	figure_set_done(&s);
	figure_set_add(&s, (struct figure){ 3, QUALITY_AT_MOST });
	assert_figure(figure_set_median(&s), 3, QUALITY_AT_MOST);
	figure_set_done(&s);
}

RUN_TESTS(TEST(test_figure_set__finds_the_middle), TEST(test_figure_set__finds_the_nearest_rank),
          TEST(test_figure_set__takes_from_bounds_what_they_prove),
          TEST(test_figure_set__joins_qualities_and_counts_what_is_missing))
