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

static void test_jobtab__finds_who_belongs_to_what(void **state)
{
	struct jobtab t = { 0 };
	int32_t a = jobtab_add(&t, "a", "make", 1), b = jobtab_add(&t, "b", "make", 2);

	(void)state;
	jobtab_assign(&t, (struct proc_id){ 10, 500 }, (struct job_ref){ a, 1 });
	jobtab_assign(&t, (struct proc_id){ 11, 500 }, (struct job_ref){ b, UINT32_MAX });
	assert_int_equal(jobtab_find(&t, (struct proc_id){ 10, 500 }).job, a);
	assert_int_equal(jobtab_find(&t, (struct proc_id){ 10, 500 }).sheet, 1);
	assert_int_equal(jobtab_find(&t, (struct proc_id){ 11, 500 }).job, b);
	assert_int_equal(jobtab_find(&t, (struct proc_id){ 11, 500 }).sheet, UINT32_MAX);
	assert_int_equal(jobtab_find(&t, (struct proc_id){ 10, 501 }).job, -1);
	jobtab_assign(&t, (struct proc_id){ 10, 500 }, (struct job_ref){ a, 2 });
	assert_int_equal(jobtab_find(&t, (struct proc_id){ 10, 500 }).sheet, 2);
	jobtab_forget(&t, (struct proc_id){ 10, 500 });
	assert_int_equal(jobtab_find(&t, (struct proc_id){ 10, 500 }).job, -1);
	jobtab_done(&t);
}

static void test_jobtab_remove__moves_up_what_is_behind(void **state)
{
	struct jobtab t = { 0 };

	(void)state;
	jobtab_add(&t, "a", "make", 1);
	jobtab_add(&t, "b", "make", 2);
	jobtab_add(&t, "c", "make", 3);
	jobtab_assign(&t, (struct proc_id){ 10, 5 }, (struct job_ref){ 0, 0 });
	jobtab_assign(&t, (struct proc_id){ 11, 5 }, (struct job_ref){ 1, 4 });
	jobtab_assign(&t, (struct proc_id){ 12, 5 }, (struct job_ref){ 2, 7 });
	jobtab_begin_sheet(&t, 1, 4, "", 2);
	jobtab_begin_sheet(&t, 2, 7, "", 3);
	jobtab_remove(&t, 1);
	assert_int_equal(t.jobs.len, 2);
	assert_int_equal(jobtab_index(&t, "a"), 0);
	assert_int_equal(jobtab_index(&t, "b"), -1);
	assert_int_equal(jobtab_index(&t, "c"), 1);
	assert_int_equal(jobtab_find(&t, (struct proc_id){ 10, 5 }).job, 0);
	assert_int_equal(jobtab_find(&t, (struct proc_id){ 11, 5 }).job, -1);
	assert_int_equal(jobtab_find(&t, (struct proc_id){ 12, 5 }).job, 1);
	assert_int_equal(jobtab_find(&t, (struct proc_id){ 12, 5 }).sheet, 7);
	assert_null(jobtab_sheet(&t, 1, 4));
	assert_non_null(jobtab_sheet(&t, 1, 7));
	jobtab_done(&t);
}

static void test_jobtab_add__refuses_long_names_and_too_many(void **state)
{
	struct jobtab t = { 0 };
	char name[JOB_ID_MAX + 1];

	(void)state;
	memset(name, 'x', sizeof name - 1);
	name[JOB_ID_MAX] = '\0';
	assert_int_equal(jobtab_add(&t, name, "make", 1), -1);
	assert_int_equal(jobtab_add(&t, "a", name, 1), -1);
	name[JOB_ID_MAX - 1] = '\0';
	assert_int_equal(jobtab_add(&t, name, name, 1), 0);
	for (size_t i = 1; i < JOBS_MAX; i++)
		assert_int_equal(jobtab_add(&t, "a", "make", 1), (int32_t)i);
	assert_int_equal(jobtab_add(&t, "a", "make", 1), -1);
	jobtab_done(&t);
}

static void test_jobtab__starts_a_job_as_running(void **state)
{
	struct jobtab t = { 0 };

	(void)state;
	jobtab_add(&t, "a", "make", 7);
	assert_int_equal(t.jobs.at[0].status, JOB_RUNNING);
	assert_string_equal(job_status_name(t.jobs.at[0].status), "running");
	assert_string_equal(job_status_name(JOB_LOST), "lost");
	assert_int_equal(t.jobs.at[0].started_ns, 7);
	jobtab_done(&t);
}

static void test_jobtab__follows_sheets_that_run_side_by_side(void **state)
{
	struct jobtab t = { 0 };
	const struct job *job;

	(void)state;
	jobtab_add(&t, "a", "make", 7);
	job = &t.jobs.at[0];
	jobtab_begin_sheet(&t, 0, 1, "prepare", 10);
	jobtab_begin_sheet(&t, 0, 0, "fit", 11);
	assert_int_equal(job->current_sheet, 2);
	assert_int_equal(job->total_sheets, 2);
	jobtab_end_sheet(&t, jobtab_sheet(&t, 0, 2), JOB_COMPLETED, 12);
	assert_int_equal(job->current_sheet, 1);
	assert_int_equal(job->last_completed_sheet, 2);
	jobtab_end_sheet(&t, jobtab_sheet(&t, 0, 1), JOB_FAILED, 13);
	assert_int_equal(job->current_sheet, 0);
	assert_int_equal(job->last_completed_sheet, 2);
	assert_int_equal(job->completed_sheets, 1);
	assert_int_equal(job->failed_sheets, 1);
	assert_null(jobtab_sheet(&t, 0, 3));
	jobtab_done(&t);
}

static void test_jobtab__begins_a_sheet_again_when_it_is_opened_again(void **state)
{
	struct jobtab t = { 0 };

	(void)state;
	jobtab_add(&t, "a", "make", 7);
	jobtab_end_sheet(&t, jobtab_begin_sheet(&t, 0, 1, "pack", 10), JOB_FAILED, 11);
	assert_int_equal(t.sheets.at[0].attempt, 1);
	jobtab_sheet(&t, 0, 1)->is_stored = true;
	jobtab_begin_sheet(&t, 0, 1, "", 12);
	assert_int_equal(t.sheets.len, 1);
	assert_int_equal(t.sheets.at[0].attempt, 2);
	assert_string_equal(t.sheets.at[0].label, "pack");
	assert_int_equal(t.sheets.at[0].status, JOB_RUNNING);
	assert_int_equal(t.sheets.at[0].ended_ns, 0);
	assert_false(t.sheets.at[0].is_stored);
	jobtab_done(&t);
}

RUN_TESTS(TEST(test_job_key__tells_the_jobs_of_two_users_apart),
          TEST(test_jobtab_remove__moves_up_what_is_behind),
          TEST(test_jobtab__finds_who_belongs_to_what),
          TEST(test_jobtab_add__refuses_long_names_and_too_many),
          TEST(test_jobtab__starts_a_job_as_running),
          TEST(test_jobtab__follows_sheets_that_run_side_by_side),
          TEST(test_jobtab__begins_a_sheet_again_when_it_is_opened_again))
