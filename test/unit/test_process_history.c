/* SPDX-License-Identifier: MIT */
#include "analyze/process_history.h"

#include "check.h"
#include "model_kit.h"

static void tick_with_one(struct ticks *w, double after_s, uint64_t rss_bytes)
{
	kit_tick(w, after_s);
	kit_rss(kit_add(w, 10, -100), rss_bytes);
	process_history_feed(&w->history, &w->snap, &w->config);
}

static uint64_t earliest(const struct ticks *w, double *ret_age_s)
{
	uint64_t rss, boot_ns;

	assert_true(process_history_earliest(process_history_trail(&w->history, 0), w->snap.boot_ns,
	                                     &rss, &boot_ns));
	*ret_age_s = (double)(w->snap.boot_ns - boot_ns) / 1e9;
	return rss;
}

static void test_process_history__covers_the_window_however_often_it_is_fed(void **state)
{
	static const double every_s[] = { 0.05, 0.1, 0.5, 1, 5 };

	for (size_t i = 0; i < ARRAY_LEN(every_s); i++) {
		struct ticks w = kit_ticks();
		double age_s;

		for (double at = 0; at < 100; at += every_s[i])
			tick_with_one(&w, at, KIT_MIB);
		earliest(&w, &age_s);
		assert_true(age_s <= 30 && age_s > 30 - 2 * MAX(every_s[i], 1.0));
		assert_true(process_history_trail(&w.history, 0)->len <= TRAIL_MARKS);
		kit_ticks_done(&w);
	}
}

static void test_process_history__drops_marks_before_the_window(void **state)
{
	struct ticks w = kit_ticks();
	double age_s;

	tick_with_one(&w, 0, 100 * KIT_MIB);
	tick_with_one(&w, 20, 200 * KIT_MIB);
	tick_with_one(&w, 30, 300 * KIT_MIB);
	assert_int_equal(earliest(&w, &age_s), 100 * KIT_MIB);
	tick_with_one(&w, 45, 400 * KIT_MIB);
	assert_int_equal(earliest(&w, &age_s), 200 * KIT_MIB);
	assert_true(age_s == 25);
	tick_with_one(&w, 1000, 500 * KIT_MIB);
	assert_int_equal(earliest(&w, &age_s), 500 * KIT_MIB);
	assert_true(age_s == 0);
	kit_ticks_done(&w);
}

/* The clock of marks has 32 bits of milliseconds. */
static void test_process_history__survives_the_wrap_of_its_clock(void **state)
{
	const double wrap_s = 4294967.296 - 5000;
	struct ticks w = kit_ticks();
	double age_s;

	tick_with_one(&w, wrap_s - 10, 100 * KIT_MIB);
	tick_with_one(&w, wrap_s + 10, 200 * KIT_MIB);
	assert_int_equal(earliest(&w, &age_s), 100 * KIT_MIB);
	assert_true(fabs(age_s - 20) < 0.002);
	tick_with_one(&w, wrap_s + 25, 300 * KIT_MIB);
	assert_int_equal(earliest(&w, &age_s), 200 * KIT_MIB);
	kit_ticks_done(&w);
}

static void test_process_history__is_not_changed_by_an_empty_snapshot(void **state)
{
	struct ticks w = kit_ticks();
	double age_s;

	tick_with_one(&w, 0, 100 * KIT_MIB);
	kit_tick(&w, 1);
	process_history_feed(&w.history, &w.snap, &w.config);
	w.snap.events_only = true;
	process_history_feed(&w.history, &w.snap, &w.config);
	tick_with_one(&w, 2, 200 * KIT_MIB);
	assert_int_equal(earliest(&w, &age_s), 100 * KIT_MIB);
	kit_ticks_done(&w);
}

/* Comings and goings in the middle: every process keeps its own trail. */
static void test_process_history__keeps_one_trail_per_process(void **state)
{
	struct ticks w = kit_ticks();

	for (int round = 0; round < 20; round++) {
		size_t n = 0;

		kit_tick(&w, round);
		for (pid_t pid = 1; pid <= 200; pid++) {
			if ((pid * 7 + round) % 5 == 0)
				continue;
			kit_rss(kit_add(&w, pid, -100), (uint64_t)pid * KIT_MIB);
		}
		process_history_feed(&w.history, &w.snap, &w.config);
		vec_each(&w.snap.procs, p) {
			const struct trail *t = process_history_trail(&w.history, n++);
			uint64_t rss, boot_ns;

			assert_true(proc_id_eq(t->id, p->s.id));
			assert_true(process_history_earliest(t, w.snap.boot_ns, &rss, &boot_ns));
			assert_int_equal(rss, (uint64_t)p->s.id.pid * KIT_MIB);
		}
		assert_true(w.history.trails.len <= 200);
	}
	kit_ticks_done(&w);
}

static void test_process_history__frees_memory_after_a_crowd(void **state)
{
	struct ticks w = kit_ticks();
	double age_s;

	tick_with_one(&w, 0, 100 * KIT_MIB);
	kit_tick(&w, 1);
	for (pid_t pid = 10; pid < 20010; pid++)
		kit_rss(kit_add(&w, pid, -100), KIT_MIB);
	process_history_feed(&w.history, &w.snap, &w.config);
	assert_true(w.history.trails.cap >= 20000);
	tick_with_one(&w, 2, 200 * KIT_MIB);
	assert_true(w.history.trails.cap <= VEC_SMALL);
	assert_true(w.history.order.cap <= VEC_SMALL && w.history.free_trails.cap <= VEC_SMALL);
	assert_int_equal(earliest(&w, &age_s), 100 * KIT_MIB);
	kit_ticks_done(&w);
}

RUN_TESTS(TEST(test_process_history__covers_the_window_however_often_it_is_fed),
          TEST(test_process_history__drops_marks_before_the_window),
          TEST(test_process_history__survives_the_wrap_of_its_clock),
          TEST(test_process_history__is_not_changed_by_an_empty_snapshot),
          TEST(test_process_history__keeps_one_trail_per_process),
          TEST(test_process_history__frees_memory_after_a_crowd))
