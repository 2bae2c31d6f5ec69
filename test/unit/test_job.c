/* SPDX-License-Identifier: MIT */
#include "model/job.h"

#include "check.h"

static void test_job_key__distinguishes_the_jobs_of_two_users(void **state)
{
	struct job a = { .id = "build", .uid = 1000 }, b = { .id = "build", .uid = 1001 };

	(void)state;
	assert_true(job_key_eq(job_key_of(&a), (struct job_key){ 1000, "build" }));
	assert_false(job_key_eq(job_key_of(&a), job_key_of(&b)));
	assert_false(job_key_eq(job_key_of(&a), (struct job_key){ 1000, "build2" }));
}

static void test_quality_join__is_as_good_as_the_worse_of_two(void **state)
{
	static const struct {
		enum quality a, b, joined;
	} cases[] = {
		{ QUALITY_EXACT, QUALITY_EXACT, QUALITY_EXACT },
		{ QUALITY_EXACT, QUALITY_AT_LEAST, QUALITY_AT_LEAST },
		{ QUALITY_EXACT, QUALITY_AT_MOST, QUALITY_AT_MOST },
		{ QUALITY_EXACT, QUALITY_SAMPLED, QUALITY_SAMPLED },
		{ QUALITY_AT_LEAST, QUALITY_AT_LEAST, QUALITY_AT_LEAST },
		{ QUALITY_AT_LEAST, QUALITY_AT_MOST, QUALITY_SAMPLED },
		{ QUALITY_SAMPLED, QUALITY_AT_MOST, QUALITY_SAMPLED },
		{ QUALITY_SAMPLED, QUALITY_MISSING, QUALITY_MISSING },
		{ QUALITY_EXACT, QUALITY_MISSING, QUALITY_MISSING },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(quality_join(cases[i].a, cases[i].b), cases[i].joined);
		assert_int_equal(quality_join(cases[i].b, cases[i].a), cases[i].joined);
	}
}

static void test_job_is_copy__tells_runs_of_one_id_apart(void **state)
{
	const struct job_key own = { 7, "nightly" };
	struct job copy = {
		.uid = 7, .id = "nightly.2", .recorded_as = "nightly", .recording = "a"
	};
	struct job registered = { .uid = 7, .id = "nightly" };

	assert_true(job_is_copy(&copy, own, "a"));
	assert_false(job_is_copy(&copy, own, "b"));
	assert_false(job_is_copy(&copy, (struct job_key){ 8, "nightly" }, "a"));
	assert_false(job_is_copy(&copy, (struct job_key){ 7, "nightly.2" }, "a"));
	assert_false(job_is_copy(&registered, own, "a"));
	copy.recording[0] = '\0'; /* of an older daemon */
	assert_true(job_is_copy(&copy, own, "a"));
	assert_true(job_is_copy(&registered, own, "")); /* both from before recordings had names */
}

RUN_TESTS(TEST(test_job_is_copy__tells_runs_of_one_id_apart),
          TEST(test_job_key__distinguishes_the_jobs_of_two_users),
          TEST(test_quality_join__is_as_good_as_the_worse_of_two))
