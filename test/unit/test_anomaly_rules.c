/* SPDX-License-Identifier: MIT */
#include "analyze/anomaly_rules.h"

#include "check.h"
#include "model_kit.h"

/* ---- memory spike ---------------------------------------------------------------------------- */

/* Its memory at two ticks, and how it was judged at the second: no finding, or the severity. */
static int judge_growth(double first_s, uint64_t before, double second_s, uint64_t after)
{
	struct ticks w = kit_ticks();
	int severity = -1;

	kit_tick(&w, first_s);
	kit_rss(kit_add(&w, 10, -100), before);
	assert_int_equal(kit_judge(&w), 0);
	kit_tick(&w, second_s);
	kit_rss(kit_add(&w, 10, -100), after);
	if (kit_judge(&w)) {
		assert_int_equal(w.findings.len, 1);
		assert_int_equal(w.findings.at[0].kind, ANOMALY_MEMORY_SPIKE);
		assert_int_equal(w.findings.at[0].id.pid, 10);
		severity = (int)w.findings.at[0].severity;
	}
	kit_ticks_done(&w);
	return severity;
}

static void test_memory_spike__matches_exactly_at_each_boundary(void **state)
{
	static const struct {
		double second_s;
		uint64_t before_kib, after_kib;
		int severity;
	} rows[] = {
		{ 10, 200 << 10, (300 << 10) - 4, -1 },      /* just below the factor */
		{ 10, 200 << 10, 300 << 10, SEVERITY_HIGH }, /* at it */
		{ 10, 200 << 10, (300 << 10) + 4, SEVERITY_HIGH },
		{ 10, 200 << 10, (600 << 10) - 4, SEVERITY_HIGH }, /* just below twice the factor */
		{ 10, 200 << 10, 600 << 10, SEVERITY_CRITICAL },   /* at it */
		{ 10, 200 << 10, 2000 << 10, SEVERITY_CRITICAL },
		{ 10, 20 << 10, (84 << 10) - 4, -1 },          /* just below the floor */
		{ 10, 20 << 10, 84 << 10, SEVERITY_CRITICAL }, /* at it */
		{ 10, 200 << 10, 200 << 10, -1 },
		{ 10, 200 << 10, 100 << 10, -1 },
		{ 29.999, 200 << 10, 600 << 10, SEVERITY_CRITICAL }, /* within the window */
		{ 30, 200 << 10, 600 << 10, SEVERITY_CRITICAL },     /* as long as it */
		{ 30.001, 200 << 10, 600 << 10, -1 },                /* the first mark is too old */
		{ 0, 200 << 10, 600 << 10, SEVERITY_CRITICAL },      /* two ticks at one instant */
		{ 10, 0, 600 << 10, -1 },                            /* nothing to compare with */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(judge_growth(0, rows[i].before_kib << 10, rows[i].second_s,
		                              rows[i].after_kib << 10),
		                 rows[i].severity);
}

static void test_memory_spike__reports_its_base_time_and_threshold(void **state)
{
	struct ticks w = kit_ticks();
	const struct finding *f = NULL;

	kit_tick(&w, 0);
	kit_rss(kit_add(&w, 10, -100), 200 * KIT_MIB);
	kit_judge(&w);
	kit_tick(&w, 12);
	kit_rss(kit_add(&w, 10, -100), 500 * KIT_MIB);
	w.snap.procs.at[0].sheet = 3;
	assert_int_equal(kit_judge(&w), 1);
	f = w.findings.at;
	assert_true(f->value == 500.0 * KIT_MIB && f->base == 200.0 * KIT_MIB);
	assert_true(f->threshold == 300.0 * KIT_MIB);
	assert_int_equal(f->base_boot_ns, KIT_BOOT_NS);
	assert_int_equal(f->sheet, 3);
	assert_string_equal(f->comm, "python");
	kit_ticks_done(&w);
}

static void test_memory_spike__ignores_start_up(void **state)
{
	/* When it began, when its memory was first seen, whether growth after that is one. */
	static const struct {
		double began_s;
		size_t found;
	} rows[] = { { -2.01, 1 }, { -2.0, 1 }, { -1.99, 0 }, { 0, 0 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ticks w = kit_ticks();

		kit_tick(&w, 0);
		kit_rss(kit_add(&w, 10, rows[i].began_s), 100 * KIT_MIB);
		kit_judge(&w);
		kit_tick(&w, 1);
		kit_rss(kit_add(&w, 10, rows[i].began_s), 400 * KIT_MIB);
		assert_int_equal(kit_judge(&w), rows[i].found);
		kit_ticks_done(&w);
	}
}

static void test_memory_spike__ignores_the_start_up_after_an_exec(void **state)
{
	struct ticks w = kit_ticks();
	struct event *e;

	kit_tick(&w, 0);
	kit_rss(kit_add(&w, 10, -100), KIT_MIB);
	kit_judge(&w);
	kit_tick(&w, 1);
	kit_rss(kit_add(&w, 10, -100), 2 * KIT_MIB);
	e = vec_push(&w.snap.events, EVENTS_MAX);
	e->kind = EVENT_EXEC;
	e->id = w.snap.procs.at[0].s.id;
	e->boot_ns = w.snap.boot_ns;
	kit_judge(&w);
	kit_tick(&w, 2);
	kit_rss(kit_add(&w, 10, -100), 400 * KIT_MIB);
	assert_int_equal(kit_judge(&w), 0);
	kit_tick(&w, 4);
	kit_rss(kit_add(&w, 10, -100), 400 * KIT_MIB);
	assert_int_equal(kit_judge(&w), 0);
	kit_tick(&w, 5);
	kit_rss(kit_add(&w, 10, -100), 900 * KIT_MIB);
	assert_int_equal(kit_judge(&w), 1);
	kit_ticks_done(&w);
}

static void test_memory_spike__ignores_missing_values(void **state)
{
	struct ticks w = kit_ticks();

	kit_tick(&w, 0);
	kit_add(&w, 10, -100);
	kit_judge(&w);
	kit_tick(&w, 5);
	kit_rss(kit_add(&w, 10, -100), 900 * KIT_MIB);
	assert_int_equal(kit_judge(&w), 0);
	kit_tick(&w, 10);
	kit_add(&w, 10, -100);
	assert_int_equal(kit_judge(&w), 0);
	kit_ticks_done(&w);
}

static void test_memory_spike__does_not_span_a_reused_pid(void **state)
{
	struct ticks w = kit_ticks();

	kit_tick(&w, 0);
	kit_rss(kit_add(&w, 10, -100), 100 * KIT_MIB);
	kit_judge(&w);
	kit_tick(&w, 5);
	kit_rss(kit_add(&w, 10, -50), 900 * KIT_MIB); /* the pid is another's */
	assert_int_equal(kit_judge(&w), 0);
	kit_tick(&w, 6); /* it is gone */
	kit_rss(kit_add(&w, 11, -50), 100 * KIT_MIB);
	assert_int_equal(kit_judge(&w), 0);
	kit_tick(&w, 7); /* and back: what was known is not */
	kit_rss(kit_add(&w, 10, -50), 2000 * KIT_MIB);
	assert_int_equal(kit_judge(&w), 0);
	kit_ticks_done(&w);
}

static void test_memory_spike__is_found_outside_of_jobs(void **state)
{
	struct ticks w = kit_ticks();

	kit_tick(&w, 0);
	kit_rss(kit_add(&w, 10, -100), 100 * KIT_MIB);
	w.snap.procs.at[0].job = -1;
	kit_judge(&w);
	kit_tick(&w, 5);
	kit_rss(kit_add(&w, 10, -100), 900 * KIT_MIB);
	w.snap.procs.at[0].job = -1;
	assert_int_equal(kit_judge(&w), 1);
	assert_int_equal(w.findings.at[0].job, -1);
	kit_ticks_done(&w);
}

/* ---- runaway process ------------------------------------------------------------------------- */

struct burn {
	double ratio; /* of a core */
	double for_s; /* … for so long, a tick a second */
	pid_t ppid;   /* at last; it began with 5 */
	int32_t job;
	double pause_at_s; /* one second of nothing; 0: none */
};

static size_t judge_burn(const struct burn *burn)
{
	struct ticks w = kit_ticks();
	uint64_t cpu_ns = 0;
	size_t found = 0;

	for (int s = 0; s <= (int)burn->for_s; s++) {
		struct proc_snap *p;

		kit_tick(&w, s);
		p = kit_add(&w, 10, -100);
		p->s.ppid = s < burn->for_s / 2 ? 5 : burn->ppid;
		p->job = burn->job;
		readings_set(&p->s.r, PROC_CPU_TIME, cpu_ns);
		if (burn->pause_at_s <= 0 || s != (int)burn->pause_at_s)
			cpu_ns += (uint64_t)llround(burn->ratio * 1e9);
		found = kit_judge(&w);
	}
	if (found) {
		assert_int_equal(w.findings.at[0].kind, ANOMALY_RUNAWAY_PROCESS);
		assert_int_equal(w.findings.at[0].severity, SEVERITY_CRITICAL);
		assert_true(fabs(w.findings.at[0].value - burn->ratio) < 1e-6);
	}
	kit_ticks_done(&w);
	return found;
}

static void test_runaway__is_busy_without_a_break_and_lost_its_parent(void **state)
{
	static const struct {
		struct burn burn;
		size_t found;
	} rows[] = {
		{ { .ratio = 1, .for_s = 59, .ppid = 1 }, 0 },
		{ { .ratio = 1, .for_s = 60, .ppid = 1 }, 1 },
		{ { .ratio = 0.9, .for_s = 60, .ppid = 1 }, 1 },
		{ { .ratio = 0.899, .for_s = 60, .ppid = 1 }, 0 },
		{ { .ratio = 3.5, .for_s = 90, .ppid = 1 }, 1 },
		{ { .ratio = 1, .for_s = 600, .ppid = 5 }, 0 }, /* somebody waits for it */
		{ { .ratio = 1, .for_s = 600, .ppid = 0 }, 0 }, /* the parent is unknown */
		{ { .ratio = 1, .for_s = 90, .ppid = 1, .job = -1 }, 0 },
		{ { .ratio = 1, .for_s = 90, .ppid = 1, .pause_at_s = 40 }, 0 },
		{ { .ratio = 1, .for_s = 90, .ppid = 1, .pause_at_s = 20 }, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(judge_burn(&rows[i].burn), rows[i].found);
}

static void test_runaway__uses_the_parent_of_the_spawn_event(void **state)
{
	struct ticks w = kit_ticks();
	uint64_t cpu_ns = 0;

	w.config.runaway_duration_ns = 2 * NS_PER_S;
	for (int s = 0; s <= 3; s++, cpu_ns += NS_PER_S) {
		struct proc_snap *p;

		kit_tick(&w, s);
		p = kit_add(&w, 10, 0); /* its parent is 1 at the first tick already … */
		readings_set(&p->s.r, PROC_CPU_TIME, cpu_ns);
		if (s == 0) { /* … but another one's at its birth */
			struct event *e = vec_push(&w.snap.events, EVENTS_MAX);

			e->kind = EVENT_SPAWN;
			e->id = p->s.id;
			e->ppid = 7;
		}
		assert_int_equal(kit_judge(&w), s >= 2);
	}
	kit_ticks_done(&w);
}

static void test_runaway__ignores_ticks_too_close_to_each_other(void **state)
{
	struct ticks w = kit_ticks();

	w.config.runaway_duration_ns = 2 * NS_PER_S;
	/* CPU time comes in ticks: now 20 ms in 50, then none. */
	for (int i = 0; i <= 60; i++) {
		struct proc_snap *p;

		kit_tick(&w, i * 0.05);
		p = kit_add(&w, 10, -100);
		p->s.ppid = i < 10 ? 5 : 1;
		readings_set(&p->s.r, PROC_CPU_TIME, (uint64_t)(i / 2) * 100 * NS_PER_MS);
		assert_int_equal(kit_judge(&w), i >= 40);
	}
	kit_ticks_done(&w);
}

static void test_runaway__is_interrupted_by_missing_cpu_time(void **state)
{
	struct ticks w = kit_ticks();

	w.config.runaway_duration_ns = 2 * NS_PER_S;
	for (int s = 0; s <= 6; s++) {
		struct proc_snap *p;

		kit_tick(&w, s);
		p = kit_add(&w, 10, -100);
		p->s.ppid = s ? 1 : 5;
		if (s != 2)
			readings_set(&p->s.r, PROC_CPU_TIME, (uint64_t)s * NS_PER_S);
		assert_int_equal(kit_judge(&w), s >= 5);
	}
	kit_ticks_done(&w);
}

/* ---- zombie ---------------------------------------------------------------------------------- */

static void test_zombie__of_a_job_that_ended_is_left_to_others(void **state)
{
	struct ticks w = kit_ticks();

	for (int second = 0; second <= 60; second += 60) {
		struct proc_snap *p;
		struct job *job;

		kit_tick(&w, second);
		p = kit_add(&w, 10, -100);
		p->s.state = 'Z';
		p->job = 0;
		vec_reset(&w.snap.jobs);
		job = vec_push(&w.snap.jobs, JOBS_MAX);
		job->status = JOB_FAILED;
		assert_int_equal(kit_judge(&w), 0);
	}
	kit_ticks_done(&w);
}

static void test_zombie__is_a_process_of_a_job_that_is_not_reaped(void **state)
{
	static const struct {
		double second_s;
		int32_t job;
		char state_then;
		size_t found;
	} rows[] = {
		{ 2.999, 0, 'Z', 0 }, { 3, 0, 'Z', 1 },  { 60, 0, 'Z', 1 },
		{ 60, -1, 'Z', 0 },   { 60, 0, 'S', 0 }, { 0, 0, 'Z', 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ticks w = kit_ticks();
		struct proc_snap *p;

		kit_tick(&w, 0);
		p = kit_add(&w, 10, -100);
		p->s.state = 'Z';
		p->job = rows[i].job;
		assert_int_equal(kit_judge(&w), 0);
		kit_tick(&w, rows[i].second_s);
		p = kit_add(&w, 10, -100);
		p->s.state = rows[i].state_then;
		p->job = rows[i].job;
		assert_int_equal(kit_judge(&w), rows[i].found);
		if (rows[i].found)
			assert_true(w.findings.at[0].value == rows[i].second_s * 1e9);
		kit_ticks_done(&w);
	}
}

/* ---- open files ------------------------------------------------------------------------------ */

#define NONE UINT64_MAX

static void test_fd_exhaustion__compares_with_the_process_own_limit(void **state)
{
	static const struct {
		uint64_t fds, limit;
		size_t found;
	} rows[] = {
		{ 57, 64, 0 },     { 58, 64, 1 },
		{ 64, 64, 1 },     { 921, 1024, 0 },
		{ 922, 1024, 1 },  { 0, 1024, 0 },
		{ NONE, 1024, 0 }, { 900, NONE, 0 },
		{ 15, 15, 0 }, /* a sandbox */
		{ 14, 16, 0 },     { 15, 16, 1 },
		{ 5, 0, 0 },       { 1000000, UINT64_MAX - 1, 0 }, /* unlimited */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ticks w = kit_ticks();
		struct proc_snap *p;

		kit_tick(&w, 0);
		p = kit_add(&w, 10, -100);
		p->job = -1;
		if (rows[i].fds != NONE)
			readings_set(&p->s.r, PROC_FDS, rows[i].fds);
		if (rows[i].limit != NONE)
			readings_set(&p->s.r, PROC_FD_LIMIT, rows[i].limit);
		assert_int_equal(kit_judge(&w), rows[i].found);
		if (rows[i].found) {
			assert_int_equal(w.findings.at[0].kind, ANOMALY_FD_EXHAUSTION);
			assert_int_equal(w.findings.at[0].severity, SEVERITY_HIGH);
		}
		kit_ticks_done(&w);
	}
}

/* ---- memory pressure ------------------------------------------------------------------------- */

static void test_memory_pressure__is_less_than_a_tenth_available(void **state)
{
	static const struct {
		uint64_t total, available;
		size_t found;
	} rows[] = {
		{ 1000, 100, 0 },  { 1000, 99, 1 }, { 1005, 100, 1 },  { 1000, 0, 1 },
		{ 1000, 1000, 0 }, { NONE, 10, 0 }, { 1000, NONE, 0 }, { 0, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ticks w = kit_ticks();

		kit_tick(&w, 0);
		if (rows[i].total != NONE)
			readings_set(&w.snap.host, HOST_MEM_TOTAL, rows[i].total);
		if (rows[i].available != NONE)
			readings_set(&w.snap.host, HOST_MEM_AVAILABLE, rows[i].available);
		assert_int_equal(kit_judge(&w), rows[i].found);
		if (rows[i].found) {
			assert_int_equal(w.findings.at[0].kind, ANOMALY_MEMORY_PRESSURE);
			assert_int_equal(w.findings.at[0].severity, SEVERITY_CRITICAL);
			assert_int_equal(w.findings.at[0].id.pid, 0);
			assert_int_equal(w.findings.at[0].job, -1);
		}
		kit_ticks_done(&w);
	}
}

static void test_anomaly_rules__finds_no_more_than_its_ceiling_and_counts_the_rest(void **state)
{
	struct ticks w = kit_ticks();

	kit_tick(&w, 0);
	for (pid_t pid = 1; pid <= FINDINGS_MAX + 5; pid++) {
		struct proc_snap *p = kit_add(&w, pid, -100);

		readings_set(&p->s.r, PROC_FDS, 64);
		readings_set(&p->s.r, PROC_FD_LIMIT, 64);
	}
	assert_int_equal(kit_judge(&w), FINDINGS_MAX);
	assert_int_equal(w.findings.dropped, 5);
	kit_ticks_done(&w);
}

RUN_TESTS(TEST(test_memory_spike__matches_exactly_at_each_boundary),
          TEST(test_memory_spike__reports_its_base_time_and_threshold),
          TEST(test_memory_spike__ignores_start_up),
          TEST(test_memory_spike__ignores_the_start_up_after_an_exec),
          TEST(test_memory_spike__ignores_missing_values),
          TEST(test_memory_spike__does_not_span_a_reused_pid),
          TEST(test_memory_spike__is_found_outside_of_jobs),
          TEST(test_runaway__is_busy_without_a_break_and_lost_its_parent),
          TEST(test_runaway__uses_the_parent_of_the_spawn_event),
          TEST(test_runaway__ignores_ticks_too_close_to_each_other),
          TEST(test_runaway__is_interrupted_by_missing_cpu_time),
          TEST(test_zombie__of_a_job_that_ended_is_left_to_others),
          TEST(test_zombie__is_a_process_of_a_job_that_is_not_reaped),
          TEST(test_fd_exhaustion__compares_with_the_process_own_limit),
          TEST(test_memory_pressure__is_less_than_a_tenth_available),
          TEST(test_anomaly_rules__finds_no_more_than_its_ceiling_and_counts_the_rest))
