/* SPDX-License-Identifier: MIT */
/* Anomalies of whole jobs, of threads, and of swapping. */
#include "analyze/anomaly_rules.h"

#include "check.h"
#include "model_kit.h"

#define MIB KIT_MIB

static struct figure known(uint64_t value)
{
	return (struct figure){ value, QUALITY_SAMPLED };
}

static struct type_history past_of(enum job_figure figure, uint64_t value)
{
	struct type_history past = { 0 };
	struct job job = { .status = JOB_COMPLETED };

	kit_figure(&job, figure, value, QUALITY_EXACT);
	for (int i = 0; i < TYPE_HISTORY_LEAST; i++)
		type_history_add(&past, &job);
	return past;
}

/* How the last tick was judged: -1: not at all. */
static int severity_of(const struct ticks *w, enum anomaly_kind kind)
{
	vec_each(&w->findings, f)
		if (f->kind == kind)
			return (int)f->severity;
	return -1;
}

/* ---- earlier runs --------------------------------------------------------------------------- */

static size_t judge_spike(uint64_t after_mib, const struct type_history *past, struct finding *ret)
{
	struct ticks w = kit_ticks();
	size_t n;

	w.past = past;
	for (int s = 0; s <= 5; s += 5) {
		kit_tick(&w, s);
		kit_add_job(&w);
		kit_rss(kit_add(&w, 10, -100), (s ? after_mib : 100) * MIB);
		n = kit_judge(&w);
	}
	if (n)
		*ret = w.findings.at[0];
	kit_ticks_done(&w);
	return n;
}

static void test_memory_spike__that_earlier_runs_had_too_is_none(void **state)
{
	struct type_history past = past_of(JOB_FIGURE_PEAK_RSS, 900 * MIB);
	struct finding f;

	assert_int_equal(judge_spike(900, &past, &f), 0);
	assert_int_equal(judge_spike(989, &past, &f), 0);
	assert_int_equal(judge_spike(991, &past, &f), 1);
	assert_int_equal(f.kind, ANOMALY_MEMORY_SPIKE);
	assert_int_equal(f.runs, TYPE_HISTORY_LEAST);
	assert_true(fabs(f.threshold - 990.0 * (double)MIB) < 1);
	assert_int_equal(judge_spike(900, NULL, &f), 1);
	assert_int_equal(f.runs, 0);
	past.of[PAST_LARGEST].n = TYPE_HISTORY_LEAST - 1;
	assert_int_equal(judge_spike(900, &past, &f), 1);
	assert_int_equal(f.runs, 0);
}

static size_t judge_orphan(uint64_t cpu_s, const struct type_history *past)
{
	struct ticks w = kit_ticks();
	size_t n = 0;

	w.past = past;
	for (int s = 0; s <= 70; s++) {
		struct proc_snap *p;

		kit_tick(&w, s);
		kit_add_job(&w);
		kit_figure(&w.snap.jobs.at[0], JOB_FIGURE_CPU, cpu_s * NS_PER_S, QUALITY_EXACT);
		p = kit_add(&w, 10, -100);
		p->s.ppid = s ? 1 : 5;
		readings_set(&p->s.r, PROC_CPU_TIME, (uint64_t)s * NS_PER_S);
		n = kit_judge(&w);
	}
	kit_ticks_done(&w);
	return n;
}

static void test_runaway__that_computes_no_more_than_earlier_runs_is_none(void **state)
{
	struct type_history past = past_of(JOB_FIGURE_CPU, 100 * NS_PER_S);

	assert_int_equal(judge_orphan(109, &past), 0);
	assert_int_equal(judge_orphan(111, &past), 1);
	assert_int_equal(judge_orphan(70, NULL), 1);
}

/* ---- memory runs out ------------------------------------------------------------------------ */

struct growth {
	uint64_t from, per_s, limit, around, around_other, available; /* MiB */
	int seconds;
	int stops_at; /* 0: never */
	bool is_of_daemon;
};

static int judge_limit(const struct growth *g, const struct type_history *past, struct finding *ret)
{
	struct ticks w = kit_ticks();
	uint64_t used = g->from;
	int severity;

	w.past = past;
	w.owns_group = !g->is_of_daemon;
	for (int s = 0; s <= g->seconds; s++) {
		kit_tick(&w, s);
		kit_add_job(&w)->used = known(used * MIB);
		w.snap.jobs.at[0].limit[JOB_LIMIT_MEM] = g->limit * MIB;
		readings_set(&w.snap.host, HOST_MEM_TOTAL, 100000 * MIB);
		readings_set(&w.snap.host, HOST_MEM_AVAILABLE,
		             (g->available ? g->available : 90000) * MIB);
		if (g->around) {
			readings_set(&w.snap.cgroup, CGROUP_MEM_LIMIT, g->around * MIB);
			readings_set(&w.snap.cgroup, CGROUP_MEM_LIMIT_USED,
			             (used + g->around_other) * MIB);
		}
		kit_judge(&w);
		used += g->stops_at && s >= g->stops_at ? 0 : g->per_s;
	}
	severity = severity_of(&w, ANOMALY_MEMORY_EXHAUSTION);
	if (severity >= 0)
		*ret = w.findings.at[0];
	kit_ticks_done(&w);
	return severity;
}

static void test_memory_exhaustion__reports_the_time_that_is_left(void **state)
{
	static const struct {
		struct growth g;
		int severity;
	} rows[] = {
		/* 800 of 1000 MiB after 20 s: 200 s are left at 1 MiB/s */
		{ { .from = 780, .per_s = 1, .limit = 1000, .seconds = 20 }, SEVERITY_HIGH },
		{ { .from = 780, .per_s = 1, .limit = 1000, .seconds = 19 }, -1 }, /* too early */
		{ { .from = 930, .per_s = 1, .limit = 1000, .seconds = 20 }, SEVERITY_CRITICAL },
		{ { .from = 600, .per_s = 4, .limit = 1000, .seconds = 20 }, -1 },  /* 680: much left */
		{ { .from = 620, .per_s = 4, .limit = 1000, .seconds = 20 }, SEVERITY_HIGH }, /* 700 */
		{ { .from = 7080, .per_s = 1, .limit = 10000, .seconds = 20 }, -1 }, /* lasts for long */
		{ { .from = 900, .per_s = 0, .limit = 1000, .seconds = 60 }, -1 },
		{ { .from = 700, .per_s = 20, .limit = 1000, .seconds = 40, .stops_at = 10 }, -1 },
		{ { .from = 780, .per_s = 1, .seconds = 20 }, -1 }, /* no limit, and much available */
		{ { .from = 9780, .per_s = 100, .seconds = 20, .available = 20000 }, SEVERITY_HIGH },
		{ { .from = 480, .per_s = 1, .around = 1000, .around_other = 300, .seconds = 20 },
		  SEVERITY_HIGH },
		{ { .from = 480, .per_s = 1, .around = 1000, .around_other = 300, .seconds = 20,
		    .is_of_daemon = true },
		  -1 },
		{ { .from = 1, .per_s = 2, .limit = 50, .seconds = 20 }, -1 }, /* too small to matter */
	};
	struct finding f;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(judge_limit(&rows[i].g, NULL, &f), rows[i].severity);
	assert_int_equal(judge_limit(&rows[0].g, NULL, &f), SEVERITY_HIGH);
	assert_in_range((uint64_t)f.value, 199 * NS_PER_S, 201 * NS_PER_S);
	assert_true(f.base == 1000.0 * (double)MIB && f.other == 800.0 * (double)MIB);
}

static void test_memory_exhaustion__is_none_where_runs_end_below_the_limit(void **state)
{
	static const struct growth g = { .from = 780, .per_s = 1, .limit = 1000, .seconds = 20 };
	struct type_history past = past_of(JOB_FIGURE_PEAK_USED, 850 * MIB);
	struct finding f;

	assert_int_equal(judge_limit(&g, &past, &f), -1);
	past = past_of(JOB_FIGURE_PEAK_USED, 700 * MIB); /* it has more already */
	assert_int_equal(judge_limit(&g, &past, &f), SEVERITY_HIGH);
	assert_int_equal(f.runs, TYPE_HISTORY_LEAST);
	past = past_of(JOB_FIGURE_PEAK_USED, 950 * MIB); /* earlier runs had a higher limit */
	assert_int_equal(judge_limit(&g, &past, &f), SEVERITY_HIGH);
}

/* ---- processes and threads ------------------------------------------------------------------ */

struct crowd {
	uint32_t first, last;
	int seconds;
	uint64_t limit, around, born;
};

static int judge_crowd(const struct crowd *c, const struct type_history *past)
{
	struct ticks w = kit_ticks();
	int severity;

	w.past = past;
	w.owns_group = true;
	for (int i = 0; i < 2; i++) {
		kit_tick(&w, i * c->seconds);
		kit_add_job(&w)->procs = i ? c->last : c->first;
		w.snap.jobs.at[0].limit[JOB_LIMIT_PIDS] = c->limit;
		kit_figure(&w.snap.jobs.at[0], JOB_FIGURE_PROCESSES, c->born, QUALITY_EXACT);
		if (c->around)
			readings_set(&w.snap.cgroup, CGROUP_PIDS_LIMIT, c->around);
		kit_judge(&w);
	}
	severity = severity_of(&w, ANOMALY_FORK_STORM);
	kit_ticks_done(&w);
	return severity;
}

static void test_fork_storm__is_many_times_more_processes_within_seconds(void **state)
{
	static const struct {
		struct crowd c;
		int severity;
	} rows[] = {
		{ { 1, 999, 5 }, -1 },
		{ { 1, 1000, 5 }, SEVERITY_CRITICAL },
		{ { 1, 1000, 10 }, SEVERITY_CRITICAL },
		{ { 1, 1000, 11 }, -1 }, /* it took its time */
		{ { 251, 1000, 5 }, -1 },
		{ { 250, 1000, 5 }, SEVERITY_CRITICAL },
		{ { 1, 179, 5, .limit = 200 }, -1 },
		{ { 1, 180, 5, .limit = 200 }, SEVERITY_CRITICAL },
		{ { 1, 180, 5, .around = 200 }, SEVERITY_CRITICAL },
		{ { 1, 180, 5, .limit = 200, .around = 5000 }, SEVERITY_CRITICAL },
		{ { 1, 31, 5, .limit = 31 }, -1 }, /* a sandbox */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(judge_crowd(&rows[i].c, NULL), rows[i].severity);
}

static void test_fork_storm__that_earlier_runs_had_too_is_none(void **state)
{
	struct type_history past = past_of(JOB_FIGURE_PROCESSES, 2000);
	struct crowd c = { 1, 2000, 5, .born = 2200 };

	assert_int_equal(judge_crowd(&c, &past), -1);
	c.born = 2201;
	assert_int_equal(judge_crowd(&c, &past), SEVERITY_CRITICAL);
}

static int judge_threads(uint64_t first, int seconds, uint64_t last, int32_t job)
{
	struct ticks w = kit_ticks();
	int severity;

	for (int s = 0; s <= seconds; s++) {
		struct proc_snap *p;

		kit_tick(&w, s);
		p = kit_add(&w, 10, -100);
		p->job = job;
		readings_set(&p->s.r, PROC_THREADS, s ? last : first);
		kit_judge(&w);
	}
	severity = severity_of(&w, ANOMALY_THREAD_EXPLOSION);
	kit_ticks_done(&w);
	return severity;
}

static void test_thread_explosion__is_many_times_more_threads_within_seconds(void **state)
{
	assert_int_equal(judge_threads(10, 1, 999, 0), -1);
	assert_int_equal(judge_threads(10, 1, 1000, 0), SEVERITY_HIGH);
	assert_int_equal(judge_threads(250, 1, 1000, 0), SEVERITY_HIGH);
	assert_int_equal(judge_threads(251, 1, 1000, 0), -1);
	assert_int_equal(judge_threads(10, 1, 5000, -1), -1); /* of no job */
	assert_int_equal(judge_threads(10, 14, 1000, 0), SEVERITY_HIGH);
	assert_int_equal(judge_threads(10, 40, 1000, 0), -1); /* it has had them for a while */
	assert_int_equal(judge_threads(0, 1, 5000, 0), -1);   /* nothing to compare with */
}

/* ---- nothing happens ------------------------------------------------------------------------ */

struct idleness {
	int seconds;
	int works_at; /* it computes a little then; 0: never */
	bool writes;  /* … or writes */
	enum blocked_thing thing;
};

/* Whether it was examined, and how the last tick was judged. */
static int judge_idle(const struct idleness *i, const struct type_history *past, int *ret_examined,
                      struct finding *ret)
{
	struct blocked_call call = { .id = { 10, 1 }, .name = "python", .call = "x", .state = 'S',
		                     .thing = i->thing };
	struct blocked_calls calls = { 0 };
	struct ticks w = kit_ticks();
	uint64_t cpu_ns = NS_PER_S, written = 0;
	int severity;

	*(struct blocked_call *)vec_push(&calls.list, 1) = call;
	w.past = past;
	*ret_examined = 0;
	for (int s = 0; s <= i->seconds; s++) {
		struct job_sum *sum;

		kit_tick(&w, s);
		sum = kit_add_job(&w);
		if (i->works_at && s == i->works_at) {
			cpu_ns += i->writes ? 0 : 6 * NS_PER_MS;
			written += i->writes;
		}
		sum->cpu_ns = known(cpu_ns);
		sum->written = known(written);
		kit_judge(&w);
		if (job_history_wants_calls(&w.jobs, &w.snap, 0)) {
			job_history_take_calls(&w.jobs, &w.snap, 0, &calls, 1);
			(*ret_examined)++;
			kit_judge(&w);
		}
	}
	severity = severity_of(&w, ANOMALY_STALL);
	if (severity >= 0)
		*ret = w.findings.at[0];
	vec_done(&calls.list);
	kit_ticks_done(&w);
	return severity;
}

static void test_stall__is_examined_after_a_while_and_again_each_minute(void **state)
{
	static const struct {
		struct idleness i;
		int examined;
	} rows[] = {
		{ { .seconds = 14 }, 0 },
		{ { .seconds = 15 }, 1 },
		{ { .seconds = 74 }, 1 },
		{ { .seconds = 75 }, 2 },
		{ { .seconds = 24, .works_at = 10 }, 0 },
		{ { .seconds = 25, .works_at = 10 }, 1 },
		{ { .seconds = 24, .works_at = 10, .writes = true }, 0 },
	};
	struct finding f;
	int examined;

	for (size_t n = 0; n < ARRAY_LEN(rows); n++) {
		(void)judge_idle(&rows[n].i, NULL, &examined, &f);
		assert_int_equal(examined, rows[n].examined);
	}
}

static void test_stall__is_reported_when_its_time_is_over(void **state)
{
	struct idleness i = { .seconds = 299, .thing = BLOCKED_ON_LOCK };
	struct finding f;
	int examined;

	assert_int_equal(judge_idle(&i, NULL, &examined, &f), -1);
	i.seconds = 300;
	assert_int_equal(judge_idle(&i, NULL, &examined, &f), SEVERITY_MEDIUM);
	assert_int_equal(f.id.pid, 10);
	assert_string_equal(f.comm, "python");
	assert_string_equal(f.text, "waits in x on a lock (S)");
	assert_true(f.value == 300e9 && f.runs == 0);
	i.works_at = 250;
	assert_int_equal(judge_idle(&i, NULL, &examined, &f), -1);
	i = (struct idleness){ .seconds = 599, .thing = BLOCKED_ON_SOCKET };
	assert_int_equal(judge_idle(&i, NULL, &examined, &f), -1);
	i.seconds = 600;
	assert_int_equal(judge_idle(&i, NULL, &examined, &f), SEVERITY_MEDIUM);
}

static void test_stall__is_reported_sooner_in_a_job_that_lasts_longer_than_earlier_runs(void **state)
{
	struct idleness i = { .seconds = 59, .thing = BLOCKED_ON_SOCKET };
	struct type_history past = { 0 };
	struct finding f;
	int examined;

	for (int n = 0; n < TYPE_HISTORY_LEAST; n++)
		type_history_add(&past, &(struct job){ .status = JOB_COMPLETED, .took_ns = 30 * NS_PER_S });
	assert_int_equal(judge_idle(&i, &past, &examined, &f), -1);
	i.seconds = 60;
	assert_int_equal(judge_idle(&i, &past, &examined, &f), SEVERITY_MEDIUM);
	assert_int_equal(f.runs, TYPE_HISTORY_LEAST);
	past = (struct type_history){ 0 };
	for (int n = 0; n < TYPE_HISTORY_LEAST; n++)
		type_history_add(&past, &(struct job){ .status = JOB_COMPLETED, .took_ns = 90 * NS_PER_S });
	assert_int_equal(judge_idle(&i, &past, &examined, &f), -1);
}

/* ---- GPUs, CPU limits, swap space ----------------------------------------------------------- */

static int judge_gpu(int seconds, struct figure memory, struct figure sm, int busy_at)
{
	struct ticks w = kit_ticks();
	int severity;

	for (int s = 0; s <= seconds; s += 10) {
		struct job_sum *sum;

		kit_tick(&w, s);
		sum = kit_add_job(&w);
		sum->gpu_memory = memory;
		sum->gpu_sm = busy_at && s == busy_at ? known(900) : sm;
		kit_judge(&w);
	}
	severity = severity_of(&w, ANOMALY_GPU_IDLE);
	kit_ticks_done(&w);
	return severity;
}

static void test_gpu_idle__is_memory_held_while_nothing_runs(void **state)
{
	const struct figure missing = { 0 }, memory = known(64 * MIB), idle = known(0);

	assert_int_equal(judge_gpu(290, memory, idle, 0), -1);
	assert_int_equal(judge_gpu(300, memory, idle, 0), SEVERITY_MEDIUM);
	assert_int_equal(judge_gpu(300, memory, idle, 10), -1);
	assert_int_equal(judge_gpu(320, memory, idle, 10), SEVERITY_MEDIUM);
	assert_int_equal(judge_gpu(600, memory, known(10), 0), -1);
	assert_int_equal(judge_gpu(600, memory, missing, 0), -1); /* the driver does not report it */
	assert_int_equal(judge_gpu(600, known(0), idle, 0), -1);
	assert_int_equal(judge_gpu(600, known(64 * MIB - 1), idle, 0), -1);
}

/* In percent of the CPU time that it asked for: of the job's own limit, or of one around it. */
static int judge_throttled(int seconds, unsigned percent, bool is_around, bool owns_group)
{
	struct ticks w = kit_ticks();
	int severity;

	w.owns_group = owns_group;
	for (int s = 0; s <= seconds; s++) {
		uint64_t held_back = (uint64_t)s * 10 * percent * NS_PER_MS;

		kit_tick(&w, s);
		kit_add_job(&w)->cpu_ns = known((uint64_t)s * 10 * (100 - percent) * NS_PER_MS);
		if (is_around)
			readings_set(&w.snap.cgroup, CGROUP_CPU_THROTTLED, held_back);
		else
			kit_figure(&w.snap.jobs.at[0], JOB_FIGURE_CPU_THROTTLED, held_back,
			           QUALITY_EXACT);
		kit_judge(&w);
	}
	severity = severity_of(&w, ANOMALY_THROTTLED);
	kit_ticks_done(&w);
	return severity;
}

static void test_throttled__is_a_quarter_of_the_cpu_time_not_given(void **state)
{
	assert_int_equal(judge_throttled(20, 24, false, true), -1);
	assert_int_equal(judge_throttled(20, 25, false, true), SEVERITY_MEDIUM);
	assert_int_equal(judge_throttled(19, 90, false, true), -1);
	assert_int_equal(judge_throttled(300, 90, false, true), SEVERITY_MEDIUM);
	assert_int_equal(judge_throttled(20, 25, true, true), SEVERITY_MEDIUM);
	assert_int_equal(judge_throttled(20, 90, true, false), -1); /* the daemon's own group */
	assert_int_equal(judge_throttled(20, 0, false, true), -1);
}

static size_t judge_swap(int seconds, double waits, uint64_t total, uint64_t free, double pause_at)
{
	struct ticks w = kit_ticks();
	size_t found = 0;

	for (int s = 0; s <= seconds; s++) {
		kit_tick(&w, s);
		w.snap.psi_mem_ratio = s == (int)pause_at ? 0 : waits;
		readings_set(&w.snap.host, HOST_SWAP_TOTAL, total);
		readings_set(&w.snap.host, HOST_SWAP_FREE, free);
		found = kit_judge(&w);
	}
	if (found)
		assert_int_equal(w.findings.at[0].kind, ANOMALY_SWAP_THRASH);
	kit_ticks_done(&w);
	return found;
}

static void test_swap_thrash__is_waiting_for_memory_while_some_is_swapped_out(void **state)
{
	assert_int_equal(judge_swap(14, 0.3, 100, 50, -1), 0);
	assert_int_equal(judge_swap(15, 0.3, 100, 50, -1), 1);
	assert_int_equal(judge_swap(15, 0.29, 100, 50, -1), 0);
	assert_int_equal(judge_swap(15, 0.9, 100, 50, 5), 0);
	assert_int_equal(judge_swap(60, 0.9, 100, 100, -1), 0);
	assert_int_equal(judge_swap(60, 0.9, 0, 0, -1), 0);
	assert_int_equal(judge_swap(60, (double)NAN, 100, 50, -1), 0);
}

static void test_swap_thrash__does_not_depend_on_jobs_that_come_and_go(void **state)
{
	struct ticks w = kit_ticks();

	for (int s = 0; s <= 15; s++) {
		kit_tick(&w, s);
		if (s % 2)
			kit_add_job(&w);
		w.snap.psi_mem_ratio = 0.3;
		readings_set(&w.snap.host, HOST_SWAP_TOTAL, 100);
		readings_set(&w.snap.host, HOST_SWAP_FREE, 50);
		kit_judge(&w);
	}
	assert_int_equal(severity_of(&w, ANOMALY_SWAP_THRASH), SEVERITY_HIGH);
	kit_ticks_done(&w);
}

/* ---- room on disks -------------------------------------------------------------------------- */

struct filling {
	uint64_t total, free, per_s, own_per_s; /* MiB; free: at the end */
	int seconds, stops_at, seen_until;      /* 0: to the end */
};

static int judge_disk(const struct filling *g, struct finding *ret)
{
	struct ticks w = kit_ticks();
	int last = g->stops_at ? g->stops_at : g->seconds, severity;

	for (int s = 0; s <= g->seconds + 1; s++) {
		uint64_t written_s = (uint64_t)MIN(s - 1, last);
		struct disk_use use = { .job = 7, .device = 3, .total_bytes = g->total * MIB };

		kit_tick(&w, s);
		kit_add_job(&w);
		if (s && (!g->seen_until || s <= g->seen_until)) {
			use.free_bytes = (g->free + ((uint64_t)last - written_s) * g->per_s) * MIB;
			use.own_bytes = written_s * g->own_per_s * MIB;
			snprintf(use.path, sizeof use.path, "/data/out");
			job_history_take_disk(&w.jobs, &w.snap, &use);
		}
		kit_judge(&w);
	}
	severity = severity_of(&w, ANOMALY_DISK_FILLING);
	if (severity >= 0)
		*ret = w.findings.at[0];
	kit_ticks_done(&w);
	return severity;
}

static void test_disk_filling__reports_how_long_the_room_lasts(void **state)
{
	struct finding f;

	assert_int_equal(judge_disk(&(struct filling){ 10000, 3000, 10, 0, 20 }, &f), SEVERITY_HIGH);
	assert_true(fabs(f.value / (double)NS_PER_S - 300) < 0.01);
	assert_true(f.base == 10000.0 * (double)MIB && f.other == 3000.0 * (double)MIB);
	assert_string_equal(f.text, "/data/out");
	assert_int_equal(judge_disk(&(struct filling){ 10000, 3000, 10, 0, 19 }, &f), -1);
	assert_int_equal(judge_disk(&(struct filling){ 9990, 3000, 10, 0, 20 }, &f), -1);
	assert_int_equal(judge_disk(&(struct filling){ 10020, 3006, 10, 0, 20 }, &f), -1);
	assert_int_equal(judge_disk(&(struct filling){ 10000, 600, 10, 0, 20 }, &f), SEVERITY_CRITICAL);
	assert_int_equal(judge_disk(&(struct filling){ 10000, 601, 10, 0, 20 }, &f), SEVERITY_HIGH);
	assert_int_equal(judge_disk(&(struct filling){ 10000, 3000, 0, 0, 60 }, &f), -1);
}

static void test_disk_filling__is_over_when_nothing_is_written_any_more(void **state)
{
	struct finding f;

	assert_int_equal(judge_disk(&(struct filling){ 10000, 600, 10, 0, 60, .stops_at = 30 }, &f), -1);
	assert_int_equal(judge_disk(&(struct filling){ 10000, 600, 10, 0, 60, .seen_until = 41 }, &f),
	                 SEVERITY_HIGH);
	assert_int_equal(judge_disk(&(struct filling){ 10000, 600, 10, 0, 60, .seen_until = 40 }, &f), -1);
}

/* One that others fill slowly is no business of the job's. */
static void test_disk_filling__of_a_disk_that_is_as_good_as_full_is_due_to_the_job(void **state)
{
	struct finding f;

	assert_int_equal(judge_disk(&(struct filling){ 144000, 7200, 2, 1, 60 }, &f), SEVERITY_MEDIUM);
	assert_true(f.threshold == 3600.0 * (double)NS_PER_S && f.value <= f.threshold);
	assert_int_equal(judge_disk(&(struct filling){ 144000, 7200, 4, 1, 60 }, &f), -1);
	assert_int_equal(judge_disk(&(struct filling){ 143000, 7200, 2, 2, 60 }, &f), -1);
	assert_int_equal(judge_disk(&(struct filling){ 200000, 7202, 2, 2, 60 }, &f), -1);
}

RUN_TESTS(TEST(test_memory_spike__that_earlier_runs_had_too_is_none),
          TEST(test_runaway__that_computes_no_more_than_earlier_runs_is_none),
          TEST(test_memory_exhaustion__reports_the_time_that_is_left),
          TEST(test_memory_exhaustion__is_none_where_runs_end_below_the_limit),
          TEST(test_fork_storm__is_many_times_more_processes_within_seconds),
          TEST(test_fork_storm__that_earlier_runs_had_too_is_none),
          TEST(test_thread_explosion__is_many_times_more_threads_within_seconds),
          TEST(test_stall__is_examined_after_a_while_and_again_each_minute),
          TEST(test_stall__is_reported_when_its_time_is_over),
          TEST(test_stall__is_reported_sooner_in_a_job_that_lasts_longer_than_earlier_runs),
          TEST(test_gpu_idle__is_memory_held_while_nothing_runs),
          TEST(test_throttled__is_a_quarter_of_the_cpu_time_not_given),
          TEST(test_disk_filling__reports_how_long_the_room_lasts),
          TEST(test_disk_filling__is_over_when_nothing_is_written_any_more),
          TEST(test_disk_filling__of_a_disk_that_is_as_good_as_full_is_due_to_the_job),
          TEST(test_swap_thrash__does_not_depend_on_jobs_that_come_and_go),
          TEST(test_swap_thrash__is_waiting_for_memory_while_some_is_swapped_out))
