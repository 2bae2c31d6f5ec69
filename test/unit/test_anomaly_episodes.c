/* SPDX-License-Identifier: MIT */
#include "analyze/anomaly_episodes.h"

#include "check.h"
#include "model_kit.h"

static void tick(struct ticks *w, double after_s, uint64_t fds)
{
	struct proc_snap *p;

	kit_tick(w, after_s);
	p = kit_add(w, 10, -100);
	readings_set(&p->s.r, PROC_FDS, fds);
	readings_set(&p->s.r, PROC_FD_LIMIT, 100);
	kit_report(w);
}

static void test_anomaly_episodes__begin_once_keep_the_peak_and_end(void **state)
{
	struct ticks w = kit_ticks();

	tick(&w, 0, 89);
	assert_int_equal(w.reported.len, 0);
	tick(&w, 1, 90);
	assert_int_equal(w.reported.len, 1);
	assert_int_equal(w.reported.at[0].news, ANOMALY_BEGAN);
	tick(&w, 2, 95);
	assert_int_equal(w.reported.at[0].news, ANOMALY_SAME);
	tick(&w, 3, 91);
	assert_int_equal(w.reported.at[0].news, ANOMALY_SAME);
	tick(&w, 4, 50);
	assert_int_equal(w.reported.len, 1);
	assert_int_equal(w.reported.at[0].news, ANOMALY_ENDED);
	assert_int_equal(w.reported.at[0].seq, 1);
	assert_true(w.reported.at[0].value == 90 && w.reported.at[0].peak == 95);
	assert_int_equal(w.reported.at[0].began_wall_ns, KIT_WALL_NS + NS_PER_S);
	assert_int_equal(w.reported.at[0].ended_wall_ns, KIT_WALL_NS + 4 * NS_PER_S);
	assert_int_equal(w.reported.at[0].seen_boot_ns, KIT_BOOT_NS + 3 * NS_PER_S);
	tick(&w, 5, 50);
	assert_int_equal(w.reported.len, 0);
	tick(&w, 6, 90);
	assert_int_equal(w.reported.at[0].news, ANOMALY_BEGAN);
	assert_int_equal(w.reported.at[0].seq, 2);
	kit_ticks_done(&w);
}

static void test_anomaly_episodes__report_a_peak_that_moved_by_a_tenth(void **state)
{
	struct ticks w = kit_ticks();

	tick(&w, 0, 90);
	tick(&w, 1, 99);
	assert_int_equal(w.reported.at[0].news, ANOMALY_SAME);
	tick(&w, 2, 100);
	assert_int_equal(w.reported.at[0].news, ANOMALY_CHANGED);
	tick(&w, 3, 100);
	assert_int_equal(w.reported.at[0].news, ANOMALY_SAME);
	kit_ticks_done(&w);
}

static void test_anomaly_episodes__only_rise_in_severity(void **state)
{
	static const struct {
		uint64_t rss_mib;
		enum severity severity;
		enum anomaly_news news;
	} rows[] = {
		{ 600, SEVERITY_HIGH, ANOMALY_BEGAN },
		{ 640, SEVERITY_HIGH, ANOMALY_SAME },
		{ 1200, SEVERITY_CRITICAL, ANOMALY_CHANGED },
		{ 700, SEVERITY_CRITICAL, ANOMALY_SAME },
	};
	struct ticks w = kit_ticks();

	kit_tick(&w, 0);
	kit_rss(kit_add(&w, 10, -100), 400 * KIT_MIB);
	kit_report(&w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		kit_tick(&w, 1 + (double)i);
		kit_rss(kit_add(&w, 10, -100), rows[i].rss_mib * KIT_MIB);
		assert_int_equal(kit_report(&w), 1);
		assert_int_equal(w.reported.at[0].severity, rows[i].severity);
		assert_int_equal(w.reported.at[0].news, rows[i].news);
	}
	assert_true(w.reported.at[0].peak == 1200.0 * KIT_MIB);
	kit_ticks_done(&w);
}

static void test_anomaly_episodes__follow_memory_pressure_downwards(void **state)
{
	struct ticks w = kit_ticks();
	static const uint64_t available[] = { 90, 40, 70, 500 };

	for (size_t i = 0; i < ARRAY_LEN(available); i++) {
		kit_tick(&w, (double)i);
		readings_set(&w.snap.host, HOST_MEM_TOTAL, 1000);
		readings_set(&w.snap.host, HOST_MEM_AVAILABLE, available[i]);
		assert_int_equal(kit_report(&w), 1);
	}
	assert_int_equal(w.reported.at[0].news, ANOMALY_ENDED);
	assert_true(w.reported.at[0].value == 90 && w.reported.at[0].peak == 40);
	kit_ticks_done(&w);
}

static void test_anomaly_episodes__end_with_the_process_and_spare_its_successor(void **state)
{
	struct ticks w = kit_ticks();
	struct proc_snap *p;

	tick(&w, 0, 95);
	kit_tick(&w, 1);
	p = kit_add(&w, 10, -50); /* the same pid, another life */
	readings_set(&p->s.r, PROC_FDS, 95);
	readings_set(&p->s.r, PROC_FD_LIMIT, 100);
	assert_int_equal(kit_report(&w), 2);
	assert_int_equal(w.reported.at[0].news, ANOMALY_ENDED);
	assert_int_equal(w.reported.at[1].news, ANOMALY_BEGAN);
	assert_int_equal(w.reported.at[1].seq, 2);
	kit_tick(&w, 2); /* nobody is there any more */
	assert_int_equal(kit_report(&w), 1);
	assert_int_equal(w.reported.at[0].news, ANOMALY_ENDED);
	kit_ticks_done(&w);
}

static void test_anomaly_episodes__are_not_changed_by_a_flush(void **state)
{
	struct ticks w = kit_ticks();

	tick(&w, 0, 95);
	kit_tick(&w, 1);
	w.snap.events_only = true;
	assert_int_equal(kit_report(&w), 0);
	assert_int_equal(w.episodes.open.len, 1);
	kit_ticks_done(&w);
}

static void test_anomaly_episodes__all_end_with_the_recorder(void **state)
{
	struct ticks w = kit_ticks();

	tick(&w, 0, 95);
	vec_reset(&w.reported);
	w.snap.wall_ns = KIT_WALL_NS - NS_PER_S;
	anomaly_episodes_end(&w.episodes, &w.snap, &w.reported);
	assert_int_equal(w.reported.len, 1);
	assert_int_equal(w.reported.at[0].news, ANOMALY_ENDED);
	assert_int_equal(w.reported.at[0].ended_wall_ns, KIT_WALL_NS); /* the clock was set back */
	anomaly_episodes_end(&w.episodes, &w.snap, &w.reported);
	assert_int_equal(w.reported.len, 1);
	kit_ticks_done(&w);
}

static void test_anomaly_episodes__are_bounded_and_the_rest_is_counted(void **state)
{
	struct ticks w = kit_ticks();

	kit_tick(&w, 0);
	for (pid_t pid = 1; pid <= EPISODES_MAX + 3; pid++) {
		struct proc_snap *p = kit_add(&w, pid, -100);

		readings_set(&p->s.r, PROC_FDS, 64);
		readings_set(&p->s.r, PROC_FD_LIMIT, 64);
	}
	assert_int_equal(kit_report(&w), EPISODES_MAX);
	assert_int_equal(w.episodes.dropped, 3);
	kit_ticks_done(&w);
}

RUN_TESTS(TEST(test_anomaly_episodes__begin_once_keep_the_peak_and_end),
          TEST(test_anomaly_episodes__report_a_peak_that_moved_by_a_tenth),
          TEST(test_anomaly_episodes__only_rise_in_severity),
          TEST(test_anomaly_episodes__follow_memory_pressure_downwards),
          TEST(test_anomaly_episodes__end_with_the_process_and_spare_its_successor),
          TEST(test_anomaly_episodes__are_not_changed_by_a_flush),
          TEST(test_anomaly_episodes__all_end_with_the_recorder),
          TEST(test_anomaly_episodes__are_bounded_and_the_rest_is_counted))
