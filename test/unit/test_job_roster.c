/* SPDX-License-Identifier: MIT */
#include "model/job_roster.h"

#include "check.h"

static void test_job_roster__finds_the_job_of_a_process(void **state)
{
	struct job_roster t = { 0 };
	int32_t a = job_roster_add(&t, "a", "make", 1), b = job_roster_add(&t, "b", "make", 2);

	(void)state;
	job_roster_assign(&t, (struct proc_id){ 10, 500 }, (struct job_ref){ a, 1 });
	job_roster_assign(&t, (struct proc_id){ 11, 500 }, (struct job_ref){ b, INT32_MAX, true });
	assert_int_equal(job_roster_find(&t, (struct proc_id){ 10, 500 }).job, a);
	assert_int_equal(job_roster_find(&t, (struct proc_id){ 10, 500 }).sheet, 1);
	assert_int_equal(job_roster_find(&t, (struct proc_id){ 11, 500 }).job, b);
	assert_int_equal(job_roster_find(&t, (struct proc_id){ 11, 500 }).sheet, INT32_MAX);
	assert_true(job_roster_find(&t, (struct proc_id){ 11, 500 }).is_joined);
	assert_int_equal(job_roster_find(&t, (struct proc_id){ 10, 501 }).job, -1);
	job_roster_assign(&t, (struct proc_id){ 10, 500 }, (struct job_ref){ a, 2 });
	assert_int_equal(job_roster_find(&t, (struct proc_id){ 10, 500 }).sheet, 2);
	job_roster_forget(&t, (struct proc_id){ 10, 500 });
	assert_int_equal(job_roster_find(&t, (struct proc_id){ 10, 500 }).job, -1);
	job_roster_done(&t);
}

static void test_job_roster_remove__leaves_other_handles_as_they_are(void **state)
{
	struct job_roster t = { 0 };
	job_handle a = job_roster_add(&t, "a", "make", 1), b = job_roster_add(&t, "b", "make", 2),
		   c = job_roster_add(&t, "c", "make", 3);
	const struct job_row *row_c = job_roster_get(&t, c);

	(void)state;
	job_roster_assign(&t, (struct proc_id){ 10, 5 }, (struct job_ref){ a, 0 });
	job_roster_assign(&t, (struct proc_id){ 11, 5 }, (struct job_ref){ b, 4 });
	job_roster_assign(&t, (struct proc_id){ 12, 5 }, (struct job_ref){ c, 7 });
	job_roster_begin_sheet(&t, job_roster_get(&t, b), 4, "", 2);
	job_roster_begin_sheet(&t, job_roster_get(&t, c), 7, "", 3);
	job_roster_remove(&t, b);
	assert_int_equal(t.rows.len, 2);
	assert_int_equal(t.sheets, 1);
	assert_int_equal(job_roster_find_key(&t, (struct job_key){ 0, "a" }), a);
	assert_int_equal(job_roster_find_key(&t, (struct job_key){ 0, "b" }), -1);
	assert_int_equal(job_roster_find_key(&t, (struct job_key){ 0, "c" }), c);
	assert_ptr_equal(job_roster_get(&t, c), row_c);
	assert_int_equal(job_roster_index(&t, a), 0);
	assert_int_equal(job_roster_index(&t, c), 1);
	assert_int_equal(job_roster_find(&t, (struct proc_id){ 10, 5 }).job, a);
	assert_int_equal(job_roster_find(&t, (struct proc_id){ 11, 5 }).job, -1);
	assert_int_equal(job_roster_find(&t, (struct proc_id){ 12, 5 }).job, c);
	assert_int_equal(job_roster_find(&t, (struct proc_id){ 12, 5 }).sheet, 7);
	assert_non_null(job_row_sheet(row_c, 7));
	job_roster_done(&t);
}

static void test_job_roster_get__does_not_take_a_new_job_for_one_that_was_there(void **state)
{
	struct job_roster t = { 0 };
	job_handle a = job_roster_add(&t, "a", "make", 1), b;

	(void)state;
	job_roster_remove(&t, a);
	job_roster_remove(&t, a); /* there is none */
	b = job_roster_add(&t, "b", "make", 2);
	assert_int_not_equal(a, b);
	assert_null(job_roster_get(&t, a));
	assert_int_equal(job_roster_index(&t, a), -1);
	assert_string_equal(job_roster_get(&t, b)->job.id, "b");
	assert_null(job_roster_get(&t, -1));
	job_roster_done(&t);
}

static void test_job_roster_add__refuses_long_names_and_too_many(void **state)
{
	struct job_roster t = { 0 };
	char name[JOB_ID_MAX + 1];

	(void)state;
	memset(name, 'x', sizeof name - 1);
	name[JOB_ID_MAX] = '\0';
	assert_int_equal(job_roster_add(&t, name, "make", 1), -1);
	assert_int_equal(job_roster_add(&t, "a", name, 1), -1);
	name[JOB_ID_MAX - 1] = '\0';
	assert_int_equal(job_roster_add(&t, name, name, 1), 0);
	for (size_t i = 1; i < JOBS_MAX; i++)
		assert_int_equal(job_roster_add(&t, "a", "make", 1), (int32_t)i);
	assert_int_equal(job_roster_add(&t, "a", "make", 1), -1);
	job_roster_done(&t);
}

static void test_job_roster__starts_a_job_as_running(void **state)
{
	struct job_roster t = { 0 };

	(void)state;
	job_roster_add(&t, "a", "make", 7);
	assert_int_equal(t.rows.at[0]->job.status, JOB_RUNNING);
	assert_string_equal(job_status_name(t.rows.at[0]->job.status), "running");
	assert_string_equal(job_status_name(JOB_LOST), "lost");
	assert_int_equal(t.rows.at[0]->job.started_ns, 7);
	job_roster_done(&t);
}

static void test_job_roster__follows_sheets_that_run_side_by_side(void **state)
{
	struct job_roster t = { 0 };
	const struct job *job;

	(void)state;
	job_roster_add(&t, "a", "make", 7);
	job = &t.rows.at[0]->job;
	job_roster_begin_sheet(&t, t.rows.at[0], 1, "prepare", 10);
	job_roster_begin_sheet(&t, t.rows.at[0], 0, "fit", 11);
	assert_int_equal(job->current_sheet, 2);
	assert_int_equal(job->total_sheets, 2);
	job_row_end_sheet(t.rows.at[0], job_row_sheet(t.rows.at[0], 2), JOB_COMPLETED, 12);
	assert_int_equal(job->current_sheet, 1);
	assert_int_equal(job->last_completed_sheet, 2);
	job_row_end_sheet(t.rows.at[0], job_row_sheet(t.rows.at[0], 1), JOB_FAILED, 13);
	assert_int_equal(job->current_sheet, 0);
	assert_int_equal(job->last_completed_sheet, 2);
	assert_int_equal(job->completed_sheets, 1);
	assert_int_equal(job->failed_sheets, 1);
	assert_null(job_row_sheet(t.rows.at[0], 3));
	job_roster_done(&t);
}

static void test_job_roster__begins_a_sheet_again_when_it_is_opened_again(void **state)
{
	struct job_roster t = { 0 };

	(void)state;
	job_roster_add(&t, "a", "make", 7);
	job_row_end_sheet(t.rows.at[0], job_roster_begin_sheet(&t, t.rows.at[0], 1, "pack", 10),
	                  JOB_FAILED, 11);
	assert_int_equal(t.rows.at[0]->sheets.at[0].attempt, 1);
	job_row_sheet(t.rows.at[0], 1)->is_shown = true;
	job_roster_begin_sheet(&t, t.rows.at[0], 1, "", 12);
	assert_int_equal(t.sheets, 1);
	assert_int_equal(t.rows.at[0]->sheets.at[0].attempt, 2);
	assert_string_equal(t.rows.at[0]->sheets.at[0].label, "pack");
	assert_int_equal(t.rows.at[0]->sheets.at[0].status, JOB_RUNNING);
	assert_int_equal(t.rows.at[0]->sheets.at[0].ended_ns, 0);
	assert_false(t.rows.at[0]->sheets.at[0].is_shown);
	job_roster_done(&t);
}

RUN_TESTS(TEST(test_job_roster_remove__leaves_other_handles_as_they_are),
          TEST(test_job_roster_get__does_not_take_a_new_job_for_one_that_was_there),
          TEST(test_job_roster__finds_the_job_of_a_process),
          TEST(test_job_roster_add__refuses_long_names_and_too_many),
          TEST(test_job_roster__starts_a_job_as_running),
          TEST(test_job_roster__follows_sheets_that_run_side_by_side),
          TEST(test_job_roster__begins_a_sheet_again_when_it_is_opened_again))
