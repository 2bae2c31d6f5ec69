/* SPDX-License-Identifier: MIT */
#include "model/infer.h"

#include "check.h"
#include "model_kit.h"

struct pair {
	struct sample prev, cur;
	struct snapshot snap;
	struct event last; /* of the kind that was counted */
};

static struct pair pair_of(uint64_t elapsed_ns)
{
	return (struct pair){ .prev = kit_sample(0), .cur = kit_sample(elapsed_ns) };
}

static void pair_done(struct pair *p)
{
	sample_done(&p->prev);
	sample_done(&p->cur);
	snapshot_done(&p->snap);
}

static size_t count(struct pair *p, enum event_kind kind)
{
	kit_build(&p->prev, &p->cur, &p->snap);
	return kit_events(&p->snap, kind, &p->last);
}

static void report_event(struct sample *s, enum event_kind kind, pid_t pid, uint64_t start_ticks)
{
	struct event *e = sample_add_event(s, kind);

	e->id = (struct proc_id){ pid, start_ticks };
	e->boot_ns = s->boot_ns;
}

static void test_infer__emits_nothing_when_the_clocks_agree(void **state)
{
	struct pair p = pair_of(5 * NS_PER_S);

	(void)state;
	p.cur.wall_ns += 20 * NS_PER_MS; /* a slew */
	assert_int_equal(count(&p, EVENT_CLOCK_STEP) + count(&p, EVENT_SUSPEND), 0);
	pair_done(&p);
}

static void test_infer__reports_a_step_of_the_wall_clock_both_ways(void **state)
{
	struct pair p = pair_of(5 * NS_PER_S);

	(void)state;
	p.cur.wall_ns += 3600 * NS_PER_S;
	assert_int_equal(count(&p, EVENT_CLOCK_STEP), 1);
	assert_int_equal(p.last.count, 3600 * (int64_t)NS_PER_S);
	p.cur.wall_ns -= 2 * 3600 * NS_PER_S;
	assert_int_equal(count(&p, EVENT_CLOCK_STEP), 1);
	assert_int_equal(p.last.count, -3600 * (int64_t)NS_PER_S);
	assert_int_equal(p.snap.elapsed_ns, 5 * NS_PER_S);
	pair_done(&p);
}

static void test_infer__detects_suspend_by_the_two_clocks_that_differ_in_it(void **state)
{
	struct pair p = pair_of(5 * NS_PER_S);

	(void)state;
	p.cur.boot_ns += 60 * NS_PER_S;
	p.cur.wall_ns += 60 * NS_PER_S;
	assert_int_equal(count(&p, EVENT_SUSPEND), 1);
	assert_int_equal(p.last.count, 60 * (int64_t)NS_PER_S);
	assert_int_equal(count(&p, EVENT_CLOCK_STEP), 0);
	pair_done(&p);
}

static void test_infer__infers_nothing_while_a_source_reports_all(void **state)
{
	struct pair p = pair_of(NS_PER_S);

	(void)state;
	kit_proc(&p.prev, 10, 500);
	kit_proc(&p.cur, 11, 100050);
	assert_int_equal(count(&p, EVENT_SPAWN) + count(&p, EVENT_EXIT), 0);
	pair_done(&p);
}

static void test_infer__infers_spawns_and_exits_when_no_source_reports(void **state)
{
	struct pair p = pair_of(NS_PER_S);

	(void)state;
	p.cur.events_complete = false;
	kit_proc(&p.prev, 10, 500);
	kit_proc(&p.prev, 12, 500);
	kit_proc(&p.prev, 20, 500);
	kit_proc(&p.cur, 11, 100050);
	kit_proc(&p.cur, 12, 500);
	assert_int_equal(count(&p, EVENT_SPAWN), 1);
	assert_int_equal(p.last.id.pid, 11);
	assert_int_equal(p.last.ppid, 1);
	assert_true(p.last.inferred);
	assert_int_equal(p.last.boot_ns, 100050 * NS_PER_TICK);
	assert_int_equal(p.last.wall_ns, WALL0_NS + 500 * NS_PER_MS);
	assert_int_equal(count(&p, EVENT_EXIT), 2);
	assert_true(p.last.inferred);
	assert_false(p.last.has_exit_code);
	pair_done(&p);
}

static void test_infer__does_not_repeat_what_was_reported(void **state)
{
	struct pair p = pair_of(NS_PER_S);

	(void)state;
	p.cur.events_complete = false; /* some were lost, but not these */
	kit_proc(&p.prev, 10, 500);
	kit_proc(&p.cur, 11, 100050);
	report_event(&p.cur, EVENT_SPAWN, 11, 100050);
	report_event(&p.cur, EVENT_EXIT, 10, 500);
	assert_int_equal(count(&p, EVENT_SPAWN), 1);
	assert_false(p.last.inferred);
	assert_int_equal(count(&p, EVENT_EXIT), 1);
	assert_false(p.last.inferred);
	pair_done(&p);
}

static void test_infer__knows_a_reported_process_whose_start_is_not_known(void **state)
{
	struct pair p = pair_of(NS_PER_S);

	(void)state;
	p.cur.events_complete = false;
	kit_proc(&p.prev, 10, 500);
	report_event(&p.cur, EVENT_EXIT, 10, 0);
	assert_int_equal(count(&p, EVENT_EXIT), 1);
	pair_done(&p);
}

static void test_infer__sees_a_pid_reused_inside_one_interval(void **state)
{
	struct pair p = pair_of(NS_PER_S);

	(void)state;
	p.cur.events_complete = false;
	kit_proc(&p.prev, 10, 500);
	kit_proc(&p.cur, 10, 100050);
	assert_int_equal(count(&p, EVENT_EXIT), 1);
	assert_int_equal(p.last.id.start_ticks, 500);
	assert_int_equal(count(&p, EVENT_SPAWN), 1);
	assert_int_equal(p.last.id.start_ticks, 100050);
	/* The old life ended before the new one began. */
	assert_int_equal(p.snap.events.at[0].kind, EVENT_EXIT);
	assert_int_equal(p.snap.events.at[1].kind, EVENT_SPAWN);
	pair_done(&p);
}

static void test_infer__infers_no_exit_from_an_incomplete_tick(void **state)
{
	struct pair p = pair_of(NS_PER_S);

	(void)state;
	p.cur.events_complete = false;
	p.cur.procs_complete = false;
	kit_proc(&p.prev, 10, 500);
	kit_proc(&p.prev, 20, 500);
	kit_proc(&p.cur, 15, 100050);
	assert_int_equal(count(&p, EVENT_EXIT), 0);
	assert_int_equal(count(&p, EVENT_SPAWN), 1);
	pair_done(&p);
}

static void test_infer__takes_one_that_was_hidden_before_for_old(void **state)
{
	struct pair p = pair_of(NS_PER_S);

	(void)state;
	p.cur.events_complete = false;
	kit_proc(&p.cur, 10, 500);
	assert_int_equal(count(&p, EVENT_SPAWN), 0);
	pair_done(&p);
}

static void test_infer__takes_a_new_zombie_for_ended_and_reports_it_once(void **state)
{
	struct pair p = pair_of(NS_PER_S);

	(void)state;
	p.cur.events_complete = false;
	kit_proc(&p.prev, 10, 500);
	kit_proc(&p.cur, 10, 500)->state = 'Z'; /* became one: ended */
	kit_proc(&p.prev, 20, 500)->state = 'Z';
	kit_proc(&p.cur, 20, 500)->state = 'Z';  /* was one before: reported then */
	kit_proc(&p.prev, 30, 500)->state = 'Z'; /* reaped: reported before too */
	assert_int_equal(count(&p, EVENT_EXIT), 1);
	assert_int_equal(p.last.id.pid, 10);
	pair_done(&p);
}

static void test_infer__puts_events_in_the_order_of_time(void **state)
{
	struct pair p = pair_of(NS_PER_S);

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		sample_add_event(&p.cur, EVENT_EXEC)->boot_ns = T0_NS + (i * 7 % 10) * NS_PER_MS;
	kit_build(&p.prev, &p.cur, &p.snap);
	for (size_t i = 0; i < 10; i++) {
		assert_int_equal(p.snap.events.at[i].boot_ns, T0_NS + i * NS_PER_MS);
		assert_int_equal(p.snap.events.at[i].wall_ns, WALL0_NS + i * NS_PER_MS);
	}
	pair_done(&p);
}

RUN_TESTS(TEST(test_infer__emits_nothing_when_the_clocks_agree),
          TEST(test_infer__reports_a_step_of_the_wall_clock_both_ways),
          TEST(test_infer__detects_suspend_by_the_two_clocks_that_differ_in_it),
          TEST(test_infer__infers_nothing_while_a_source_reports_all),
          TEST(test_infer__infers_spawns_and_exits_when_no_source_reports),
          TEST(test_infer__does_not_repeat_what_was_reported),
          TEST(test_infer__knows_a_reported_process_whose_start_is_not_known),
          TEST(test_infer__sees_a_pid_reused_inside_one_interval),
          TEST(test_infer__infers_no_exit_from_an_incomplete_tick),
          TEST(test_infer__takes_one_that_was_hidden_before_for_old),
          TEST(test_infer__takes_a_new_zombie_for_ended_and_reports_it_once),
          TEST(test_infer__puts_events_in_the_order_of_time))
