/* SPDX-License-Identifier: MIT */
/* The probes as one instrument, on the live machine and on a root where nothing is. */
#include "engine/sampler.h"

#include <math.h>
#include <stdio.h>
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
	struct jobtab jobs = { 0 };
	struct err err;
	const struct proc_snap *me;

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
	assert_true(me->cpu_ratio > 0.1 && me->cpu_ratio < 1.5);
	assert_int_equal(me->s.ppid, getppid());
	assert_true(readings_has(&me->s.r, PROC_RSS) && readings_has(&me->s.r, PROC_FDS));
	assert_true(readings_has(&snap.host, HOST_MEM_USED) &&
	            readings_has(&snap.host, HOST_SELF_RSS));
	assert_true(snap.self_cpu_ratio > 0.1);
	sampler_close(s);
	snapshot_done(&snap);
}

static void test_sampler_tick__finds_nothing_on_an_empty_root_and_says_why(void **state)
{
	char root[] = "/tmp/proctor-empty-XXXXXX";
	struct sampler_options options = { .root = mkdtemp(root) };
	struct role_health health[ROLES_MAX];
	struct sampler *s;
	struct snapshot snap = { 0 };
	struct jobtab jobs = { 0 };
	struct err err;
	size_t roles;

	(void)state;
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
	struct jobtab jobs = { 0 };
	struct err err;
	bool found = false;

	(void)state;
	assert_int_equal(sampler_open(&options, &s, &err), 0);
	sampler_add_event(s, EVENT_RECORDER, 7, "hello");
	sampler_tick(s, &jobs, &snap);
	vec_each(&snap.events, e)
		found |= e->kind == EVENT_RECORDER && e->count == 7 &&
		         memcmp(snapshot_text(&snap, e->text), "hello", 5) == 0;
	assert_true(found);
	sampler_close(s);
	snapshot_done(&snap);
}

static void test_sampler_tick__sees_a_life_of_two_milliseconds(void **state)
{
	struct sampler_options options = { .no_bpf = *state != NULL };
	struct sampler *s;
	struct snapshot snap = { 0 };
	struct jobtab jobs = { 0 };
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

RUN_TESTS(TEST(test_sampler_tick__sees_this_very_process_and_what_it_burns),
          cmocka_unit_test_prestate(test_sampler_tick__sees_this_very_process_and_what_it_burns,
                                    &without_bpf),
          TEST(test_sampler_tick__finds_nothing_on_an_empty_root_and_says_why),
          TEST(test_sampler_open__refuses_a_root_that_is_not_there),
          TEST(test_sampler_add_event__is_in_the_next_snapshot),
          TEST(test_sampler_tick__sees_a_life_of_two_milliseconds),
          cmocka_unit_test_prestate(test_sampler_tick__sees_a_life_of_two_milliseconds,
                                    &without_bpf))
