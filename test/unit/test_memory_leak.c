/* SPDX-License-Identifier: MIT */
/* How often the rule for leaks is right, over generated runs: jobs of many types, each judged by the earlier runs of its
 * type, once healthy and once with a leak that doubles its memory by the end. */
#include "analyze/anomaly_rules.h"

#include "check.h"
#include "model_kit.h"

#define TYPES 240
#define RUNS 30
#define TICKS 20
#define FALSE_ALARMS_MOST 0.008
#define FOUND_LEAST 0.91

/* Deterministic, and the same everywhere. */
static double uniform(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (double)(*state >> 11) / (double)(UINT64_C(1) << 53);
}

static double normal(uint64_t *state)
{
	return sqrt(-2 * log(uniform(state) + 1e-300)) * cos(2 * M_PI * uniform(state));
}

/* How much the runs of a type differ: the deviation of the logarithm of their peaks. Half of the types do the same each
 * time; a tenth depends on its input. */
static double spread_of(int type)
{
	int part = type % 20;

	return part < 10 ? 0.03 : part < 15 ? 0.08 : part < 18 ? 0.15 : 0.35;
}

/* Part of its peak that a healthy run uses at that part of its time: it loads its data, and stays there; or grows until
 * its end, as most do that gather results; or goes up and down. */
static double curve(int type, double at)
{
	if (type % 3 == 0)
		return at < 0.2 ? 0.1 + 4.5 * at : 1;
	if (type % 3 == 1)
		return 0.2 + 0.8 * at;
	return 0.6 + 0.4 * fabs(sin(at * 9));
}

static bool is_reported(int type, double peak, double leak, const struct type_history *past)
{
	struct ticks w = kit_ticks();
	bool found = false;

	w.past = past;
	for (int i = 1; i <= TICKS && !found; i++) {
		double at = (double)i / TICKS;
		uint64_t used = (uint64_t)(peak * curve(type, at) + leak * at);

		kit_tick(&w, i);
		kit_add_job(&w)->used = (struct figure){ used, QUALITY_SAMPLED };
		found = kit_judge(&w) > 0;
		if (found)
			assert_int_equal(w.findings.at[0].kind, ANOMALY_MEMORY_LEAK);
	}
	kit_ticks_done(&w);
	return found;
}

static double peak_of_curve(int type, double peak)
{
	double most = 0;

	for (int i = 1; i <= TICKS; i++)
		most = MAX(most, peak * curve(type, (double)i / TICKS));
	return most;
}

static void test_memory_leak__is_found_nine_times_in_ten_and_rarely_reported_where_there_is_none(
	void **state)
{
	uint64_t random = UINT64_C(0x9e3779b97f4a7c15);
	unsigned judged = 0, alarms = 0, found = 0;

	for (int type = 0; type < TYPES; type++) {
		double typical = exp2(28 + 6 * uniform(&random)); /* 256 MiB to 16 GiB */
		struct type_history past = { 0 };

		for (int run = 0; run < RUNS; run++) {
			double peak = typical * exp(spread_of(type) * normal(&random));
			struct job job = { .status = JOB_COMPLETED };

			if (run >= TYPE_HISTORY_LEAST) {
				judged++;
				alarms += is_reported(type, peak, 0, &past);
				found += is_reported(type, peak, peak, &past);
			}
			kit_figure(&job, JOB_FIGURE_PEAK_USED, (uint64_t)peak_of_curve(type, peak),
			           QUALITY_SAMPLED);
			type_history_add(&past, &job);
		}
	}
	print_message("%u runs: %.2f %% false alarms, %.1f %% of leaks found\n", judged,
	              100.0 * alarms / judged, 100.0 * found / judged);
	assert_true(alarms <= FALSE_ALARMS_MOST * judged);
	assert_true(found >= FOUND_LEAST * judged);
}

static size_t judge_used(uint64_t used, uint32_t runs, enum job_status status)
{
	struct type_history past = { 0 };
	struct job job = { .status = JOB_COMPLETED };
	struct ticks w = kit_ticks();
	size_t found;

	kit_figure(&job, JOB_FIGURE_PEAK_USED, 1000 * KIT_MIB, QUALITY_SAMPLED);
	for (uint32_t i = 0; i < runs; i++)
		type_history_add(&past, &job);
	w.past = &past;
	kit_tick(&w, 0);
	kit_add_job(&w)->used = (struct figure){ used, used ? QUALITY_SAMPLED : QUALITY_MISSING };
	w.snap.jobs.at[0].status = status;
	found = kit_judge(&w);
	if (found) {
		assert_int_equal(w.findings.at[0].severity, SEVERITY_HIGH);
		assert_int_equal(w.findings.at[0].runs, runs);
		assert_int_equal(w.findings.at[0].id.pid, 0);
		assert_int_equal(w.findings.at[0].job, 0);
	}
	kit_ticks_done(&w);
	return found;
}

static void test_memory_leak__matches_exactly_at_each_boundary(void **state)
{
	assert_int_equal(judge_used(1100 * KIT_MIB - 4096, 5, JOB_RUNNING), 0);
	assert_int_equal(judge_used(1100 * KIT_MIB + 4096, 5, JOB_RUNNING), 1);
	assert_int_equal(judge_used(1100 * KIT_MIB + 4096, 4, JOB_RUNNING), 0); /* too few runs */
	assert_int_equal(judge_used(9000 * KIT_MIB, 0, JOB_RUNNING), 0);        /* none at all */
	assert_int_equal(judge_used(9000 * KIT_MIB, 9, JOB_COMPLETED), 0);
	assert_int_equal(judge_used(0, 9, JOB_RUNNING), 0); /* not known */
}

RUN_TESTS(TEST(test_memory_leak__is_found_nine_times_in_ten_and_rarely_reported_where_there_is_none),
          TEST(test_memory_leak__matches_exactly_at_each_boundary))
