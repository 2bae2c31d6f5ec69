/* SPDX-License-Identifier: MIT */
#include "model/sample.h"

#include "check.h"
#include "model_kit.h"

static void test_sample_sort__puts_pids_in_order_and_find_finds_them(void **state)
{
	static const pid_t pids[] = { 40, 7, 300, 1, 22 };
	struct sample s = kit_sample(0);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pids); i++)
		kit_proc(&s, pids[i], 500);
	sample_sort_procs(&s);
	for (size_t i = 1; i < s.procs.len; i++)
		assert_true(s.procs.at[i - 1].id.pid < s.procs.at[i].id.pid);
	for (size_t i = 0; i < ARRAY_LEN(pids); i++)
		assert_int_equal(sample_find_proc(&s, pids[i])->id.pid, pids[i]);
	assert_null(sample_find_proc(&s, 23));
	sample_done(&s);
	s = (struct sample){ 0 };
	sample_sort_procs(&s);
	assert_null(sample_find_proc(&s, 1));
}

static void test_sample_sort__leaves_one_process_of_each_pid(void **state)
{
	static const struct proc_id read[] = { { 7, 500 },  { 40, 500 }, { 40, 500 }, { 22, 510 },
		                               { 22, 500 }, { 30, 500 }, { 30, 510 }, { 30, 510 } };
	static const struct proc_id left[] = { { 7, 500 }, { 22, 510 }, { 30, 510 }, { 40, 500 } };
	struct sample s = kit_sample(0);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(read); i++)
		kit_proc(&s, read[i].pid, read[i].start_ticks);
	sample_sort_procs(&s);
	assert_int_equal(s.procs.len, ARRAY_LEN(left));
	for (size_t i = 0; i < ARRAY_LEN(left); i++)
		assert_true(proc_id_eq(s.procs.at[i].id, left[i]));
	sample_done(&s);
}

static void test_sample_reset__leaves_nothing_of_the_last_tick(void **state)
{
	struct sample s = kit_sample(0);
	struct proc_sample *p = kit_proc_cpu(&s, 10, 500, 7);
	void *memory = s.procs.at;

	(void)state;
	(void)p;
	readings_set(&s.host, HOST_MEM_TOTAL, 1);
	sample_add_event(&s, EVENT_OOM);
	sample_reset(&s);
	assert_int_equal(s.procs.len + s.events.len + s.text.len + s.host.present + s.boot_ns, 0);
	assert_false(s.procs_complete || s.events_complete);
	assert_ptr_equal(s.procs.at, memory);
	p = sample_add_proc(&s); /* zeroed, whatever stood there */
	assert_int_equal(p->r.present, 0);
	assert_int_equal(p->id.pid, 0);
	sample_done(&s);
}

static void test_sample_add_event__refuses_more_than_fit(void **state)
{
	struct sample s = kit_sample(0);

	(void)state;
	for (size_t i = 0; i < EVENTS_MAX; i++)
		assert_non_null(sample_add_event(&s, EVENT_EXEC));
	assert_true(s.events_complete);
	assert_null(sample_add_event(&s, EVENT_EXEC));
	assert_null(sample_add_event(&s, EVENT_EXEC));
	assert_false(s.events_complete);
	assert_int_equal(s.events.len, EVENTS_MAX);
	sample_done(&s);
}

static void test_sample_add_event__belongs_to_no_job_at_first(void **state)
{
	struct sample s = kit_sample(0);

	(void)state;
	assert_int_equal(sample_add_event(&s, EVENT_EXIT)->job, -1);
	sample_done(&s);
}

static void test_sample_add_text__gives_an_empty_ref_at_the_ceiling(void **state)
{
	struct sample s = { .text.max = 8 };
	struct text_ref first = sample_add_text(&s, "123456", 6),
			second = sample_add_text(&s, "789", 3);

	(void)state;
	assert_int_equal(first.len, 6);
	assert_int_equal(second.len, 0);
	assert_memory_equal(s.text.at + first.at, "123456", 6);
	sample_done(&s);
}

static void test_proc_key__distinguishes_processes_of_one_pid(void **state)
{
	struct proc_id a = { 4194304, 1 }, b = { 4194304, 2 }, c = { 4194303, 1 };

	(void)state;
	assert_true(proc_key(a) != proc_key(b) && proc_key(a) != proc_key(c) &&
	            proc_key(b) != proc_key(c));
	assert_true(proc_id_eq(a, a) && !proc_id_eq(a, b) && !proc_id_eq(a, c));
}

RUN_TESTS(TEST(test_sample_sort__puts_pids_in_order_and_find_finds_them),
          TEST(test_sample_sort__leaves_one_process_of_each_pid),
          TEST(test_sample_reset__leaves_nothing_of_the_last_tick),
          TEST(test_sample_add_event__refuses_more_than_fit),
          TEST(test_sample_add_event__belongs_to_no_job_at_first),
          TEST(test_sample_add_text__gives_an_empty_ref_at_the_ceiling),
          TEST(test_proc_key__distinguishes_processes_of_one_pid))
