/* SPDX-License-Identifier: MIT */
/* The probes as one instrument, on the live machine and on a root where nothing is. */
#include "engine/sampler.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"

static const struct proc_snap *find(const struct snapshot *snap, pid_t pid)
{
	vec_each(&snap->procs, p)
		if (p->s.id.pid == pid)
			return p;
	return NULL;
}

static void burn(uint64_t ns)
{
	uint64_t end = clock_process_cpu_ns() + ns;

	while (clock_process_cpu_ns() < end)
		;
}

static void test_sampler_tick__sees_this_very_process_and_what_it_burns(void **state)
{
	struct sampler_options options = { .no_bpf = *state != NULL };
	struct sampler *s;
	struct snapshot snap = { 0 };
	struct job_roster jobs = { 0 };
	struct err err;
	const struct proc_snap *me;
	double elapsed_s;

	assert_int_equal(sampler_open(&options, &s, &err), 0);
	sampler_tick(s, &jobs, &snap);
	assert_int_equal(snap.seq, 1);
	me = find(&snap, getpid());
	assert_non_null(me);
	assert_true(isnan(me->cpu_ratio)); /* nothing to compare with yet */
	burn(200 * NS_PER_MS);
	sampler_tick(s, &jobs, &snap);
	me = find(&snap, getpid());
	assert_non_null(me);
	/* A share of a core, whatever a busy machine left us; CPU time is known to 20 ms. */
	elapsed_s = (double)snap.elapsed_ns / 1e9;
	assert_true(me->cpu_ratio * elapsed_s > 0.17);
	assert_true(me->cpu_ratio * elapsed_s < (double)clock_process_cpu_ns() / 1e9 + 0.02);
	assert_int_equal(me->s.ppid, getppid());
	assert_true(readings_has(&me->s.r, PROC_RSS) && readings_has(&me->s.r, PROC_FDS));
	assert_true(readings_has(&snap.host, HOST_MEM_USED) &&
	            readings_has(&snap.host, HOST_SELF_RSS));
	assert_true(snap.self_cpu_ratio * elapsed_s > 0.17);
	sampler_close(s);
	snapshot_done(&snap);
}

static void test_sampler_tick__finds_nothing_on_an_empty_root_and_reports_why(void **state)
{
	char root[SCRATCH_DIR_MAX];
	struct sampler_options options = { .root = root };
	struct role_health health[ROLES_MAX];
	struct sampler *s;
	struct snapshot snap = { 0 };
	struct job_roster jobs = { 0 };
	struct err err;
	size_t roles;

	(void)state;
	assert_true(scratch_dir(root));
	assert_int_equal(sampler_open(&options, &s, &err), 0);
	for (int i = 0; i < 5; i++) { /* more than it takes to give way */
		sampler_tick(s, &jobs, &snap);
		assert_int_equal(snap.procs.len, 0);
		assert_int_equal(snap.host.present, 0);
	}
	roles = sampler_health(s, health);
	assert_true(roles >= 5);
	for (size_t i = 0; i < roles; i++) {
		assert_int_not_equal(health[i].health.state, PROBE_WORKS);
		assert_true(health[i].health.note[0] != '\0');
	}
	sampler_close(s);
	snapshot_done(&snap);
	rmdir(root);
}

static void test_sampler_open__refuses_a_root_that_is_not_there(void **state)
{
	struct sampler_options options = { .root = "/nonexistent/root" };
	struct sampler *s;
	struct err err;

	(void)state;
	assert_true(sampler_open(&options, &s, &err) < 0);
	assert_non_null(strstr(err.msg, "/nonexistent/root"));
}

static void test_sampler_add_event__is_in_the_next_snapshot(void **state)
{
	struct sampler_options options = { 0 };
	struct sampler *s;
	struct snapshot snap = { 0 };
	struct job_roster jobs = { 0 };
	struct err err;
	bool found = false;

	(void)state;
	assert_int_equal(sampler_open(&options, &s, &err), 0);
	sampler_add_event(s, EVENT_RECORDER, 7, "hello");
	sampler_tick(s, &jobs, &snap);
	vec_each(&snap.events, e)
		found |= e->kind == EVENT_RECORDER && e->count == 7 &&
		         memcmp(snapshot_string(&snap, e->text), "hello", 5) == 0;
	assert_true(found);
	sampler_close(s);
	snapshot_done(&snap);
}

static void test_sampler_tick__sees_a_life_of_two_milliseconds(void **state)
{
	struct sampler_options options = { .no_bpf = *state != NULL };
	struct sampler *s;
	struct snapshot snap = { 0 };
	struct job_roster jobs = { 0 };
	struct err err;
	bool born = false, ended = false;
	pid_t child;

	if (geteuid() != 0) {
		print_message("NOT RUN: needs root\n");
		skip();
	}
	assert_int_equal(sampler_open(&options, &s, &err), 0);
	sampler_tick(s, &jobs, &snap);
	child = fork();
	if (child == 0) {
		usleep(2000);
		_exit(3);
	}
	waitpid(child, NULL, 0);
	for (int i = 0; i < 200 && !ended; i++) {
		usleep(100000); /* the final counters come a moment after the child was reaped */
		sampler_tick(s, &jobs, &snap);
		vec_each(&snap.events, e) {
			born |= e->kind == EVENT_SPAWN && e->id.pid == child && e->ppid == getpid();
			ended |= e->kind == EVENT_EXIT && e->id.pid == child && e->exit_code == 3;
		}
	}
	assert_true(born);
	assert_true(ended);
	sampler_close(s);
	snapshot_done(&snap);
}

static int without_bpf = 1;

/* ---- probes that bring events ---------------------------------------------------------------- */

struct source {
	int fd;
	unsigned reads;
	bool loses;
};
static struct source sources[2];

static int source_open(struct source *source, void **ret_self)
{
	source->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	*ret_self = source;
	return 0;
}

static int first_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	(void)env;
	(void)err;
	return source_open(&sources[0], ret_self);
}

static int second_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	(void)env;
	(void)err;
	return source_open(&sources[1], ret_self);
}

static int source_read(void *self, struct sample *out, struct err *err)
{
	struct source *source = self;

	(void)err;
	source->reads++;
	sample_add_event(out, EVENT_MARK)->count = source == &sources[0] ? 1 : 2;
	if (source->loses)
		out->events_complete = false;
	return 0;
}

static int source_fd(const void *self)
{
	const struct source *source = self;

	return source->fd;
}

static void source_close(void *self)
{
	struct source *source = self;

	close(source->fd);
}

#define SOURCE .read = source_read, .fd = source_fd, .close = source_close
static const struct probe_ops births = { .name = "births",
	                                 .flags = PROBE_BRINGS_EVENTS | PROBE_REPORTS_BIRTHS |
	                                          PROBE_OPENS_EARLY,
	                                 .open = first_open,
	                                 SOURCE },
			      marks = { .name = "marks",
	                                .flags = PROBE_BRINGS_EVENTS,
	                                .open = second_open,
	                                SOURCE };
static const struct probe_ops *const births_tiers[] = { &births, NULL }, *const marks_tiers[] = {
	&marks, NULL
};
static const struct probe_role two_sources[] = { { "marks", NULL, marks_tiers },
	                                         { "births", NULL, births_tiers },
	                                         { 0 } };

static struct sampler *open_sources(bool jobs_only)
{
	struct sampler_options options = { .roles = two_sources, .jobs_only = jobs_only };
	struct sampler *s;
	struct err err;

	memset(sources, 0, sizeof sources);
	assert_int_equal(sampler_open(&options, &s, &err), 0);
	return s;
}

static void test_sampler_fds__are_those_of_all_sources_and_draining_reads_each(void **state)
{
	struct sampler *s = open_sources(false);
	int fds[ROLES_MAX];

	(void)state;
	assert_int_equal(sampler_fds(s, fds), 2);
	assert_int_equal(fds[0], sources[1].fd);
	assert_int_equal(fds[1], sources[0].fd);
	assert_int_equal(sampler_drain(s), 2);
	assert_int_equal(sources[0].reads + sources[1].reads, 2);
	assert_true(sampler_has(s, PROBE_REPORTS_BIRTHS));
	assert_false(sampler_has(s, PROBE_REPORTS_TOTALS));
	sampler_close(s);
}

static void test_sampler_open__opens_only_early_probes_for_the_recorder_of_a_job(void **state)
{
	struct sampler *s = open_sources(true);
	struct snapshot snap = { 0 };
	struct job_roster jobs = { 0 };
	int fds[ROLES_MAX];

	(void)state;
	assert_int_equal(sampler_fds(s, fds), 1);
	assert_int_equal(fds[0], sources[0].fd);
	sampler_tick(s, &jobs, &snap);
	assert_int_equal(sampler_fds(s, fds), 2);
	sampler_close(s);
	snapshot_done(&snap);
}

static void test_sampler_tick__is_incomplete_when_one_of_several_sources_lost_events(void **state)
{
	struct sampler *s = open_sources(false);
	struct snapshot snap = { 0 };
	struct job_roster jobs = { 0 };

	(void)state;
	sampler_tick(s, &jobs, &snap);
	assert_true(snap.events_complete);
	sources[1].loses = true; /* it is read before the other, which loses nothing */
	sampler_tick(s, &jobs, &snap);
	assert_false(snap.events_complete);
	sampler_close(s);
	snapshot_done(&snap);
}

RUN_TESTS(TEST(test_sampler_tick__sees_this_very_process_and_what_it_burns),
          cmocka_unit_test_prestate(test_sampler_tick__sees_this_very_process_and_what_it_burns,
                                    &without_bpf),
          TEST(test_sampler_tick__finds_nothing_on_an_empty_root_and_reports_why),
          TEST(test_sampler_open__refuses_a_root_that_is_not_there),
          TEST(test_sampler_add_event__is_in_the_next_snapshot),
          TEST(test_sampler_tick__sees_a_life_of_two_milliseconds),
          cmocka_unit_test_prestate(test_sampler_tick__sees_a_life_of_two_milliseconds,
                                    &without_bpf),
          TEST(test_sampler_fds__are_those_of_all_sources_and_draining_reads_each),
          TEST(test_sampler_open__opens_only_early_probes_for_the_recorder_of_a_job),
          TEST(test_sampler_tick__is_incomplete_when_one_of_several_sources_lost_events))
