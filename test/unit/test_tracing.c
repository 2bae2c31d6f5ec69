/* SPDX-License-Identifier: MIT */
#include "engine/tracing.h"

#include <errno.h>

#include "check.h"

static struct {
	unsigned tries, fails; /* so many of the next tries fail */
	pid_t last;
} fake;

static int fake_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	(void)env;
	(void)err;
	*ret_self = &fake;
	return 0;
}

static int fake_trace(void *self, const pid_t *pids, size_t n, bool from_exec, struct err *err)
{
	(void)self;
	(void)from_exec;
	fake.tries++;
	fake.last = pids[n - 1];
	if (!fake.fails)
		return 0;
	fake.fails--;
	return err_set(err, ENOMEM, "no memory");
}

static void fake_close(void *self)
{
	(void)self;
}

static const struct probe_ops fake_probe = { .name = "fake",
	                                     .flags = PROBE_TRACES,
	                                     .open = fake_open,
	                                     .trace = fake_trace,
	                                     .close = fake_close };
static const struct probe_ops *const tiers[] = { &fake_probe, NULL };
static const struct probe_role roles[] = { { "syscalls", NULL, tiers }, { 0 } };

static struct sampler *open_fake(unsigned fails, pid_t member)
{
	const struct sampler_options options = { .roles = roles };
	struct sampler *s;
	struct err err;

	fake.tries = 0;
	fake.fails = fails;
	assert_int_equal(sampler_open(&options, &s, &err), 0);
	*vec_push(&sampler_request(s)->focus, PROCS_MAX) = (struct proc_id){ member, 1 };
	return s;
}

static void test_tracing_follow__tries_again_what_failed_until_it_is_traced(void **state)
{
	struct sampler *s = open_fake(1, 100);
	struct jobs *jobs = jobs_new(NULL);
	struct tracing t = { 0 };

	assert_false(tracing_follow(&t, s, jobs));
	assert_string_equal(t.why_not, "no memory");
	assert_true(tracing_follow(&t, s, jobs));
	assert_int_equal(fake.tries, 2);
	assert_true(tracing_follow(&t, s, jobs)); /* it is traced */
	assert_int_equal(fake.tries, 2);
	tracing_done(&t);
	jobs_free(jobs);
	sampler_close(s);
}

static void test_tracing_follow__gives_up_in_the_end_but_tries_others(void **state)
{
	struct sampler *s = open_fake(1000, 100);
	struct jobs *jobs = jobs_new(NULL);
	struct tracing t = { 0 };

	assert_false(tracing_follow(&t, s, jobs));
	for (int tick = 0; tick < 20; tick++)
		assert_true(tracing_follow(&t, s, jobs)); /* the same reason is no news */
	assert_int_equal(fake.tries, 3);
	fake.fails = 0;
	*vec_push(&sampler_request(s)->focus, PROCS_MAX) = (struct proc_id){ 101, 1 };
	assert_true(tracing_follow(&t, s, jobs));
	assert_int_equal(fake.tries, 4);
	assert_int_equal(fake.last, 101);
	tracing_done(&t);
	jobs_free(jobs);
	sampler_close(s);
}

static void test_tracing_follow__leaves_out_what_another_recorder_writes_into_our_store(
	void **state)
{
	struct sampler *s = open_fake(0, 100);
	struct jobs *jobs = jobs_new(NULL);
	struct watched_job *other = jobs_add(jobs, &(struct job){ .is_stored_by_other = true });
	struct tracing t = { 0 };

	members_add(&jobs->members, &jobs->roster, (struct proc_id){ 100, 1 },
	            (struct job_ref){ .job = other->row->job.handle });
	assert_true(tracing_follow(&t, s, jobs));
	assert_int_equal(fake.tries, 0);
	*vec_push(&sampler_request(s)->focus, PROCS_MAX) = (struct proc_id){ 101, 1 };
	assert_true(tracing_follow(&t, s, jobs));
	assert_int_equal(fake.tries, 1);
	assert_int_equal(fake.last, 101);
	tracing_done(&t);
	jobs_free(jobs);
	sampler_close(s);
}

RUN_TESTS(TEST(test_tracing_follow__tries_again_what_failed_until_it_is_traced),
          TEST(test_tracing_follow__gives_up_in_the_end_but_tries_others),
          TEST(test_tracing_follow__leaves_out_what_another_recorder_writes_into_our_store))
