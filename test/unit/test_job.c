/* SPDX-License-Identifier: MIT */
#include "model/job.h"

#include "check.h"

static void test_job_key__tells_the_jobs_of_two_users_apart(void **state)
{
	struct job a = { .id = "build", .uid = 1000 }, b = { .id = "build", .uid = 1001 };

	(void)state;
	assert_true(job_key_eq(job_key_of(&a), (struct job_key){ 1000, "build" }));
	assert_false(job_key_eq(job_key_of(&a), job_key_of(&b)));
	assert_false(job_key_eq(job_key_of(&a), (struct job_key){ 1000, "build2" }));
}

RUN_TESTS(TEST(test_job_key__tells_the_jobs_of_two_users_apart))
