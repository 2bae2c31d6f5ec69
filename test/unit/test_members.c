/* SPDX-License-Identifier: MIT */
#include "job/members.h"

#include <stdio.h>

#include "check.h"
#include "model_kit.h"
#include "model/own_process.h"

struct fixture {
	struct members m;
	struct job_roster t;
};

#define ROOT ((struct proc_id){ 100, 500 })
#define SUBREAPER 77
#define HELPER 301

static bool is_helper(struct proc_id id)
{
	return id.pid == HELPER;
}

static const struct members_root nobody;
static const struct members_root subreaper = { .pid = SUBREAPER, .is_helper = is_helper };

static struct fixture fixture_of(void)
{
	struct fixture fx = { 0 };

	job_roster_add(&fx.t, "j", "make", WALL0_NS);
	members_add(&fx.m, &fx.t, ROOT, (struct job_ref){ 0, 0 });
	return fx;
}

static void fixture_done(struct fixture *fx)
{
	members_done(&fx->m);
	job_roster_done(&fx->t);
}

static struct event spawn(pid_t pid, uint64_t start_ticks, pid_t ppid)
{
	return (struct event){ .kind = EVENT_SPAWN, .id = { pid, start_ticks }, .ppid = ppid };
}

static struct event ended(pid_t pid, uint64_t start_ticks, uint64_t boot_ns)
{
	return (struct event){ .kind = EVENT_EXIT, .id = { pid, start_ticks }, .boot_ns = boot_ns };
}

static void test_members__take_in_children_of_children_in_one_batch(void **state)
{
	struct fixture fx = fixture_of();
	struct event events[] = { spawn(101, 501, 100), spawn(102, 502, 101), spawn(200, 502, 7) };

	(void)state;
	members_learn(&fx.m, &fx.t, events, ARRAY_LEN(events), &nobody);
	assert_int_equal(fx.t.rows.at[0]->processes, 3);
	assert_int_equal(members_place(&fx.m, &fx.t, 102).job, 0);
	assert_int_equal(members_place(&fx.m, &fx.t, 200).job, -1);
	fixture_done(&fx);
}

static void test_members__keep_a_child_whose_parent_is_gone(void **state)
{
	struct fixture fx = fixture_of();
	struct event events[] = { spawn(101, 501, 100), ended(100, 500, 9), spawn(102, 502, 101) };

	(void)state;
	members_learn(&fx.m, &fx.t, events, ARRAY_LEN(events), &nobody);
	assert_int_equal(members_place(&fx.m, &fx.t, 100).job, -1);
	assert_int_equal(job_roster_find(&fx.t, (struct proc_id){ 102, 502 }).job, 0);
	fixture_done(&fx);
}

static void test_members__do_not_take_in_children_of_a_reused_pid(void **state)
{
	struct fixture fx = fixture_of();
	struct event events[] = { spawn(101, 501, 100), ended(101, 501, 9), spawn(101, 900, 7),
		                  spawn(300, 901, 101) };

	(void)state;
	members_learn(&fx.m, &fx.t, events, ARRAY_LEN(events), &nobody);
	assert_int_equal(job_roster_find(&fx.t, (struct proc_id){ 101, 900 }).job, -1);
	assert_int_equal(job_roster_find(&fx.t, (struct proc_id){ 300, 901 }).job, -1);
	fixture_done(&fx);
}

static void test_members__hand_the_sheet_on_to_children(void **state)
{
	struct fixture fx = fixture_of();
	struct event event = spawn(101, 501, 100);

	(void)state;
	members_add(&fx.m, &fx.t, ROOT, (struct job_ref){ 0, 3 });
	members_learn(&fx.m, &fx.t, &event, 1, &nobody);
	assert_int_equal(job_roster_find(&fx.t, event.id).sheet, 3);
	assert_int_equal(fx.t.rows.at[0]->processes, 2); /* the root is counted once */
	fixture_done(&fx);
}

static void test_members__take_in_sisters_of_the_root_but_not_our_helpers(void **state)
{
	struct fixture fx = fixture_of();
	struct event events[] = { spawn(300, 501, SUBREAPER), spawn(HELPER, 501, SUBREAPER) };

	(void)state;
	members_learn(&fx.m, &fx.t, events, ARRAY_LEN(events), &subreaper);
	assert_int_equal(members_place(&fx.m, &fx.t, 300).job, 0);
	assert_int_equal(members_place(&fx.m, &fx.t, HELPER).job, -1);
	fixture_done(&fx);
}

static struct proc_sample *scanned(struct sample *s, pid_t pid, pid_t ppid)
{
	struct proc_sample *p = kit_proc(s, pid, 600);

	p->ppid = ppid;
	return p;
}

static struct event named(struct event e, const char *comm)
{
	snprintf(e.comm, sizeof e.comm, "%s", comm);
	return e;
}

/* Only the helpers of this recorder are left out, and a name does not make one. */
static void test_members__are_those_that_have_the_name_of_a_helper(void **state)
{
	struct fixture fx = fixture_of();
	struct event events[] = { named(spawn(101, 501, 100), OURS_DETECTOR),
		                  named(spawn(102, 501, 101), OURS_DETECTOR) };
	struct sample s = kit_sample(0);

	(void)state;
	members_learn(&fx.m, &fx.t, events, ARRAY_LEN(events), &nobody);
	snprintf(scanned(&s, 300, 100)->comm, COMM_LEN, OURS_NAME);
	snprintf(scanned(&s, 301, 300)->comm, COMM_LEN, OURS_DETECTOR);
	members_adopt(&fx.m, &fx.t, &s, &nobody);
	assert_int_equal(fx.t.rows.at[0]->processes, 5);
	sample_done(&s);
	fixture_done(&fx);
}

/* Such a process hung while it was born. */
static void test_members_correct__keeps_a_process_that_began_a_tick_before_its_event(void **state)
{
	struct fixture fx = fixture_of();
	struct event births[] = { spawn(101, 602, 100), spawn(102, 602, 100) };
	struct event end = ended(102, 600, 9);
	struct sample s = kit_sample(0);

	(void)state;
	births[0].is_start_guessed = births[1].is_start_guessed = true;
	members_learn(&fx.m, &fx.t, births, ARRAY_LEN(births), &nobody);
	members_correct(&fx.m, &fx.t, &s); /* they still hang */
	scanned(&s, 101, 100);
	members_correct(&fx.m, &fx.t, &s);
	assert_int_equal(job_roster_find(&fx.t, (struct proc_id){ 101, 600 }).job, 0);
	assert_int_equal(members_find(&fx.m, 101).start_ticks, 600);
	members_learn(&fx.m, &fx.t, &end, 1, &nobody); /* by now its start is known */
	assert_int_equal(fx.t.rows.at[0]->processes, 3);
	assert_int_equal(fx.t.rows.at[0]->living, 2);
	sample_done(&s);
	fixture_done(&fx);
}

static void test_members_forget__leaves_the_dead_alone_for_a_while(void **state)
{
	struct fixture fx = fixture_of();
	struct event end = ended(100, 500, T0_NS);

	(void)state;
	members_learn(&fx.m, &fx.t, &end, 1, &nobody);
	members_forget(&fx.m, &fx.t, T0_NS + 10 * NS_PER_S);
	assert_int_equal(job_roster_find(&fx.t, ROOT).job, 0);
	members_forget(&fx.m, &fx.t, T0_NS + 31 * NS_PER_S);
	assert_int_equal(job_roster_find(&fx.t, ROOT).job, -1);
	fixture_done(&fx);
}

static void test_members_adopt__finds_descendants_whose_pids_wrapped_around(void **state)
{
	struct fixture fx = fixture_of();
	struct sample s = kit_sample(0);

	(void)state;
	scanned(&s, 5, 900);
	scanned(&s, 6, 1);
	scanned(&s, 900, 100);
	assert_true(members_adopt(&fx.m, &fx.t, &s, &nobody));
	assert_int_equal(members_place(&fx.m, &fx.t, 5).job, 0);
	assert_int_equal(members_place(&fx.m, &fx.t, 6).job, -1);
	assert_false(members_adopt(&fx.m, &fx.t, &s, &nobody));
	sample_done(&s);
	fixture_done(&fx);
}

static void test_members_adopt__takes_orphans_of_the_subreaper_but_not_its_helpers(void **state)
{
	struct fixture fx = fixture_of();
	struct sample s = kit_sample(0);

	(void)state;
	scanned(&s, 300, SUBREAPER);
	scanned(&s, HELPER, SUBREAPER);
	members_adopt(&fx.m, &fx.t, &s, &subreaper);
	assert_int_equal(members_place(&fx.m, &fx.t, 300).job, 0);
	assert_int_equal(members_place(&fx.m, &fx.t, HELPER).job, -1);
	sample_done(&s);
	fixture_done(&fx);
}

RUN_TESTS(TEST(test_members__take_in_children_of_children_in_one_batch),
          TEST(test_members__keep_a_child_whose_parent_is_gone),
          TEST(test_members__do_not_take_in_children_of_a_reused_pid),
          TEST(test_members__hand_the_sheet_on_to_children),
          TEST(test_members__take_in_sisters_of_the_root_but_not_our_helpers),
          TEST(test_members__are_those_that_have_the_name_of_a_helper),
          TEST(test_members_correct__keeps_a_process_that_began_a_tick_before_its_event),
          TEST(test_members_forget__leaves_the_dead_alone_for_a_while),
          TEST(test_members_adopt__finds_descendants_whose_pids_wrapped_around),
          TEST(test_members_adopt__takes_orphans_of_the_subreaper_but_not_its_helpers))
