/* SPDX-License-Identifier: MIT */
#include "model/process_selection.h"

#include <math.h>

#include "check.h"

static struct proc_snap *add(struct snapshot *snap, double cpu_ratio, uint64_t rss_bytes,
                             int32_t job)
{
	struct proc_snap *p = vec_push(&snap->procs, 1000);

	p->s.id.pid = (pid_t)snap->procs.len;
	p->cpu_ratio = cpu_ratio;
	p->job = job;
	if (rss_bytes)
		readings_set(&p->s.r, PROC_RSS, rss_bytes);
	return p;
}

static size_t count(const struct snapshot *snap, enum process_selection how)
{
	struct process_largest largest;
	size_t n = 0;

	process_largest_find(snap, NULL, &largest);
	for (size_t i = 0; i < snap->procs.len; i++)
		n += process_selection_has(how, &largest, snap, i);
	return n;
}

static void test_process_selection__has_ten_by_each_measure_and_all_of_jobs(void **state)
{
	struct snapshot snap = { 0 };
	struct process_largest largest;

	(void)state;
	(void)vec_push(&snap.jobs, 1);
	for (int i = 0; i < 30; i++)
		add(&snap, i * 0.01, (uint64_t)(100 - i) << 20, -1);
	add(&snap, 0, 1, 0);
	process_largest_find(&snap, NULL, &largest);
	assert_int_equal(largest.len, 20);
	assert_int_equal(largest.at[0], 29); /* the busiest */
	assert_int_equal(largest.at[10], 0); /* the largest */
	assert_int_equal(count(&snap, SELECT_JOBS_AND_LARGEST), 21);
	assert_int_equal(count(&snap, SELECT_JOBS), 1);
	assert_int_equal(count(&snap, SELECT_ALL), 31);
	snapshot_done(&snap);
}

static void test_process_selection__counts_a_process_that_is_large_by_both_once(void **state)
{
	struct snapshot snap = { 0 };
	struct process_largest largest;

	(void)state;
	add(&snap, 1.0, 1 << 20, -1);
	add(&snap, NAN, 0, -1); /* nothing is known of it */
	process_largest_find(&snap, NULL, &largest);
	assert_int_equal(largest.len, 1);
	assert_int_equal(largest.at[0], 0);
	snapshot_done(&snap);
}

RUN_TESTS(TEST(test_process_selection__has_ten_by_each_measure_and_all_of_jobs),
          TEST(test_process_selection__counts_a_process_that_is_large_by_both_once))
