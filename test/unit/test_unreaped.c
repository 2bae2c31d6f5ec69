/* SPDX-License-Identifier: MIT */
#include "job/unreaped.h"

#include "check.h"

struct fixture {
	struct unreaped u;
	struct job_roster jobs;
	struct sample sample;
	struct snapshot snap;
};

static struct fixture fixture_of_members(pid_t first, pid_t last)
{
	struct fixture s = { 0 };

	assert_int_equal(job_roster_add(&s.jobs, "job", "job", 1), 0);
	for (pid_t pid = first; pid <= last; pid++)
		job_roster_assign(&s.jobs, (struct proc_id){ pid, 7 }, (struct job_ref){ 0, 2 });
	return s;
}

static void fixture_done(struct fixture *s)
{
	unreaped_done(&s->u);
	job_roster_done(&s->jobs);
	sample_done(&s->sample);
	snapshot_done(&s->snap);
}

static void learn(struct fixture *s, enum event_kind kind, pid_t pid, bool has_totals)
{
	struct event e = { .kind = kind, .id = { pid, 7 } };

	if (has_totals)
		readings_set(&e.final, PROC_CPU_TIME, 1);
	unreaped_learn(&s->u, &s->jobs, &e, 1);
}

static size_t list(struct fixture *s)
{
	vec_reset(&s->sample.request.focus);
	unreaped_list(&s->u, &s->jobs, &s->sample.request);
	return s->sample.request.focus.len;
}

static void see(struct fixture *s, pid_t pid, uint64_t start_ticks, char state)
{
	struct proc_snap *p = vec_push(&s->snap.procs, PROCS_MAX);

	p->s.id = (struct proc_id){ pid, start_ticks };
	p->s.state = state;
}

static void test_unreaped__are_members_that_ended_without_totals(void **state)
{
	struct fixture s = fixture_of_members(10, 12);

	learn(&s, EVENT_EXIT, 10, false);
	learn(&s, EVENT_EXIT, 11, true);  /* was reaped */
	learn(&s, EVENT_EXIT, 99, false); /* not a child of the job */
	learn(&s, EVENT_SPAWN, 12, false);
	assert_int_equal(list(&s), 1);
	assert_int_equal(s.sample.request.focus.at[0].pid, 10);
	learn(&s, EVENT_TOTALS, 10, true);
	assert_int_equal(list(&s), 0);
	fixture_done(&s);
}

static void test_unreaped__are_forgotten_when_a_tick_does_not_find_them(void **state)
{
	struct fixture s = fixture_of_members(10, 13);

	for (pid_t pid = 10; pid <= 13; pid++)
		learn(&s, EVENT_EXIT, pid, false);
	assert_int_equal(list(&s), 4);
	see(&s, 10, 7, 'Z');
	see(&s, 11, 8, 'Z'); /* another life */
	see(&s, 12, 7, 'R'); /* its end was reported, and it is still on its way out */
	unreaped_forget(&s.u, &s.jobs, &s.snap);
	assert_int_equal(list(&s), 2);
	assert_int_equal(s.sample.request.focus.at[0].pid, 10);
	assert_int_equal(s.sample.request.focus.at[1].pid, 12);
	fixture_done(&s);
}

/* Processes are read before the events of a tick. */
static void test_unreaped__are_not_forgotten_by_the_tick_that_reports_their_end(void **state)
{
	struct fixture s = fixture_of_members(10, 10);

	assert_int_equal(list(&s), 0);
	learn(&s, EVENT_EXIT, 10, false);
	unreaped_forget(&s.u, &s.jobs, &s.snap);
	assert_int_equal(list(&s), 1);
	unreaped_forget(&s.u, &s.jobs, &s.snap);
	assert_int_equal(list(&s), 0);
	fixture_done(&s);
}

static void test_unreaped__stay_members_until_they_are_gone(void **state)
{
	struct fixture s = fixture_of_members(10, 10);
	struct proc_id id = { 10, 7 };

	learn(&s, EVENT_EXIT, 10, false);
	job_roster_forget(&s.jobs, id);
	list(&s);
	assert_int_equal(job_roster_find(&s.jobs, id).job, 0);
	assert_int_equal(job_roster_find(&s.jobs, id).sheet, 2);
	unreaped_forget(&s.u, &s.jobs, &s.snap);
	assert_int_equal(job_roster_find(&s.jobs, id).job, -1);
	fixture_done(&s);
}

static void test_unreaped__are_bounded(void **state)
{
	struct fixture s = fixture_of_members(1, UNREAPED_MAX + 10);

	for (pid_t pid = 1; pid <= UNREAPED_MAX + 10; pid++)
		learn(&s, EVENT_EXIT, pid, false);
	assert_int_equal(list(&s), UNREAPED_MAX);
	fixture_done(&s);
}

RUN_TESTS(TEST(test_unreaped__are_members_that_ended_without_totals),
          TEST(test_unreaped__are_forgotten_when_a_tick_does_not_find_them),
          TEST(test_unreaped__are_not_forgotten_by_the_tick_that_reports_their_end),
          TEST(test_unreaped__stay_members_until_they_are_gone), TEST(test_unreaped__are_bounded))
