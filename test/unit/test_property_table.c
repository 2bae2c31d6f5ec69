/* SPDX-License-Identifier: MIT */
#include "report/property_table.h"

#include <math.h>

#include "check.h"

static struct past_run run_of(const char *outcome, const char *tags)
{
	struct past_run run = { .started_ns = 100, .took_ns = 20, .peak_bytes = 4096 };

	snprintf(run.outcome, sizeof run.outcome, "%s", outcome);
	snprintf(run.tags, sizeof run.tags, "%s", tags);
	return run;
}

static struct property_table table_of(const struct past_run *runs, size_t n)
{
	struct property_table t = { 0 };

	for (size_t i = 0; i < n; i++)
		property_table_add_run(&t, &runs[i]);
	property_table_finish(&t);
	return t;
}

/* NAN: there is no such property. */
static double value_of(const struct property_table *t, enum job_property kind, const char *name,
                       size_t row)
{
	for (size_t i = 0; i < t->properties.len; i++)
		if (t->properties.at[i].kind == kind && strcmp(t->properties.at[i].name, name) == 0)
			return t->value.at[i * t->rows.len + row];
	return NAN;
}

static void test_property_table__keeps_absent_apart_from_zero(void **state)
{
	struct past_run runs[] = { run_of("ok", ""), run_of("time_limit", "") };
	struct property_table t;

	runs[1].basis = RUN_BASIS_PROCESS;
	runs[1].cpu_ns = 0;
	runs[1].has = 1u << RUN_CPU;
	t = table_of(runs, 2);
	assert_false(t.failed.at[0]);
	assert_true(t.failed.at[1]);
	assert_true(value_of(&t, PROPERTY_MEMORY, "", 0) == 4096);
	assert_true(isnan(value_of(&t, PROPERTY_LARGEST, "", 0)));
	assert_true(isnan(value_of(&t, PROPERTY_MEMORY, "", 1)));
	assert_true(value_of(&t, PROPERTY_LARGEST, "", 1) == 4096);
	assert_true(isnan(value_of(&t, PROPERTY_CPU, "", 0)));
	assert_true(value_of(&t, PROPERTY_CPU, "", 1) == 0);
	assert_int_equal(t.rows.at[0].ended_ns, 120);
	property_table_done(&t);
}

/* One that all or all but one have proves nothing. */
static void test_property_table__has_tags_that_two_jobs_have_and_two_have_not(void **state)
{
	const struct past_run runs[] = {
		run_of("ok", "shard=1; all"),
		run_of("ok", "shard=1, all"),
		run_of("ok", "{\"shard\":\"2\",\"all\":\"\"}"),
		run_of("ok", "all rare=1"),
	};
	struct property_table t = table_of(runs, ARRAY_LEN(runs));

	assert_true(value_of(&t, PROPERTY_TAG, "shard=1", 1) == 1);
	assert_true(value_of(&t, PROPERTY_TAG, "shard=1", 2) == 0);
	assert_true(value_of(&t, PROPERTY_TAG, "shard=1", 3) == 0);
	assert_true(isnan(value_of(&t, PROPERTY_TAG, "all", 0)));
	assert_true(isnan(value_of(&t, PROPERTY_TAG, "shard=2", 0)));
	assert_true(isnan(value_of(&t, PROPERTY_TAG, "rare=1", 0)));
	property_table_done(&t);
}

static void test_property_row_add_context__names_a_call_that_dominates(void **state)
{
	struct past_run run = run_of("ok", "");
	struct property_table t = { 0 };
	const struct job_context context[] = {
		{ .anomalies = 1, .load = 2.5, .call = "futex", .call_ratio = 0.5 },
		{ .anomalies = 0, .load = NAN, .call = "read", .call_ratio = 0.35 },
		{ .load = 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(context); i++) {
		property_table_add_run(&t, &run);
		property_row_add_context(&t.rows.at[i], &context[i]);
	}
	assert_string_equal(t.rows.at[0].call, "futex");
	assert_string_equal(t.rows.at[1].call, ""); /* not more than 35 % */
	assert_true(t.rows.at[0].number[PROPERTY_ANOMALY] == 1);
	assert_true(t.rows.at[1].number[PROPERTY_ANOMALY] == 0);
	assert_true(isnan(t.rows.at[1].number[PROPERTY_LOAD]));
	assert_true(isnan(t.rows.at[2].number[PROPERTY_CALL_SHARE])); /* they were not counted */
	property_table_done(&t);
}

static void test_property_table__keeps_the_newest_jobs(void **state)
{
	struct past_run run = run_of("ok", "");
	struct property_table t = { 0 };
	struct correlation_group g;

	for (size_t i = 0; i < CORRELATION_JOBS_MAX + 3; i++)
		property_table_add_run(&t, &run);
	property_table_finish(&t);
	g = property_table_group(&t);
	assert_int_equal(g.jobs, CORRELATION_JOBS_MAX);
	assert_int_equal(g.features, NUMBER_PROPERTIES);
	assert_int_equal(t.dropped, 3);
	property_table_done(&t);
}

static void test_property_subject__names_the_side(void **state)
{
	const struct property number = { PROPERTY_MEMORY, "" }, tag = { PROPERTY_TAG, "shard=3" };
	char text[64];

	property_subject(&number, "above", text, sizeof text);
	assert_string_equal(text, "memory_used above");
	property_subject(&tag, "above", text, sizeof text);
	assert_string_equal(text, "tag shard=3 above");
}

RUN_TESTS(TEST(test_property_table__keeps_absent_apart_from_zero),
          TEST(test_property_table__has_tags_that_two_jobs_have_and_two_have_not),
          TEST(test_property_row_add_context__names_a_call_that_dominates),
          TEST(test_property_table__keeps_the_newest_jobs),
          TEST(test_property_subject__names_the_side))
