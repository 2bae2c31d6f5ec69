/* SPDX-License-Identifier: MIT */
#include "model/snapshot.h"

#include <math.h>

#include "check.h"
#include "model_kit.h"

/* Two samples and what was made of them; released together. */
struct pair {
	struct sample prev, cur;
	struct snapshot snap;
	struct job_roster jobs;
};

static struct pair pair_of(uint64_t elapsed_ns)
{
	return (struct pair){ .prev = kit_sample(0), .cur = kit_sample(elapsed_ns) };
}

static const struct proc_snap *pair_build(struct pair *p)
{
	snapshot_build(&p->prev, &p->cur, &p->jobs,
	               &(struct snapshot_origin){ .seq = 2, .started_boot_ns = T0_NS }, &p->snap);
	return p->snap.procs.at;
}

static void pair_done(struct pair *p)
{
	sample_done(&p->prev);
	sample_done(&p->cur);
	snapshot_done(&p->snap);
	job_roster_done(&p->jobs);
}

static void assert_near(double a, double b)
{
	assert_true(fabs(a - b) < 1e-9);
}

static void test_snapshot__takes_rates_over_the_time_that_passed(void **state)
{
	struct pair p = pair_of(2 * NS_PER_S);
	const struct proc_snap *got;

	(void)state;
	readings_set(&kit_proc_cpu(&p.prev, 10, 500, 4 * NS_PER_S)->r, PROC_READ_BYTES, 1000);
	readings_set(&kit_proc_cpu(&p.cur, 10, 500, 5 * NS_PER_S)->r, PROC_READ_BYTES, 9000);
	got = pair_build(&p);
	assert_int_equal(p.snap.elapsed_ns, 2 * NS_PER_S);
	assert_near(got->cpu_ratio, 0.5);
	assert_near(got->read_bytes_per_s, 4000);
	assert_true(isnan(got->write_bytes_per_s));
	assert_int_equal(got->age_ns, T0_NS + 2 * NS_PER_S - 5 * NS_PER_S);
	pair_done(&p);
}

static void test_snapshot__knows_no_rate_on_the_first_tick(void **state)
{
	struct sample cur = kit_sample(0);
	struct snapshot snap = { 0 };

	(void)state;
	kit_proc_cpu(&cur, 10, 500, 4 * NS_PER_S);
	kit_build(NULL, &cur, &snap);
	assert_int_equal(snap.elapsed_ns, 0);
	assert_true(isnan(snap.procs.at[0].cpu_ratio));
	assert_true(isnan(snap.cpu_busy_ratio));
	assert_int_equal(snap.events.len, 0);
	sample_done(&cur);
	snapshot_done(&snap);
}

static void test_snapshot__knows_no_rate_when_a_counter_goes_backwards(void **state)
{
	struct pair p = pair_of(NS_PER_S);

	(void)state;
	kit_proc_cpu(&p.prev, 10, 500, 4 * NS_PER_S);
	kit_proc_cpu(&p.cur, 10, 500, 3 * NS_PER_S);
	assert_true(isnan(pair_build(&p)->cpu_ratio));
	pair_done(&p);
}

static void test_snapshot__knows_no_rate_when_a_reading_was_absent_before(void **state)
{
	struct pair p = pair_of(NS_PER_S);

	(void)state;
	kit_proc(&p.prev, 10, 500);
	kit_proc_cpu(&p.cur, 10, 500, 3 * NS_PER_S);
	assert_true(isnan(pair_build(&p)->cpu_ratio));
	pair_done(&p);
}

static void test_snapshot__takes_no_rate_across_a_reused_pid(void **state)
{
	struct pair p = pair_of(NS_PER_S);

	(void)state;
	kit_proc_cpu(&p.prev, 10, 500, NS_PER_S);
	kit_proc_cpu(&p.cur, 10, 600,
	             9 * NS_PER_S); /* older than the previous sample, but another life */
	assert_true(isnan(pair_build(&p)->cpu_ratio));
	pair_done(&p);
}

static void test_snapshot__counts_the_whole_life_of_what_was_born_since(void **state)
{
	struct pair p = pair_of(NS_PER_S);

	(void)state;
	kit_proc_cpu(&p.prev, 10, 500, NS_PER_S);
	kit_proc_cpu(&p.cur, 10, 100050,
	             NS_PER_S / 4); /* the same pid, half a second into the interval */
	assert_near(pair_build(&p)->cpu_ratio, 0.25);
	pair_done(&p);
}

static void test_snapshot__shows_no_process_with_more_than_all_cpus(void **state)
{
	struct pair p = pair_of(NS_PER_S / 20);

	(void)state;
	readings_set(&kit_proc_cpu(&p.prev, 10, 500, NS_PER_S)->r, PROC_THREADS, 4);
	readings_set(&kit_proc_cpu(&p.cur, 10, 500, NS_PER_S + 110 * NS_PER_MS)->r, PROC_THREADS,
	             4);
	p.cur.cpus = 2;
	assert_near(pair_build(&p)->cpu_ratio, 2);
	pair_done(&p);
}

/* The start time is rounded down to a tick of 10 ms, so what begins 3 ms after a sample seems to
 * begin before it. */
static void test_snapshot__takes_a_birth_in_the_tick_of_the_sample_for_a_birth_since(void **state)
{
	struct pair p = pair_of(NS_PER_S);

	(void)state;
	p.prev.boot_ns += 3 * NS_PER_MS;
	p.cur.boot_ns += 3 * NS_PER_MS;
	kit_proc_cpu(&p.cur, 10, 100000, NS_PER_S / 2);
	assert_near(pair_build(&p)->cpu_ratio, 0.5);
	pair_done(&p);
}

static void test_snapshot__pairs_processes_when_others_come_and_go(void **state)
{
	struct pair p = pair_of(NS_PER_S);
	const struct proc_snap *got;

	(void)state;
	for (pid_t pid = 1; pid <= 100; pid++)
		if (pid % 3)
			kit_proc_cpu(&p.prev, pid, 500, 0);
	for (pid_t pid = 1; pid <= 100; pid++)
		if (pid % 5)
			kit_proc_cpu(&p.cur, pid, 500, (uint64_t)pid * NS_PER_MS);
	got = pair_build(&p);
	assert_int_equal(p.snap.procs.len, 80);
	for (size_t i = 0; i < p.snap.procs.len; i++) {
		if (got[i].s.id.pid % 3)
			assert_near(got[i].cpu_ratio, got[i].s.id.pid / 1000.0);
		else
			assert_true(isnan(got[i].cpu_ratio));
	}
	pair_done(&p);
}

static void test_snapshot__derives_used_memory_and_cpu_shares(void **state)
{
	struct pair p = pair_of(NS_PER_S);

	(void)state;
	readings_set(&p.cur.host, HOST_MEM_TOTAL, 1000);
	readings_set(&p.cur.host, HOST_MEM_AVAILABLE, 400);
	readings_set(&p.prev.host, HOST_CPU_TOTAL, 0);
	readings_set(&p.prev.host, HOST_CPU_IDLE, 0);
	readings_set(&p.prev.host, HOST_CPU_IOWAIT, 0);
	readings_set(&p.cur.host, HOST_CPU_TOTAL, 200);
	readings_set(&p.cur.host, HOST_CPU_IDLE, 120);
	readings_set(&p.cur.host, HOST_CPU_IOWAIT, 20);
	pair_build(&p);
	assert_int_equal(p.snap.host.value[HOST_MEM_USED], 600);
	assert_near(p.snap.cpu_busy_ratio, 0.3);
	assert_near(p.snap.cpu_iowait_ratio, 0.1);
	assert_true(isnan(p.snap.cpu_steal_ratio));
	assert_true(isnan(p.snap.psi_io_ratio));
	pair_done(&p);
}

static void test_snapshot__leaves_shares_unknown_when_a_part_is_absent_or_falls(void **state)
{
	struct pair p = pair_of(NS_PER_S);

	(void)state;
	readings_set(&p.prev.host, HOST_CPU_TOTAL, 100);
	readings_set(&p.prev.host, HOST_CPU_IDLE, 50);
	readings_set(&p.cur.host, HOST_CPU_TOTAL, 200);
	readings_set(&p.cur.host, HOST_CPU_IDLE, 40);
	readings_set(&p.cur.host, HOST_MEM_TOTAL, 1000);
	readings_set(&p.cur.host, HOST_MEM_AVAILABLE, 1001);
	pair_build(&p);
	assert_true(isnan(p.snap.cpu_busy_ratio));
	assert_false(readings_has(&p.snap.host, HOST_MEM_USED));
	pair_done(&p);
}

static void test_snapshot__gives_processes_and_events_to_their_job(void **state)
{
	struct pair p = pair_of(NS_PER_S);
	struct proc_id mine = { 10, 500 };
	const struct proc_snap *got;
	int32_t job;

	(void)state;
	job = job_roster_add(&p.jobs, "j1", "make", WALL0_NS);
	job_roster_begin_sheet(&p.jobs, p.jobs.rows.at[job], 3, "", WALL0_NS);
	job_roster_assign(&p.jobs, mine, (struct job_ref){ job, 3 });
	kit_proc(&p.cur, 10, 500);
	kit_proc(&p.cur, 11, 500);
	sample_add_event(&p.cur, EVENT_SIGNAL)->id = mine;
	got = pair_build(&p);
	assert_int_equal(got[0].job, job);
	assert_int_equal(got[0].sheet, 3);
	assert_int_equal(got[1].job, -1);
	assert_int_equal(p.snap.events.at[0].job, job);
	assert_int_equal(p.snap.events.at[0].sheet, 3);
	pair_done(&p);
}

/* A start is known to a tick, and the tick may have begun before the job. */
static void test_snapshot__lets_nothing_of_a_job_happen_before_it_began(void **state)
{
	struct pair p = pair_of(NS_PER_S);
	uint64_t began_ns = WALL0_NS + 507 * NS_PER_MS;
	struct event e = { 0 };
	int32_t job;

	(void)state;
	job = job_roster_add(&p.jobs, "j1", "make", began_ns);
	job_roster_assign(&p.jobs, (struct proc_id){ 10, 100050 }, (struct job_ref){ job, 0 });
	kit_proc(&p.cur, 10, 100050);
	p.cur.events_complete = false;
	pair_build(&p);
	assert_int_equal(kit_events(&p.snap, EVENT_SPAWN, &e), 1);
	assert_true(e.inferred);
	assert_int_equal(e.wall_ns, began_ns);
	assert_int_equal(e.boot_ns, T0_NS + 507 * NS_PER_MS);
	assert_int_equal(snapshot_hold_to_job(&p.snap.jobs.at[0], began_ns - NS_PER_S),
	                 began_ns - NS_PER_S); /* not by the grain of a clock */
	pair_done(&p);
}

static void test_snapshot__does_not_give_a_reused_pid_to_the_job(void **state)
{
	struct pair p = pair_of(NS_PER_S);
	int32_t job;

	(void)state;
	job = job_roster_add(&p.jobs, "j1", "make", WALL0_NS);
	job_roster_assign(&p.jobs, (struct proc_id){ 10, 500 }, (struct job_ref){ job, 1 });
	kit_proc(&p.cur, 10, 501);
	assert_int_equal(pair_build(&p)->job, -1);
	pair_done(&p);
}

static void test_snapshot__counts_zombies_of_jobs_only(void **state)
{
	struct pair p = pair_of(NS_PER_S);
	int32_t job;

	(void)state;
	job = job_roster_add(&p.jobs, "j1", "make", WALL0_NS);
	job_roster_assign(&p.jobs, (struct proc_id){ 10, 500 }, (struct job_ref){ job, 1 });
	job_roster_assign(&p.jobs, (struct proc_id){ 12, 500 }, (struct job_ref){ job, 1 });
	kit_proc(&p.cur, 10, 500)->state = 'Z';
	kit_proc(&p.cur, 11, 500)->state = 'Z';
	kit_proc(&p.cur, 12, 500)->state = 'S';
	pair_build(&p);
	assert_int_equal(p.snap.zombies.len, 1);
	assert_int_equal(p.snap.zombies.at[0], 10);
	pair_done(&p);
}

static void test_snapshot__sums_what_the_processes_of_a_job_take(void **state)
{
	struct pair p = pair_of(NS_PER_S);
	int32_t job, idle;

	(void)state;
	job = job_roster_add(&p.jobs, "j1", "make", WALL0_NS);
	idle = job_roster_add(&p.jobs, "j2", "make", WALL0_NS);
	job_roster_assign(&p.jobs, (struct proc_id){ 10, 500 }, (struct job_ref){ job, 0 });
	job_roster_assign(&p.jobs, (struct proc_id){ 12, 500 }, (struct job_ref){ job, 0 });
	kit_proc_cpu(&p.prev, 10, 500, 0);
	for (pid_t pid = 10; pid <= 12; pid++)
		readings_set(&kit_proc_cpu(&p.cur, pid, 500, NS_PER_S / 2)->r, PROC_RSS, 4096);
	pair_build(&p);
	assert_int_equal(p.snap.sums.at[job].procs, 2);
	assert_int_equal(p.snap.sums.at[job].rss_bytes, 8192);
	assert_int_equal(p.snap.sums.at[idle].procs, 0);
	pair_done(&p);
}

static void test_snapshot__leaves_other_processes_out_when_only_jobs_are_asked_for(void **state)
{
	struct pair p = pair_of(NS_PER_S);
	struct proc_id mine = { 10, 500 };
	struct event last;
	int32_t job;

	(void)state;
	job = job_roster_add(&p.jobs, "j1", "make", WALL0_NS);
	job_roster_assign(&p.jobs, mine, (struct job_ref){ job, 0 });
	kit_proc(&p.cur, 9, 500);
	kit_proc(&p.cur, 10, 500);
	sample_add_event(&p.cur, EVENT_SIGNAL)->id = (struct proc_id){ 9, 500 };
	sample_add_event(&p.cur, EVENT_SIGNAL)->id = mine;
	sample_add_event(&p.cur, EVENT_LOSS);
	snapshot_build(&p.prev, &p.cur, &p.jobs, &(struct snapshot_origin){ .jobs_only = true },
	               &p.snap);
	assert_int_equal(p.snap.procs.len, 1);
	assert_int_equal(p.snap.procs.at[0].s.id.pid, 10);
	assert_int_equal(kit_events(&p.snap, EVENT_SIGNAL, &last), 1);
	assert_int_equal(kit_events(&p.snap, EVENT_LOSS, &last), 1);
	pair_done(&p);
}

static void test_snapshot__has_the_sheets_that_are_not_stored(void **state)
{
	struct pair p = pair_of(NS_PER_S);
	int32_t job;

	(void)state;
	job = job_roster_add(&p.jobs, "j1", "make", WALL0_NS);
	job_roster_begin_sheet(&p.jobs, p.jobs.rows.at[job], 1, "old", WALL0_NS)->is_shown = true;
	job_roster_begin_sheet(&p.jobs, p.jobs.rows.at[job], 2, "new", WALL0_NS);
	pair_build(&p);
	assert_int_equal(p.snap.sheets.len, 1);
	assert_string_equal(p.snap.sheets.at[0].label, "new");
	pair_done(&p);
}

static void test_snapshot__owns_its_text(void **state)
{
	struct pair p = pair_of(NS_PER_S);
	const struct proc_snap *got;

	(void)state;
	kit_proc(&p.cur, 10, 500);
	got = pair_build(&p);
	sample_done(&p.cur);
	assert_memory_equal(snapshot_string(&p.snap, got->s.command), "worker --fast",
	                    got->s.command.len);
	assert_string_equal(snapshot_string(&p.snap, (struct text_ref){ 0 }), "");
	pair_done(&p);
}

static void test_snapshot__forgets_the_last_one_when_its_memory_is_used_again(void **state)
{
	struct pair p = pair_of(NS_PER_S);
	struct sample empty = kit_sample(2 * NS_PER_S);

	(void)state;
	kit_proc(&p.cur, 10, 500)->state = 'Z';
	sample_add_event(&p.cur, EVENT_OOM);
	pair_build(&p);
	kit_build(NULL, &empty, &p.snap);
	assert_int_equal(p.snap.procs.len + p.snap.events.len + p.snap.jobs.len +
	                         p.snap.zombies.len + p.snap.text.len,
	                 0);
	pair_done(&p);
}

static void test_snapshot_build_events__has_the_events_and_nothing_else(void **state)
{
	struct sample cur = kit_sample(NS_PER_S);
	struct snapshot snap = { 0 };
	struct job_roster none = { 0 };

	(void)state;
	kit_proc(&cur, 10, 500);
	sample_add_event(&cur, EVENT_EXIT)->boot_ns = T0_NS + NS_PER_MS;
	snapshot_build_events(&cur, &none,
	                      &(struct snapshot_origin){ .seq = 7, .started_boot_ns = T0_NS },
	                      &snap);
	assert_true(snap.events_only);
	assert_int_equal(snap.procs.len, 0);
	assert_int_equal(snap.events.len, 1);
	assert_int_equal(snap.events.at[0].wall_ns, WALL0_NS + NS_PER_MS);
	snapshot_done(&snap);
	sample_done(&cur);
}

RUN_TESTS(TEST(test_snapshot__lets_nothing_of_a_job_happen_before_it_began),
          TEST(test_snapshot_build_events__has_the_events_and_nothing_else),
          TEST(test_snapshot__takes_rates_over_the_time_that_passed),
          TEST(test_snapshot__knows_no_rate_on_the_first_tick),
          TEST(test_snapshot__knows_no_rate_when_a_counter_goes_backwards),
          TEST(test_snapshot__knows_no_rate_when_a_reading_was_absent_before),
          TEST(test_snapshot__takes_no_rate_across_a_reused_pid),
          TEST(test_snapshot__counts_the_whole_life_of_what_was_born_since),
          TEST(test_snapshot__takes_a_birth_in_the_tick_of_the_sample_for_a_birth_since),
          TEST(test_snapshot__shows_no_process_with_more_than_all_cpus),
          TEST(test_snapshot__pairs_processes_when_others_come_and_go),
          TEST(test_snapshot__derives_used_memory_and_cpu_shares),
          TEST(test_snapshot__leaves_shares_unknown_when_a_part_is_absent_or_falls),
          TEST(test_snapshot__gives_processes_and_events_to_their_job),
          TEST(test_snapshot__does_not_give_a_reused_pid_to_the_job),
          TEST(test_snapshot__counts_zombies_of_jobs_only), TEST(test_snapshot__owns_its_text),
          TEST(test_snapshot__sums_what_the_processes_of_a_job_take),
          TEST(test_snapshot__leaves_other_processes_out_when_only_jobs_are_asked_for),
          TEST(test_snapshot__has_the_sheets_that_are_not_stored),
          TEST(test_snapshot__forgets_the_last_one_when_its_memory_is_used_again))
