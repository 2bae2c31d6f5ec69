/* SPDX-License-Identifier: MIT */
#include "report/diff_condition.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "check.h"

static struct diff_condition parsed(const char *text)
{
	struct diff_condition c;
	struct err err = { 0 };

	if (diff_condition_parse(scan_str(text), &c, &err) < 0)
		fail_msg("%s", err.msg);
	return c;
}

static void assert_factor(const char *text, int figure, bool is_above, double factor)
{
	struct diff_condition c = parsed(text);

	assert_int_equal(c.figure, figure);
	assert_int_equal(c.is_above, is_above);
	assert_true(fabs(c.factor - factor) < 1e-9);
}

static void assert_value(const char *text, int figure, bool is_above, uint64_t value)
{
	struct diff_condition c = parsed(text);

	assert_int_equal(c.figure, figure);
	assert_int_equal(c.is_above, is_above);
	assert_true(c.factor == 0);
	assert_int_equal(c.value, value);
}

static void test_diff_condition__reads_factors_and_percentages(void **state)
{
	assert_factor("cpu>1.2x", JOB_FIGURE_CPU, true, 1.2);
	assert_factor("CPU > 1.2×", JOB_FIGURE_CPU, true, 1.2);
	assert_factor("memory>+20%", JOB_FIGURE_PEAK_USED, true, 1.2);
	assert_factor("time<-12.5%", DIFF_TIME, false, 0.875);
	assert_factor("read>2x", JOB_FIGURE_READ, true, 2);
	assert_factor("procs>1.5x", JOB_FIGURE_PROCESSES, true, 1.5);
}

static void test_diff_condition__reads_values_in_the_unit_of_the_figure(void **state)
{
	assert_value("time>10s", DIFF_TIME, true, 10 * NS_PER_S);
	assert_value("cpu>1h30m", JOB_FIGURE_CPU, true, 5400 * NS_PER_S);
	assert_value("memory>500M", JOB_FIGURE_PEAK_USED, true, UINT64_C(500) << 20);
	assert_value(" charged < 2G ", JOB_FIGURE_PEAK_CHARGED, false, UINT64_C(2) << 30);
	assert_value("largest process>1.5GiB", JOB_FIGURE_PEAK_RSS, true, UINT64_C(3) << 29);
	assert_value("failed>0", JOB_FIGURE_FAILED, true, 0);
	assert_value("gpus busy<80%", JOB_FIGURE_GPU_UTIL, false, 800);
	assert_factor("gpus busy<-20%", JOB_FIGURE_GPU_UTIL, false, 0.8);
	assert_value("gpu energy>1.5Wh", JOB_FIGURE_GPU_ENERGY, true, 5400000);
	assert_value("held idle>10m", JOB_FIGURE_GPU_IDLE_HELD, true, 600 * NS_PER_S);
	assert_value("left behind>0", JOB_FIGURE_LEAKED, true, 0);
}

static void test_diff_condition__takes_every_compared_figure_by_label_and_key(void **state)
{
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++) {
		const char *label = job_figures[i].label;
		char text[80];

		if (!label)
			continue;
		snprintf(text, sizeof text, "%s>1.5x", label);
		assert_int_equal(parsed(text).figure, i);
		snprintf(text, sizeof text, "%s>1.5x", job_figures[i].key);
		assert_int_equal(parsed(text).figure, i);
	}
}

static void assert_refused(const char *text, const char *word)
{
	struct diff_condition c = { .figure = 77 };
	struct err err = { 0 };

	assert_int_equal(diff_condition_parse(scan_str(text), &c, &err), -EINVAL);
	if (!strstr(err.msg, word))
		fail_msg("'%s': %s", text, err.msg);
	assert_int_equal(c.figure, 77);
}

static void test_diff_condition__names_what_is_wrong_and_a_remedy(void **state)
{
	assert_refused("", "has no > or <");
	assert_refused("cpu", "'cpu' has no > or <; write cpu>1.2x");
	assert_refused("cpu=1.2x", "has no > or <");
	assert_refused("speed>1.2x", "'speed' is no figure; write time, cpu");
	assert_refused(">1.2x", "'' is no figure");
	assert_refused("cpu>20%", "needs a sign; write +20%");
	assert_refused("cpu>", "'cpu>': write 10s");
	assert_refused("cpu>=1.2x", "write 10s");
	assert_refused("cpu>10", "write 10s");
	assert_refused("cpu>500M", "write 10s");
	assert_refused("memory>10s", "write 500M");
	assert_refused("memory>500", "write 500M");
	assert_refused("memory>500 ", "write 500M");
	assert_refused("procs>1.5", "write a whole number");
	assert_refused("cpu>+1.2x", "write 10s");
	assert_refused("cpu>-100%", "a factor lies between");
	assert_refused("cpu>0x", "a factor lies between");
	assert_refused("cpu>1.2x cpu>1.3x", "write 10s");
}

static void assert_answer(const char *text, struct figure a, struct figure b,
                          enum diff_answer answer)
{
	struct diff_condition c = parsed(text);

	assert_int_equal(diff_condition_check(&c, (struct diff_pair){ a, b }), answer);
}

#define EXACT(v) ((struct figure){ (v), QUALITY_EXACT })
#define AT_LEAST(v) ((struct figure){ (v), QUALITY_AT_LEAST })
#define AT_MOST(v) ((struct figure){ (v), QUALITY_AT_MOST })
#define MISSING ((struct figure){ 0 })

static void test_diff_condition__compares_known_figures(void **state)
{
	assert_answer("procs>1.2x", EXACT(10), EXACT(13), DIFF_YES);
	assert_answer("procs>1.2x", EXACT(10), EXACT(12), DIFF_NO);
	assert_answer("procs<0.5x", EXACT(10), EXACT(4), DIFF_YES);
	assert_answer("procs<0.5x", EXACT(10), EXACT(5), DIFF_NO);
	assert_answer("procs>1.2x", EXACT(0), EXACT(1), DIFF_YES);
	assert_answer("procs>1.2x", EXACT(0), EXACT(0), DIFF_NO);
	assert_answer("procs>12", EXACT(99), EXACT(13), DIFF_YES);
	assert_answer("procs>1.2x", (struct figure){ 10, QUALITY_SAMPLED }, EXACT(13), DIFF_YES);
}

static void test_diff_condition__does_not_decide_what_is_missing(void **state)
{
	assert_answer("procs>1.2x", MISSING, EXACT(13), DIFF_UNDECIDED);
	assert_answer("procs>1.2x", EXACT(13), MISSING, DIFF_UNDECIDED);
	assert_answer("procs>12", EXACT(13), MISSING, DIFF_UNDECIDED);
	assert_answer("procs>12", MISSING, EXACT(13), DIFF_YES);
}

static void test_diff_condition__decides_by_bounds_only_what_they_prove(void **state)
{
	assert_answer("procs>1.2x", EXACT(10), AT_LEAST(13), DIFF_YES);
	assert_answer("procs>1.2x", EXACT(10), AT_LEAST(12), DIFF_UNDECIDED);
	assert_answer("procs>1.2x", AT_LEAST(10), EXACT(12), DIFF_NO);
	assert_answer("procs>1.2x", AT_LEAST(10), EXACT(13), DIFF_UNDECIDED);
	assert_answer("procs>1.2x", EXACT(10), AT_MOST(12), DIFF_NO);
}

static void test_diff_condition__takes_bounds_of_the_same_kind_by_their_values(void **state)
{
	assert_answer("procs>1.2x", AT_LEAST(10), AT_LEAST(12), DIFF_NO);
	assert_answer("procs>1.2x", AT_LEAST(10), AT_LEAST(13), DIFF_YES);
	assert_answer("procs<0.9x", AT_MOST(10), AT_MOST(8), DIFF_YES);
	assert_answer("procs>12", MISSING, AT_LEAST(5), DIFF_NO);
	assert_answer("procs>12", MISSING, AT_LEAST(13), DIFF_YES);
	assert_answer("procs<12", MISSING, AT_LEAST(12), DIFF_NO);
	assert_answer("procs<12", MISSING, AT_MOST(11), DIFF_YES);
}

RUN_TESTS(TEST(test_diff_condition__reads_factors_and_percentages),
          TEST(test_diff_condition__reads_values_in_the_unit_of_the_figure),
          TEST(test_diff_condition__takes_every_compared_figure_by_label_and_key),
          TEST(test_diff_condition__names_what_is_wrong_and_a_remedy),
          TEST(test_diff_condition__compares_known_figures),
          TEST(test_diff_condition__does_not_decide_what_is_missing),
          TEST(test_diff_condition__decides_by_bounds_only_what_they_prove),
          TEST(test_diff_condition__takes_bounds_of_the_same_kind_by_their_values))
