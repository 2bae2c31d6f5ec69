/* SPDX-License-Identifier: MIT */
#include "model/snapshot_scope.h"

#include "check.h"
#include "model_kit.h"

/* Two users, each with a job of one process and a process of no job; the second's job has a
 * zombie, too. */
#define ADA 1000
#define BOB 1001

struct fixture {
	struct job_roster jobs;
	struct sample sample;
	struct snapshot snap;
};

static void add_proc(struct fixture *fx, pid_t pid, uint32_t uid, int32_t job, char state)
{
	struct proc_sample *p = kit_proc(&fx->sample, pid, 5);
	struct event *e = sample_add_event(&fx->sample, EVENT_SPAWN);

	p->uid = e->uid = uid;
	p->state = state;
	e->id = p->id;
	e->boot_ns = T0_NS;
	if (job >= 0)
		job_roster_assign(&fx->jobs, p->id, (struct job_ref){ job, 3 });
}

static struct fixture fixture_new(void)
{
	struct fixture fx = { .sample = kit_sample(0) };
	struct event *e;

	job_roster_add(&fx.jobs, "ada-1", "make", 1);
	job_roster_add(&fx.jobs, "bob-1", "make", 1);
	fx.jobs.rows.at[0]->job.uid = ADA;
	fx.jobs.rows.at[1]->job.uid = BOB;
	job_roster_begin_sheet(&fx.jobs, fx.jobs.rows.at[0], 3, "", 1);
	job_roster_begin_sheet(&fx.jobs, fx.jobs.rows.at[1], 3, "", 1);
	add_proc(&fx, 10, ADA, 0, 'S');
	add_proc(&fx, 11, ADA, -1, 'S');
	add_proc(&fx, 12, BOB, 1, 'S');
	add_proc(&fx, 13, BOB, 1, 'Z');
	add_proc(&fx, 14, BOB, -1, 'S');
	e = sample_add_event(&fx.sample, EVENT_PROBE);
	e->boot_ns = T0_NS;
	snapshot_build(NULL, &fx.sample, &fx.jobs, &(struct snapshot_origin){ .seq = 1 }, &fx.snap);
	*(struct anomaly *)vec_push(&fx.snap.anomalies, 8) = (struct anomaly){
		.kind = ANOMALY_ZOMBIE, .id = { 13, 5 }, .job = 1
	};
	*(struct anomaly *)vec_push(&fx.snap.anomalies,
	                            8) = (struct anomaly){ .kind = ANOMALY_MEMORY_PRESSURE,
		                                           .job = -1 };
	return fx;
}

static void fixture_done(struct fixture *fx)
{
	snapshot_done(&fx->snap);
	sample_done(&fx->sample);
	job_roster_done(&fx->jobs);
}

static bool has_job_of(void *self, const struct job *job)
{
	return job->uid == *(uint32_t *)self;
}

static bool has_process_of(void *self, const struct job *job, uint32_t uid)
{
	return uid == *(uint32_t *)self || (job && has_job_of(self, job));
}

/* Bits of the records of a snapshot that a scope has, the first the lowest. */
#define BITS(list, has)                                                                            \
	({                                                                                         \
		unsigned bits_ = 0;                                                                \
		for (size_t i = 0; i < (list)->len; i++)                                           \
			bits_ |= (unsigned)(has) << i;                                             \
		bits_;                                                                             \
	})

struct bits {
	unsigned jobs, procs, events, anomalies, zombies;
};

static struct bits bits_of(const struct snapshot *snap, const struct snapshot_scope *scope)
{
	return (struct bits){
		.jobs = BITS(&snap->jobs, snapshot_scope_has_job(scope, snap, (int32_t)i)),
		.procs = BITS(&snap->procs,
		              snapshot_scope_has_proc(scope, snap, &snap->procs.at[i])),
		.events = BITS(&snap->events,
		               snapshot_scope_has_event(scope, snap, &snap->events.at[i])),
		.anomalies = BITS(&snap->anomalies,
		                  snapshot_scope_has_anomaly(scope, snap, &snap->anomalies.at[i])),
		.zombies = BITS(&snap->zombies,
		                snapshot_scope_has_zombie(scope, snap, snap->zombies.at[i])),
	};
}

static unsigned count_bits(unsigned bits)
{
	return (unsigned)__builtin_popcount(bits);
}

static void test_snapshot_scope__has_the_jobs_and_processes_of_one_user(void **state)
{
	struct fixture fx = fixture_new();
	uint32_t me = BOB;
	const struct snapshot_scope scope = { &me, has_job_of, has_process_of };
	struct bits bits = bits_of(&fx.snap, &scope);
	struct snapshot_counts n = snapshot_scope_count(&scope, &fx.snap);

	(void)state;
	assert_int_equal(bits.jobs, 2);   /* bob-1 */
	assert_int_equal(bits.procs, 28); /* 12, 13, 14 */
	assert_int_equal(count_bits(bits.events), 3);
	assert_int_equal(bits.anomalies, 3);
	assert_int_equal(bits.zombies, 1);
	assert_int_equal(n.procs, 3);
	assert_int_equal(n.zombies, 1);
	assert_int_equal(n.running_jobs, 1);
	assert_int_equal(n.active_sheets, 1);
	fixture_done(&fx);
}

static void test_snapshot_scope__has_nothing_of_other_users(void **state)
{
	struct fixture fx = fixture_new();
	uint32_t me = ADA;
	const struct snapshot_scope scope = { &me, has_job_of, has_process_of };
	struct bits bits = bits_of(&fx.snap, &scope);

	(void)state;
	assert_int_equal(bits.procs, 3);
	assert_int_equal(bits.zombies, 0);
	assert_int_equal(bits.anomalies, 2); /* the machine's */
	me = 7;
	bits = bits_of(&fx.snap, &scope);
	assert_int_equal(bits.procs, 0);
	assert_int_equal(bits.jobs, 0);
	assert_int_equal(bits.events, 0);
	assert_int_equal(snapshot_scope_count(&scope, &fx.snap).running_jobs, 0);
	fixture_done(&fx);
}

static void test_snapshot_scope__leaves_out_jobs_that_others_record(void **state)
{
	struct fixture fx = fixture_new();
	struct bits bits;

	(void)state;
	fx.snap.jobs.at[0].is_stored_by_other = true;
	bits = bits_of(&fx.snap, &snapshot_scope_ours);
	assert_int_equal(bits.jobs, 2);
	assert_int_equal(bits.procs, 30);             /* all but 10 */
	assert_int_equal(count_bits(bits.events), 5); /* the probe's too */
	fixture_done(&fx);
}

static void test_snapshot_scope__has_the_processes_of_a_recorder_that_is_gone(void **state)
{
	struct fixture fx = fixture_new();
	struct job *job = &fx.snap.jobs.at[0];
	unsigned all;

	(void)state;
	all = bits_of(&fx.snap, NULL).procs;
	job->is_stored_by_other = true;
	job->status = JOB_LOST;
	assert_int_equal(bits_of(&fx.snap, &snapshot_scope_ours).jobs, 2);
	assert_int_equal(bits_of(&fx.snap, &snapshot_scope_ours).procs, all);
	job->status = JOB_COMPLETED; /* what happened before is stored */
	job->ended_ns = UINT64_MAX;
	assert_int_equal(bits_of(&fx.snap, &snapshot_scope_ours).procs, all);
	assert_int_equal(count_bits(bits_of(&fx.snap, &snapshot_scope_ours).events), 5);
	fixture_done(&fx);
}

static void test_snapshot_scope__of_everything_is_null(void **state)
{
	struct fixture fx = fixture_new();
	struct bits bits = bits_of(&fx.snap, NULL);

	(void)state;
	assert_int_equal(bits.jobs, 3);
	assert_int_equal(bits.procs, 31);
	assert_int_equal(bits.anomalies, 3);
	assert_int_equal(snapshot_scope_count(NULL, &fx.snap).procs, 5);
	fixture_done(&fx);
}

RUN_TESTS(TEST(test_snapshot_scope__has_the_jobs_and_processes_of_one_user),
          TEST(test_snapshot_scope__has_nothing_of_other_users),
          TEST(test_snapshot_scope__leaves_out_jobs_that_others_record),
          TEST(test_snapshot_scope__has_the_processes_of_a_recorder_that_is_gone),
          TEST(test_snapshot_scope__of_everything_is_null))
