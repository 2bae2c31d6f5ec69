/* SPDX-License-Identifier: MIT */
#include "job/job_usage.h"

#include <stdio.h>

#include "check.h"
#include "model_kit.h"

/* As jobs_figures() does for each job. */
static void feed(struct accounting *t, const struct snapshot *snap, int32_t job)
{
	vec_each(&snap->events, e)
		if (e->job < 0 || e->job == job)
			accounting_take_event(t, e);
	if (snap->events_only || (size_t)job >= snap->sums.len)
		return;
	vec_each(&snap->procs, p)
		if (p->job == job)
			accounting_take_process(t, p);
	accounting_take_used(t, snap->sums.at[job].used, snap->boot_ns);
}

static void figures_of(const struct accounting *t, const struct job_usage_sources *from,
                       struct job *ret)
{
	struct job_usage usage = { 0 };

	job_usage_update(&usage, t, from);
	job_usage_figures(&usage, t, from, ret);
}

/* Ends of the first job, one with totals each. */
static void add_end(struct snapshot *snap, pid_t pid, uint64_t cpu_ns, uint64_t peak_bytes)
{
	struct event *e = vec_push(&snap->events, 100);

	*e = (struct event){ .kind = EVENT_EXIT, .id = { pid, 1 }, .has_exit_code = true };
	if (cpu_ns)
		readings_set(&e->final, PROC_CPU_TIME, cpu_ns);
	if (peak_bytes)
		readings_set(&e->final, PROC_PEAK_RSS, peak_bytes);
}

static struct launch_end reaped(long user_us, long system_us, long maxrss_kib)
{
	return (struct launch_end){ .has_exit_code = true,
		                    .usage = { .ru_utime.tv_usec = user_us,
		                               .ru_stime.tv_usec = system_us,
		                               .ru_maxrss = maxrss_kib } };
}

#define ASSERT_FIGURE(job, id, v, q)                                                               \
	do {                                                                                       \
		assert_int_equal((job).figures[JOB_FIGURE_##id].quality, QUALITY_##q);             \
		assert_int_equal((job).figures[JOB_FIGURE_##id].value, (v));                       \
	} while (0)

static void test_accounting__is_exact_when_every_end_was_reported(void **state)
{
	struct snapshot snap = { .events_only = true };
	struct accounting t = { 0 };
	struct job job = { 0 };

	(void)state;
	add_end(&snap, 10, 5 * NS_PER_MS, 4096);
	add_end(&snap, 11, 7 * NS_PER_MS, 8192);
	snap.events.at[1].exit_code = 3;
	feed(&t, &snap, 0);
	figures_of(
		&t, &(struct job_usage_sources){ .processes = 2, .births_are_reported = true },
		&job);
	ASSERT_FIGURE(job, CPU, 12 * NS_PER_MS, EXACT);
	ASSERT_FIGURE(job, PEAK_RSS, 8192, EXACT);
	ASSERT_FIGURE(job, PROCESSES, 2, EXACT);
	ASSERT_FIGURE(job, FAILED, 1, EXACT);
	assert_int_equal(job.largest_pid, 11);
	snapshot_done(&snap);
}

static void test_accounting__does_not_fall_when_the_last_process_ends_before_the_job(void **state)
{
	struct snapshot snap = { .events_only = true };
	struct proc_snap shell = { .s = { .id = { 10, 1 }, .waited_cpu_ns = 900 * NS_PER_MS } };
	struct accounting t = { 0 };
	struct job job = { 0 };

	(void)state;
	readings_set(&shell.s.r, PROC_CPU_TIME, 10 * NS_PER_MS);
	accounting_take_process(&t, &shell);
	accounting_end_tick(&t);
	figures_of(&t, &(struct job_usage_sources){ .processes = 9, .living = 1 }, &job);
	ASSERT_FIGURE(job, CPU, 910 * NS_PER_MS, AT_LEAST);
	add_end(&snap, 10, 0, 0);
	feed(&t, &snap, 0);
	figures_of(&t, &(struct job_usage_sources){ .processes = 9 }, &job);
	ASSERT_FIGURE(job, CPU, 910 * NS_PER_MS, AT_LEAST);
	accounting_done(&t);
	snapshot_done(&snap);
}

static void end_of_copy(struct accounting *t, struct snapshot *snap, const char *name,
                        uint64_t life_peak_bytes, struct job *ret)
{
	struct event *e;

	vec_reset(&snap->events);
	add_end(snap, 10, NS_PER_MS, 8 << 20);
	add_end(snap, 11, NS_PER_MS, 4 << 20);
	e = &snap->events.at[1];
	e->life_peak_bytes = life_peak_bytes;
	snprintf(snap->events.at[0].comm, COMM_LEN, "%s", name);
	feed(t, snap, 0);
	accounting_take_life_peak(t, e);
	figures_of(t, &(struct job_usage_sources){ .processes = 2, .births_are_reported = true },
	           ret);
	accounting_done(t);
	*t = (struct accounting){ 0 };
}

static void test_accounting__knows_that_a_copy_had_more_before_it_ran_its_program(void **state)
{
	struct snapshot snap = { .events_only = true };
	struct accounting t = { 0 };
	struct job job = { 0 };

	end_of_copy(&t, &snap, "python3", 8 << 20, &job);
	ASSERT_FIGURE(job, PEAK_RSS, 8 << 20, EXACT);
	end_of_copy(&t, &snap, "python3", 10 << 20, &job);
	ASSERT_FIGURE(job, PEAK_RSS, 8 << 20, AT_LEAST);
	end_of_copy(&t, &snap, "proctor", 8 << 20, &job);
	ASSERT_FIGURE(job, PEAK_RSS, 4 << 20, EXACT);
	snapshot_done(&snap);
}

/* posix_spawn(): the child keeps its parent's mark. */
static void test_accounting__takes_the_last_of_equals_for_the_largest(void **state)
{
	struct snapshot snap = { .events_only = true };
	struct accounting t = { 0 };
	struct job job = { 0 };

	(void)state;
	add_end(&snap, 11, NS_PER_MS, 8192);
	add_end(&snap, 10, NS_PER_MS, 8192);
	add_end(&snap, 12, NS_PER_MS, 4096);
	feed(&t, &snap, 0);
	figures_of(
		&t, &(struct job_usage_sources){ .processes = 3, .births_are_reported = true },
		&job);
	assert_int_equal(job.largest_pid, 10);
	snapshot_done(&snap);
}

static void test_accounting__calls_none_of_our_own_programs_the_largest(void **state)
{
	const struct launch_end end = { .pid = 10,
		                        .usage.ru_maxrss = 32 }; /* KiB, of 11 below it */
	const struct job_usage_sources from = { .processes = 2, .births_are_reported = true };
	struct snapshot snap = { .events_only = true };
	struct accounting t = { 0 };
	struct job job = { 0 };

	(void)state;
	add_end(&snap, 10, NS_PER_MS, 8192);
	add_end(&snap, 11, NS_PER_MS, 32768);
	snprintf(snap.events.at[0].comm, COMM_LEN, "sh");
	snprintf(snap.events.at[1].comm, COMM_LEN, "proctor");
	feed(&t, &snap, 0);
	accounting_reap(&t, &end);
	figures_of(&t, &from, &job);
	ASSERT_FIGURE(job, PEAK_RSS, 8192, EXACT);
	ASSERT_FIGURE(job, PROCESSES, 2, EXACT);
	assert_int_equal(job.largest_pid, 10);
	assert_string_equal(job.largest_name, "sh");
	snapshot_done(&snap);
	accounting_done(&t);
}

static struct event *add_event(struct snapshot *snap, enum event_kind kind, pid_t pid, pid_t ppid,
                              const char *comm)
{
	struct event *e = vec_push(&snap->events, 100);

	*e = (struct event){ .kind = kind, .id = { pid, 1 }, .ppid = ppid };
	snprintf(e->comm, sizeof e->comm, "%s", comm);
	return e;
}

/* 11 is `proctor sheet`, 12 its command. */
static void add_sheet_events(struct snapshot *snap, int exit_code, int exit_code_of_ours)
{
	struct event *e;

	add_event(snap, EVENT_SPAWN, 11, 10, "sh");
	add_event(snap, EVENT_EXEC, 11, 0, "proctor");
	add_event(snap, EVENT_SPAWN, 12, 11, "proctor");
	add_event(snap, EVENT_EXEC, 12, 0, "false");
	e = add_event(snap, EVENT_EXIT, 12, 0, "false");
	e->has_exit_code = true;
	e->exit_code = exit_code;
	e = add_event(snap, EVENT_EXIT, 11, 0, "proctor");
	e->has_exit_code = true;
	e->exit_code = exit_code_of_ours;
}

static void test_accounting__counts_a_failing_sheet_once(void **state)
{
	const struct job_usage_sources from = { .processes = 2, .births_are_reported = true };
	struct snapshot snap = { .events_only = true };
	struct accounting t = { 0 };
	struct job job = { 0 };

	(void)state;
	add_sheet_events(&snap, 3, 3);
	feed(&t, &snap, 0);
	figures_of(&t, &from, &job);
	ASSERT_FIGURE(job, EXITED, 2, EXACT);
	ASSERT_FIGURE(job, FAILED, 1, EXACT);
	snapshot_done(&snap);
	accounting_done(&t);
}

static void test_accounting__counts_it_once_when_its_command_is_reported_last(void **state)
{
	const struct job_usage_sources from = { .processes = 2, .births_are_reported = true };
	struct snapshot snap = { .events_only = true };
	struct accounting t = { 0 };
	struct job job = { 0 };
	struct event last;

	(void)state;
	add_sheet_events(&snap, 3, 3);
	last = snap.events.at[4];
	snap.events.at[4] = snap.events.at[5];
	snap.events.at[5] = last;
	feed(&t, &snap, 0);
	figures_of(&t, &from, &job);
	ASSERT_FIGURE(job, FAILED, 1, EXACT);
	snapshot_done(&snap);
	accounting_done(&t);
}

static void test_accounting__counts_a_program_of_ours_that_failed_by_itself(void **state)
{
	const struct job_usage_sources from = { .processes = 2, .births_are_reported = true };
	struct snapshot snap = { .events_only = true };
	struct accounting t = { 0 };
	struct job job = { 0 };

	(void)state;
	add_sheet_events(&snap, 0, 125);
	feed(&t, &snap, 0);
	figures_of(&t, &from, &job);
	ASSERT_FIGURE(job, FAILED, 1, EXACT);
	snapshot_done(&snap);
	accounting_done(&t);
}

static void test_accounting__is_at_least_when_an_end_is_without_totals_or_somebody_lives(
	void **state)
{
	struct snapshot snap = { .events_only = true };
	struct accounting t = { 0 };
	struct job job = { 0 };

	(void)state;
	add_end(&snap, 10, 5 * NS_PER_MS, 4096);
	add_end(&snap, 11, 0, 4096);
	feed(&t, &snap, 0);
	figures_of(
		&t, &(struct job_usage_sources){ .processes = 2, .births_are_reported = true },
		&job);
	ASSERT_FIGURE(job, CPU, 5 * NS_PER_MS, AT_LEAST);
	ASSERT_FIGURE(job, PEAK_RSS, 4096, EXACT);
	figures_of(&t,
	                   &(struct job_usage_sources){
				   .processes = 3, .living = 1, .births_are_reported = true },
	                   &job);
	ASSERT_FIGURE(job, PEAK_RSS, 4096, AT_LEAST);
	snapshot_done(&snap);
}

static void test_accounting__takes_late_totals_for_an_end_that_was_reported(void **state)
{
	struct snapshot snap = { .events_only = true };
	struct accounting t = { 0 };
	struct job job = { 0 };

	(void)state;
	add_end(&snap, 10, 0, 4096);
	add_end(&snap, 10, 6 * NS_PER_MS, 4096);
	snap.events.at[1].kind = EVENT_TOTALS;
	feed(&t, &snap, 0);
	figures_of(
		&t, &(struct job_usage_sources){ .processes = 1, .births_are_reported = true },
		&job);
	ASSERT_FIGURE(job, CPU, 6 * NS_PER_MS, EXACT);
	ASSERT_FIGURE(job, EXITED, 1, EXACT);
	snapshot_done(&snap);
}

static void test_accounting__believes_the_control_group_before_all(void **state)
{
	struct cgroup_readings group = { 0 };
	struct launch_end end = reaped(3000, 1000, 500);
	struct accounting t = { 0 };
	struct job job = { 0 };

	(void)state;
	readings_set(&group, CGROUP_CPU, 9 * NS_PER_MS);
	readings_set(&group, CGROUP_CPU_USER, 8 * NS_PER_MS);
	accounting_reap(&t, &end);
	figures_of(&t, &(struct job_usage_sources){ .group = &group, .processes = 1 },
	                   &job);
	ASSERT_FIGURE(job, CPU, 9 * NS_PER_MS, EXACT);
	ASSERT_FIGURE(job, CPU_USER, 8 * NS_PER_MS, SAMPLED);
	assert_int_equal(job.figures[JOB_FIGURE_CPU_SYSTEM].quality, QUALITY_MISSING);
}

static void test_accounting__gives_the_totals_of_wait4_as_at_least(void **state)
{
	struct launch_end end = reaped(3000, 1000, 500);
	struct accounting t = { 0 };
	struct job job = { 0 };

	(void)state;
	accounting_reap(&t, &end);
	figures_of(&t, &(struct job_usage_sources){ .processes = 1 }, &job);
	ASSERT_FIGURE(job, CPU, 4 * NS_PER_MS, AT_LEAST);
	ASSERT_FIGURE(job, PEAK_RSS, 500 * 1024, AT_LEAST);
	assert_int_equal(job.figures[JOB_FIGURE_READ].quality, QUALITY_MISSING);
	assert_int_equal(job.figures[JOB_FIGURE_OOM_KILLS].quality, QUALITY_MISSING);
}

static void test_accounting__has_no_figure_for_what_was_not_reported(void **state)
{
	struct accounting t = { 0 };
	struct job job = { 0 };

	(void)state;
	figures_of(&t, &(struct job_usage_sources){ .processes = 1 }, &job);
	assert_int_equal(job.figures[JOB_FIGURE_CPU].quality, QUALITY_MISSING);
	assert_int_equal(job.figures[JOB_FIGURE_PEAK_RSS].quality, QUALITY_MISSING);
	assert_int_equal(job.figures[JOB_FIGURE_PEAK_USED].quality, QUALITY_MISSING);
	assert_int_equal(job.figures[JOB_FIGURE_LEAKED].quality, QUALITY_MISSING);
}

static void test_accounting__trusts_no_count_after_a_loss(void **state)
{
	struct snapshot snap = { .events_only = true };
	struct accounting t = { 0 };
	struct job job = { 0 };

	(void)state;
	add_end(&snap, 10, 5 * NS_PER_MS, 4096);
	vec_push(&snap.events, 100)->kind = EVENT_LOSS;
	feed(&t, &snap, 0);
	figures_of(
		&t, &(struct job_usage_sources){ .processes = 1, .births_are_reported = true },
		&job);
	ASSERT_FIGURE(job, CPU, 5 * NS_PER_MS, AT_LEAST);
	ASSERT_FIGURE(job, PROCESSES, 1, AT_LEAST);
	snapshot_done(&snap);
}

static void test_accounting__remembers_when_all_held_most(void **state)
{
	struct accounting t = { .started_boot_ns = T0_NS };
	struct job job = { 0 };
	uint64_t held[] = { 100, 300, 200 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(held); i++) {
		struct snapshot snap = { .boot_ns = T0_NS + (i + 1) * NS_PER_S };

		*vec_push(&snap.sums, 1) = (struct job_sum){ .used = { held[i], QUALITY_SAMPLED } };
		feed(&t, &snap, 0);
		snapshot_done(&snap);
	}
	figures_of(&t, &(struct job_usage_sources){ .processes = 2 }, &job);
	ASSERT_FIGURE(job, PEAK_USED, 300, SAMPLED);
	ASSERT_FIGURE(job, PEAK_AT, 2 * NS_PER_S, SAMPLED);
}

static void test_accounting__distinguishes_outliving_processes_from_leftover_ones(void **state)
{
	struct accounting t = { 0 };
	struct job job = { 0 };
	struct job_usage_sources from = { .processes = 4,
		                           .births_are_reported = true,
		                           .outlived = 3 };

	(void)state;
	figures_of(&t, &from, &job);
	assert_int_equal(job.figures[JOB_FIGURE_OUTLIVED].quality, QUALITY_MISSING);
	from.has_ended = true;
	figures_of(&t, &from, &job);
	ASSERT_FIGURE(job, OUTLIVED, 3, EXACT);
	assert_int_equal(job.figures[JOB_FIGURE_LEAKED].quality, QUALITY_MISSING);
	from.is_over = true;
	figures_of(&t, &from, &job);
	ASSERT_FIGURE(job, OUTLIVED, 3, EXACT);
	ASSERT_FIGURE(job, LEAKED, 0, EXACT);
}

static void sample_cpu(struct accounting *t, pid_t pid, uint64_t cpu_ns)
{
	struct snapshot snap = { .boot_ns = T0_NS };
	struct proc_snap *p = vec_push(&snap.procs, 1);

	p->s.id = (struct proc_id){ pid, 1 };
	readings_set(&p->s.r, PROC_CPU_TIME, cpu_ns);
	*vec_push(&snap.sums, 1) = (struct job_sum){ .procs = 1 };
	feed(t, &snap, 0);
	snapshot_done(&snap);
}

/* A parent that ignores SIGCHLD: wait4 reports nothing of its children, but ticks saw them. */
static void test_accounting__is_never_below_what_the_ticks_saw(void **state)
{
	struct launch_end end = reaped(3000, 1000, 500);
	struct snapshot late = { .events_only = true };
	struct accounting t = { 0 };
	struct job job = { 0 };

	(void)state;
	sample_cpu(&t, 10, 2 * NS_PER_MS);
	sample_cpu(&t, 11, 50 * NS_PER_MS);
	sample_cpu(&t, 11, 70 * NS_PER_MS);
	accounting_reap(&t, &end);
	figures_of(&t, &(struct job_usage_sources){ .processes = 2 }, &job);
	ASSERT_FIGURE(job, CPU, 72 * NS_PER_MS, AT_LEAST);

	add_end(&late, 11, 80 * NS_PER_MS, 0); /* reported at its end, it is not counted twice */
	add_end(&late, 10, 0, 0);
	feed(&t, &late, 0);
	figures_of(&t, &(struct job_usage_sources){ .processes = 2 }, &job);
	ASSERT_FIGURE(job, CPU, 82 * NS_PER_MS, AT_LEAST);
	accounting_done(&t);
	snapshot_done(&late);
}

/* A mark that the kernel reported at an end, higher than all that ticks saw: the time is unknown. */
static void test_accounting__never_uses_more_than_was_charged(void **state)
{
	struct snapshot tick = { .boot_ns = T0_NS + NS_PER_S };
	struct accounting t = { .started_boot_ns = T0_NS };
	struct cgroup_readings group = { 0 };
	struct job_usage_sources from = { .processes = 2, .group = &group };
	struct job job = { 0 };

	*vec_push(&tick.sums, 1) = (struct job_sum){ .used = { 500 << 10, QUALITY_SAMPLED } };
	feed(&t, &tick, 0);
	figures_of(&t, &from, &job);
	ASSERT_FIGURE(job, PEAK_USED, 500 << 10, SAMPLED);
	readings_set(&group, CGROUP_MEM_PEAK, 480 << 10);
	figures_of(&t, &from, &job);
	ASSERT_FIGURE(job, PEAK_USED, 480 << 10, SAMPLED);
	ASSERT_FIGURE(job, PEAK_CHARGED, 480 << 10, EXACT);
	accounting_done(&t);
	snapshot_done(&tick);
}

static void test_accounting__of_a_job_too_short_for_a_tick_takes_what_was_charged(void **state)
{
	struct cgroup_readings group = { 0 };
	struct accounting t = { .started_boot_ns = T0_NS };
	struct job job = { 0 };

	readings_set(&group, CGROUP_MEM_PEAK, 480 << 10);
	figures_of(&t, &(struct job_usage_sources){ .processes = 1, .group = &group },
	                   &job);
	ASSERT_FIGURE(job, PEAK_USED, 480 << 10, AT_MOST);
	assert_int_equal(job.figures[JOB_FIGURE_PEAK_AT].quality, QUALITY_MISSING);
	accounting_done(&t);
}

static void sample_memory(struct accounting *t, pid_t pid, uint64_t rss_bytes)
{
	struct snapshot snap = { .boot_ns = T0_NS };
	struct proc_snap *p = vec_push(&snap.procs, 1);

	p->s.id = (struct proc_id){ pid, 1 };
	readings_set(&p->s.r, PROC_RSS, rss_bytes);
	*vec_push(&snap.sums, 1) = (struct job_sum){ .procs = 1, .rss_bytes = rss_bytes };
	feed(t, &snap, 0);
	snapshot_done(&snap);
}

/* The kernel's mark lacks a few pages; what was there stays reported. */
static void test_accounting__takes_back_no_peak_that_a_tick_saw(void **state)
{
	struct job_usage_sources from = { .processes = 2,
		                           .living = 2,
		                           .births_are_reported = true };
	struct snapshot late = { .events_only = true };
	struct accounting t = { .started_boot_ns = T0_NS };
	struct job job = { 0 };

	(void)state;
	sample_memory(&t, 10, 720 << 10);
	figures_of(&t, &from, &job);
	ASSERT_FIGURE(job, PEAK_RSS, 720 << 10, AT_LEAST);
	add_end(&late, 10, NS_PER_MS, 700 << 10);
	add_end(&late, 11, NS_PER_MS, 100 << 10);
	feed(&t, &late, 0);
	from.living = 0;
	figures_of(&t, &from, &job);
	ASSERT_FIGURE(job, PEAK_RSS, 720 << 10, EXACT);
	assert_int_equal(job.largest_pid, 10);
	accounting_done(&t);
	snapshot_done(&late);
}

/* It lives on, so that no end reports its mark; those of small ones are reported after the last tick. */
static void test_accounting__may_name_a_leftover_process_the_largest(void **state)
{
	struct job_usage_sources from = { .processes = 2,
		                           .living = 1,
		                           .births_are_reported = true };
	struct snapshot late = { .events_only = true };
	struct accounting t = { .started_boot_ns = T0_NS };
	struct job job = { 0 };

	(void)state;
	sample_memory(&t, 10, 720 << 10);
	add_end(&late, 11, NS_PER_MS, 100 << 10);
	feed(&t, &late, 0);
	figures_of(&t, &from, &job);
	ASSERT_FIGURE(job, PEAK_RSS, 720 << 10, AT_LEAST);
	assert_int_equal(job.largest_pid, 10);
	accounting_done(&t);
	snapshot_done(&late);
}

static struct proc_readings readings_of(uint64_t cpu_ns, uint64_t rss_bytes, uint64_t peak_bytes)
{
	struct proc_readings r = { 0 };

	readings_set(&r, PROC_CPU_TIME, cpu_ns);
	readings_set(&r, PROC_RSS, rss_bytes);
	readings_set(&r, PROC_PEAK_RSS, peak_bytes);
	return r;
}

#define MIB_BYTES(n) ((uint64_t)(n) << 20)

static void test_accounting__counts_an_older_process_from_where_it_joined(void **state)
{
	struct accounting t = { .started_boot_ns = 100 * NS_PER_S, .counts_from_start = true };
	struct proc_readings begin = readings_of(2 * NS_PER_S, MIB_BYTES(11), MIB_BYTES(311));
	struct proc_readings later = readings_of(3 * NS_PER_S, MIB_BYTES(20), MIB_BYTES(311));
	struct snapshot snap = { .events_only = true };
	struct job job = { 0 };

	(void)state;
	accounting_begin_process(&t, (struct proc_id){ 10, 1 }, "old", &begin);
	accounting_take_usage(&t, (struct proc_id){ 10, 1 }, "old", &later);
	add_end(&snap, 10, 4 * NS_PER_S, MIB_BYTES(311));
	feed(&t, &snap, 0);
	figures_of(
		&t, &(struct job_usage_sources){ .processes = 1, .births_are_reported = true },
		&job);
	ASSERT_FIGURE(job, CPU, 2 * NS_PER_S, EXACT);
	ASSERT_FIGURE(job, PEAK_RSS, MIB_BYTES(20), AT_LEAST);
	snapshot_done(&snap);
	accounting_done(&t);
}

static void test_accounting__leaves_out_what_a_process_did_in_another_job(void **state)
{
	struct accounting t = { .started_boot_ns = NS_PER_S, .counts_from_start = true };
	const struct proc_id id = { 10, 500 };
	struct proc_readings gone = readings_of(2 * NS_PER_S, MIB_BYTES(11), MIB_BYTES(11));
	struct proc_readings back = readings_of(5 * NS_PER_S, MIB_BYTES(11), MIB_BYTES(311));
	struct proc_snap found = { .s = { .id = id, .r = back } };
	struct snapshot snap = { .events_only = true };
	struct job job = { 0 };

	(void)state;
	accounting_leave(&t, id, "worker", &gone);
	assert_true(accounting_take_back(&t, id));
	assert_false(accounting_take_back(&t, id));
	accounting_take_process(&t, &found);
	add_end(&snap, 10, 6 * NS_PER_S, MIB_BYTES(311));
	snap.events.at[0].id = id;
	feed(&t, &snap, 0);
	figures_of(
		&t, &(struct job_usage_sources){ .processes = 1, .births_are_reported = true },
		&job);
	ASSERT_FIGURE(job, CPU, 3 * NS_PER_S, AT_LEAST); /* it was found some time after it was back */
	ASSERT_FIGURE(job, PEAK_RSS, MIB_BYTES(11), AT_LEAST);
	snapshot_done(&snap);
	accounting_done(&t);
}

/* Its end comes before a tick finds it. */
static void test_accounting__does_not_count_an_end_in_full_that_came_back_unread(void **state)
{
	struct accounting t = { .started_boot_ns = NS_PER_S, .counts_from_start = true };
	const struct proc_id id = { 10, 500 };
	struct proc_readings gone = readings_of(2 * NS_PER_S, MIB_BYTES(11), MIB_BYTES(11));
	struct snapshot snap = { .events_only = true };
	struct job job = { 0 };

	(void)state;
	accounting_leave(&t, id, "worker", &gone);
	add_end(&snap, 10, 6 * NS_PER_S, MIB_BYTES(311));
	snap.events.at[0].id = id;
	feed(&t, &snap, 0);
	figures_of(
		&t, &(struct job_usage_sources){ .processes = 1, .births_are_reported = true },
		&job);
	ASSERT_FIGURE(job, CPU, 2 * NS_PER_S, AT_LEAST);
	ASSERT_FIGURE(job, PEAK_RSS, MIB_BYTES(11), AT_LEAST);
	snapshot_done(&snap);
	accounting_done(&t);
}

static void test_accounting__takes_the_mark_of_an_older_process_that_rose(void **state)
{
	struct accounting t = { .started_boot_ns = 100 * NS_PER_S, .counts_from_start = true };
	struct proc_readings begin = readings_of(0, MIB_BYTES(11), MIB_BYTES(311));
	struct snapshot snap = { .events_only = true };
	struct job job = { 0 };

	(void)state;
	accounting_begin_process(&t, (struct proc_id){ 10, 1 }, "old", &begin);
	add_end(&snap, 10, NS_PER_S, MIB_BYTES(400));
	feed(&t, &snap, 0);
	figures_of(
		&t, &(struct job_usage_sources){ .processes = 1, .births_are_reported = true },
		&job);
	ASSERT_FIGURE(job, PEAK_RSS, MIB_BYTES(400), EXACT);
	snapshot_done(&snap);
	accounting_done(&t);
}

/* A tick does not read the mark of each process. */
static void test_accounting__does_not_take_the_first_mark_of_an_older_process_for_a_rise(
	void **state)
{
	struct accounting t = { .started_boot_ns = 100 * NS_PER_S, .counts_from_start = true };
	struct proc_readings begin = readings_of(0, MIB_BYTES(11), 0);
	struct proc_readings later = readings_of(0, MIB_BYTES(12), MIB_BYTES(311));
	struct snapshot snap = { .events_only = true };
	struct job job = { 0 };

	(void)state;
	begin.present &= ~(UINT64_C(1) << PROC_PEAK_RSS);
	accounting_begin_process(&t, (struct proc_id){ 10, 1 }, "old", &begin);
	accounting_take_usage(&t, (struct proc_id){ 10, 1 }, "old", &later);
	add_end(&snap, 10, NS_PER_S, MIB_BYTES(311));
	feed(&t, &snap, 0);
	figures_of(
		&t, &(struct job_usage_sources){ .processes = 1, .births_are_reported = true },
		&job);
	ASSERT_FIGURE(job, PEAK_RSS, MIB_BYTES(12), AT_LEAST);
	snapshot_done(&snap);
	accounting_done(&t);
}

/* The marks of a plain user's processes are read in turns. */
static void test_accounting__takes_a_sample_that_is_newer_than_the_mark(void **state)
{
	struct accounting t = { 0 };
	struct proc_readings r = readings_of(0, MIB_BYTES(500), MIB_BYTES(40));
	struct job job = { .status = JOB_RUNNING };

	(void)state;
	accounting_take_usage(&t, (struct proc_id){ 10, 1 }, "grow", &r);
	figures_of(&t, &(struct job_usage_sources){ .processes = 1, .living = 1 }, &job);
	ASSERT_FIGURE(job, PEAK_RSS, MIB_BYTES(500), AT_LEAST);
	accounting_done(&t);
}

static void test_accounting__does_not_count_one_that_ended_as_left_behind(void **state)
{
	struct accounting t = { 0 };
	struct snapshot snap = { .events_only = true };
	struct job job = { 0 };

	(void)state;
	add_end(&snap, 10, NS_PER_S, MIB_BYTES(1));
	add_end(&snap, 11, NS_PER_S, MIB_BYTES(1));
	feed(&t, &snap, 0);
	figures_of(&t,
	                   &(struct job_usage_sources){ .processes = 4,
	                                                 .living = 2,
	                                                 .leaked = 3,
	                                                 .has_ended = true,
	                                                 .is_over = true,
	                                                 .births_are_reported = true },
	                   &job);
	ASSERT_FIGURE(job, EXITED, 2, EXACT);
	ASSERT_FIGURE(job, LEAKED, 2, EXACT);
	snapshot_done(&snap);
	accounting_done(&t);
}

RUN_TESTS(TEST(test_accounting__takes_a_sample_that_is_newer_than_the_mark),
          TEST(test_accounting__does_not_count_one_that_ended_as_left_behind),
          TEST(test_accounting__does_not_take_the_first_mark_of_an_older_process_for_a_rise),
          TEST(test_accounting__counts_an_older_process_from_where_it_joined),
          TEST(test_accounting__leaves_out_what_a_process_did_in_another_job),
          TEST(test_accounting__does_not_count_an_end_in_full_that_came_back_unread),
          TEST(test_accounting__takes_the_mark_of_an_older_process_that_rose),
          TEST(test_accounting__takes_back_no_peak_that_a_tick_saw),
          TEST(test_accounting__may_name_a_leftover_process_the_largest),
          TEST(test_accounting__never_uses_more_than_was_charged),
          TEST(test_accounting__of_a_job_too_short_for_a_tick_takes_what_was_charged),
          TEST(test_accounting__is_never_below_what_the_ticks_saw),
          TEST(test_accounting__distinguishes_outliving_processes_from_leftover_ones),
          TEST(test_accounting__does_not_fall_when_the_last_process_ends_before_the_job),
          TEST(test_accounting__is_exact_when_every_end_was_reported),
          TEST(test_accounting__knows_that_a_copy_had_more_before_it_ran_its_program),
          TEST(test_accounting__takes_the_last_of_equals_for_the_largest),
          TEST(test_accounting__calls_none_of_our_own_programs_the_largest),
          TEST(test_accounting__counts_a_failing_sheet_once),
          TEST(test_accounting__counts_it_once_when_its_command_is_reported_last),
          TEST(test_accounting__counts_a_program_of_ours_that_failed_by_itself),
          TEST(test_accounting__is_at_least_when_an_end_is_without_totals_or_somebody_lives),
          TEST(test_accounting__takes_late_totals_for_an_end_that_was_reported),
          TEST(test_accounting__believes_the_control_group_before_all),
          TEST(test_accounting__gives_the_totals_of_wait4_as_at_least),
          TEST(test_accounting__has_no_figure_for_what_was_not_reported),
          TEST(test_accounting__trusts_no_count_after_a_loss),
          TEST(test_accounting__remembers_when_all_held_most))
