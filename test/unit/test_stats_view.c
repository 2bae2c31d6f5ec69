/* SPDX-License-Identifier: MIT */
#include "view/stats_view.h"

#include <stdio.h>

#include "check.h"
#include "model_kit.h"

static void add(struct all_type_stats *all, const char *type, enum job_status status, double took_s,
                double cpu_s, uint64_t used_mib)
{
	struct job job = { .status = status, .took_ns = (uint64_t)(took_s * 1e9) };

	snprintf(job.type, sizeof job.type, "%s", type);
	job.figures[JOB_FIGURE_CPU] = kit_exact((uint64_t)(cpu_s * 1e9));
	job.figures[JOB_FIGURE_PEAK_RSS] = kit_exact(UINT64_C(7) << 20);
	if (used_mib)
		job.figures[JOB_FIGURE_PEAK_USED] = (struct figure){ used_mib << 20,
			                                             QUALITY_SAMPLED };
	assert_int_equal(type_stats_all_add(all, &job), 0);
}

static struct all_type_stats two_types(void)
{
	struct all_type_stats all = { 0 };

	add(&all, "train.py", JOB_RUNNING, 0, 1, 1);
	for (int i = 1; i <= 20; i++)
		add(&all, "train.py", i == 7 ? JOB_FAILED : JOB_COMPLETED, 10 * i, i, 100 + i);
	add(&all, "train.py", JOB_LOST, 0, 1, 1);
	add(&all, "make", JOB_COMPLETED, 2, 3, 0);
	add(&all, "train.py", JOB_COMPLETED, 15, 2, 0);
	return all;
}

static void test_all_type_stats__counts_jobs_and_leaves_out_unfinished_ones(void **state)
{
	struct all_type_stats all = two_types();
	const struct type_stats *train = &all.types.at[0];

	assert_int_equal(all.types.len, 2);
	assert_string_equal(train->type, "train.py");
	assert_int_equal(train->jobs, 23);
	assert_int_equal(train->failed, 1);
	assert_int_equal(train->running, 1);
	assert_int_equal(train->lost, 1);
	assert_int_equal(train->figures[TYPE_TIME].known.len, 21);
	assert_int_equal(train->largest, 1);
	assert_int_equal(all.types.at[1].largest, 1);
	type_stats_all_done(&all);
}

static void assert_view(struct style style, const char *golden)
{
	struct all_type_stats all = two_types();
	struct buf out = { 0 };

	stats_view(&all, CANVAS(&style, &out));
	assert_golden(golden, &out);
	assert_null(strstr(out.at, " \n"));
	buf_done(&out);
	type_stats_all_done(&all);
}

static void test_stats_view__shows_the_spread_of_each_figure(void **state)
{
	assert_view((struct style){ .width = 80, .unicode = true }, "stats-80.txt");
	assert_view((struct style){ .width = 40 }, "stats-40.txt");
}

static void test_stats_json__holds_the_same(void **state)
{
	struct all_type_stats all = two_types();
	struct buf out = { 0 };
	struct json j = { .out = &out };

	json_begin_object(&j);
	stats_view_json(&all, &j);
	json_end_object(&j);
	buf_putc(&out, '\n');
	assert_golden("stats.json", &out);
	buf_done(&out);
	type_stats_all_done(&all);
}

RUN_TESTS(TEST(test_all_type_stats__counts_jobs_and_leaves_out_unfinished_ones),
          TEST(test_stats_view__shows_the_spread_of_each_figure),
          TEST(test_stats_json__holds_the_same))
