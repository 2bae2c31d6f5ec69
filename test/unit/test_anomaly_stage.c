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

	snprintf(text, sizeof text, "%.*s", (int)ref.len, snapshot_text(&world->snap, ref));
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

RUN_TESTS(TEST(test_anomaly_stage__reports_the_beginning_and_the_end_only),
          TEST(test_anomaly_stage__ends_open_episodes_with_the_last_flush),
          TEST(test_anomaly_stage__does_nothing_without_a_configuration))
