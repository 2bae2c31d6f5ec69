/* SPDX-License-Identifier: MIT */
#include "model/snapshot.h"

#include "check.h"
#include "model_kit.h"

/* Two users, each with a job of one process and a process of no job; the second's job has a
 * zombie, too. */
#define ADA 1000
#define BOB 1001

struct scene {
	struct jobtab jobs;
	struct sample sample;
	struct snapshot snap;
};

static void add_proc(struct scene *sc, pid_t pid, uint32_t uid, int32_t job, char state)
{
	struct proc_sample *p = kit_proc(&sc->sample, pid, 5);
	struct event *e = sample_add_event(&sc->sample, EVENT_SPAWN);

	p->uid = e->uid = uid;
	p->state = state;
	e->id = p->id;
	e->boot_ns = T0_NS;
	if (job >= 0)
		jobtab_assign(&sc->jobs, p->id, (struct job_ref){ job, 3 });
}

static struct scene scene_new(void)
{
	struct scene sc = { .sample = kit_sample(0) };
	struct event *e;

	jobtab_add(&sc.jobs, "ada-1", "make", 1);
	jobtab_add(&sc.jobs, "bob-1", "make", 1);
	sc.jobs.jobs.at[0].uid = ADA;
	sc.jobs.jobs.at[1].uid = BOB;
	jobtab_begin_sheet(&sc.jobs, 0, 3, "", 1);
	jobtab_begin_sheet(&sc.jobs, 1, 3, "", 1);
	add_proc(&sc, 10, ADA, 0, 'S');
	add_proc(&sc, 11, ADA, -1, 'S');
	add_proc(&sc, 12, BOB, 1, 'S');
	add_proc(&sc, 13, BOB, 1, 'Z');
	add_proc(&sc, 14, BOB, -1, 'S');
	e = sample_add_event(&sc.sample, EVENT_PROBE);
	e->boot_ns = T0_NS;
	snapshot_build(NULL, &sc.sample, &sc.jobs, &(struct snapshot_origin){ .seq = 1 }, &sc.snap);
	*(struct anomaly *)vec_push(&sc.snap.anomalies, 8) = (struct anomaly){
		.kind = ANOMALY_ZOMBIE, .id = { 13, 5 }, .job = 1
	};
	*(struct anomaly *)vec_push(&sc.snap.anomalies,
	                            8) = (struct anomaly){ .kind = ANOMALY_MEMORY_PRESSURE,
		                                           .job = -1 };
	return sc;
}

static void scene_done(struct scene *sc)
{
	snapshot_done(&sc->snap);
	sample_done(&sc->sample);
	jobtab_done(&sc->jobs);
}

static bool has_job_of(void *self, const struct job *job)
{
	return job->uid == *(uint32_t *)self;
}

static bool has_process_of(void *self, const struct job *job, uint32_t uid)
{
	return uid == *(uint32_t *)self || (job && has_job_of(self, job));
}

static void test_snapshot_scope__leaves_one_user_what_is_his(void **state)
{
	struct scene sc = scene_new();
	uint32_t me = BOB;

	(void)state;
	snapshot_keep(&sc.snap, &(struct snapshot_scope){ &me, has_job_of, has_process_of });
	assert_int_equal(sc.snap.jobs.len, 1);
	assert_string_equal(sc.snap.jobs.at[0].id, "bob-1");
	assert_int_equal(sc.snap.sums.at[0].procs, 2);
	assert_int_equal(sc.snap.procs.len, 3);
	assert_int_equal(sc.snap.procs.at[0].s.id.pid, 12);
	assert_int_equal(sc.snap.procs.at[0].job, 0); /* where its job is now */
	assert_int_equal(sc.snap.procs.at[2].job, -1);
	assert_int_equal(sc.snap.events.len, 3);
	assert_int_equal(sc.snap.events.at[0].job, 0);
	assert_int_equal(sc.snap.zombies.len, 1);
	assert_int_equal(sc.snap.sheets.len, 1);
	assert_int_equal(sc.snap.sheets.at[0].job, 0);
	assert_int_equal(sc.snap.running_jobs, 1);
	assert_int_equal(sc.snap.active_sheets, 1);
	assert_int_equal(sc.snap.anomalies.len, 2);
	assert_int_equal(sc.snap.anomalies.at[0].job, 0);
	scene_done(&sc);
}

static void test_snapshot_scope__says_nothing_of_others(void **state)
{
	struct scene sc = scene_new();
	uint32_t me = ADA;

	(void)state;
	snapshot_keep(&sc.snap, &(struct snapshot_scope){ &me, has_job_of, has_process_of });
	assert_int_equal(sc.snap.procs.len, 2);
	assert_int_equal(sc.snap.zombies.len, 0);
	assert_int_equal(sc.snap.anomalies.len, 1); /* the machine's */
	me = 7;
	snapshot_keep(&sc.snap, &(struct snapshot_scope){ &me, has_job_of, has_process_of });
	assert_int_equal(sc.snap.procs.len, 0);
	assert_int_equal(sc.snap.jobs.len, 0);
	assert_int_equal(sc.snap.events.len, 0);
	assert_int_equal(sc.snap.running_jobs, 0);
	scene_done(&sc);
}

static bool is_ours(void *self, const struct job *job)
{
	(void)self;
	return !job->is_foreign;
}

static bool has_process_of_ours(void *self, const struct job *job, uint32_t uid)
{
	(void)uid;
	return !job || is_ours(self, job);
}

static void test_snapshot_scope__leaves_out_jobs_that_others_record(void **state)
{
	struct scene sc = scene_new();

	(void)state;
	sc.snap.jobs.at[0].is_foreign = true;
	snapshot_keep(&sc.snap, &(struct snapshot_scope){ NULL, is_ours, has_process_of_ours });
	assert_int_equal(sc.snap.jobs.len, 1);
	assert_int_equal(sc.snap.procs.len, 4);
	assert_int_equal(sc.snap.procs.at[0].s.id.pid, 11);
	assert_int_equal(sc.snap.events.len, 5); /* the probe's too */
	assert_int_equal(sc.snap.sheets.len, 1);
	scene_done(&sc);
}

RUN_TESTS(TEST(test_snapshot_scope__leaves_one_user_what_is_his),
          TEST(test_snapshot_scope__says_nothing_of_others),
          TEST(test_snapshot_scope__leaves_out_jobs_that_others_record))
