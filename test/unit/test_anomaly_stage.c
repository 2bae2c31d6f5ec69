/* SPDX-License-Identifier: MIT */
#include "engine/anomaly_stage.h"

#include "check.h"
#include "model_kit.h"

static void tick(struct anomaly_stage *w, struct ticks *world, double after_s, uint64_t fds)
{
	struct proc_snap *p;

	kit_tick(world, after_s);
	p = kit_add(world, 10, -100);
	p->sheet = 4;
	readings_set(&p->s.r, PROC_FDS, fds);
	readings_set(&p->s.r, PROC_FD_LIMIT, 64);
	w->config = world->config;
	anomaly_stage_run(w, &world->snap, NULL);
}

static const char *text_of(const struct ticks *world, struct text_ref ref)
{
	static char text[200];

	snprintf(text, sizeof text, "%.*s", (int)ref.len, snapshot_string(&world->snap, ref));
	return text;
}

static void test_anomaly_stage__reports_the_beginning_and_the_end_only(void **state)
{
	struct ticks world = kit_ticks();
	struct anomaly_stage w = { 0 };
	const struct event *e;

	tick(&w, &world, 0, 5);
	assert_int_equal(world.snap.events.len, 0);
	tick(&w, &world, 1, 60);
	assert_int_equal(world.snap.events.len, 1);
	e = world.snap.events.at;
	assert_int_equal(e->kind, EVENT_ANOMALY);
	assert_int_equal(e->id.pid, 10);
	assert_int_equal(e->sheet, 4);
	assert_int_equal(e->count, 0);
	assert_string_equal(text_of(&world, e->name), "fd_exhaustion");
	assert_string_equal(text_of(&world, e->text),
	                    "open files: python 10 60 of the 64 it may open, high");
	tick(&w, &world, 2, 61);
	assert_int_equal(world.snap.events.len, 0);
	assert_int_equal(world.snap.anomalies.len, 1);
	assert_true(w.episodes.open.len > 0);
	tick(&w, &world, 3, 5);
	assert_int_equal(world.snap.events.len, 1);
	e = world.snap.events.at;
	assert_int_equal(e->count, 2 * NS_PER_S);
	assert_string_equal(text_of(&world, e->text),
	                    "over: open files: python 10 61 of the 64 it may open, high");
	assert_false(w.episodes.open.len > 0);
	anomaly_stage_done(&w);
	kit_ticks_done(&world);
}

static void test_anomaly_stage__ends_open_episodes_with_the_last_flush(void **state)
{
	struct ticks world = kit_ticks();
	struct anomaly_stage w = { 0 };

	tick(&w, &world, 0, 60);
	kit_tick(&world, 5);
	world.snap.events_only = true;
	anomaly_stage_run(&w, &world.snap, NULL);
	assert_int_equal(world.snap.events.len, 0); /* a flush between ticks */
	world.snap.is_last = true;
	anomaly_stage_run(&w, &world.snap, NULL);
	assert_int_equal(world.snap.events.len, 1);
	assert_int_equal(world.snap.anomalies.at[0].news, ANOMALY_ENDED);
	assert_false(w.episodes.open.len > 0);
	anomaly_stage_done(&w);
	kit_ticks_done(&world);
}

static void test_anomaly_stage__does_nothing_without_a_configuration(void **state)
{
	struct ticks world = kit_ticks();
	struct anomaly_stage w = { 0 };

	world.config = (struct anomaly_config){ 0 };
	tick(&w, &world, 0, 64);
	assert_int_equal(world.snap.anomalies.len, 0);
	assert_int_equal(w.processes.trails.len, 0);
	anomaly_stage_done(&w);
	kit_ticks_done(&world);
}

struct examiner {
	unsigned calls;
	uint64_t takes_ns;
};

static uint64_t now_ns;

static uint64_t read_clock(void)
{
	return now_ns;
}

static void count_calls(void *self, const struct proc_id *ids, size_t n, struct blocked_calls *ret)
{
	struct examiner *x = self;

	(void)ids, (void)n, (void)ret;
	x->calls++;
	now_ns += x->takes_ns;
}

/* So many ticks of three jobs that do nothing; the most jobs that were examined at one of them. */
static unsigned idle(struct anomaly_stage *w, struct ticks *world, struct examiner *x, int from_s,
                     int to_s)
{
	unsigned most = 0;

	for (int at = from_s; at <= to_s; at++) {
		unsigned before = x->calls;

		kit_tick(world, at);
		for (int job = 0; job < 3; job++)
			kit_add_job(world)->cpu_ns = (struct figure){ NS_PER_S, QUALITY_EXACT };
		w->config = world->config;
		anomaly_stage_run(w, &world->snap, NULL);
		most = MAX(most, x->calls - before);
	}
	return most;
}

static void test_anomaly_stage__examines_one_idle_job_at_a_tick(void **state)
{
	struct ticks world = kit_ticks();
	struct examiner x = { 0 };
	struct anomaly_stage w = { .list_calls = count_calls, .list_self = &x, .clock_ns = read_clock };

	assert_int_equal(idle(&w, &world, &x, 0, 70), 1);
	assert_int_equal(x.calls, 3);
	assert_int_equal(idle(&w, &world, &x, 71, 80), 1); /* each of them again, a minute later */
	assert_int_equal(x.calls, 6);
	anomaly_stage_done(&w);
	kit_ticks_done(&world);
}

static void test_anomaly_stage__examines_more_seldom_what_takes_longer(void **state)
{
	struct ticks world = kit_ticks();
	struct examiner x = { .takes_ns = 30 * NS_PER_MS };
	struct anomaly_stage w = { .list_calls = count_calls, .list_self = &x, .clock_ns = read_clock };

	idle(&w, &world, &x, 0, 20); /* the first at 15 s, the next one 6 s later */
	assert_int_equal(x.calls, 1);
	idle(&w, &world, &x, 21, 70);
	assert_int_equal(x.calls, 3);
	anomaly_stage_done(&w);
	kit_ticks_done(&world);
}

RUN_TESTS(TEST(test_anomaly_stage__examines_one_idle_job_at_a_tick),
          TEST(test_anomaly_stage__examines_more_seldom_what_takes_longer),
          TEST(test_anomaly_stage__reports_the_beginning_and_the_end_only),
          TEST(test_anomaly_stage__ends_open_episodes_with_the_last_flush),
          TEST(test_anomaly_stage__does_nothing_without_a_configuration))
