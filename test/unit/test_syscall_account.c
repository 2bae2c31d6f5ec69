/* SPDX-License-Identifier: MIT */
#include "job/syscall_account.h"

#include "check.h"
#include "model_kit.h"

#define FIRST ((struct proc_id){ 100, 1000 })
#define SECOND ((struct proc_id){ 200, 2000 })

struct bench {
	struct job_roster jobs;
	struct members members;
	job_handle job;
	struct syscall_account a;
	struct sample s;
	struct snapshot snap;
};

static void begin(struct bench *b)
{
	*b = (struct bench){ .s = kit_sample(0) };
	b->job = job_roster_add(&b->jobs, "job", "type", WALL0_NS);
	job_roster_assign(&b->jobs, FIRST, (struct job_ref){ .job = b->job });
	job_roster_assign(&b->jobs, SECOND, (struct job_ref){ .job = b->job, .sheet = 3 });
}

static void done(struct bench *b)
{
	syscall_account_done(&b->a);
	sample_done(&b->s);
	snapshot_done(&b->snap);
	members_done(&b->members);
	job_roster_done(&b->jobs);
}

static void put(struct bench *b, struct proc_id id, syscall_id call, uint64_t count, uint64_t ns)
{
	struct syscall_use *use = vec_push(&b->s.syscalls, SYSCALL_USES_MAX);

	*use = (struct syscall_use){ .id = id,
		                     .c = { .call = call, .count = count, .ns = ns } };
}

/* What was put is taken, and the snapshot is that of so many ns after the first. */
static void show(struct bench *b, uint64_t after_ns)
{
	syscall_account_take(&b->a, &b->jobs, &b->members, &b->s);
	sample_reset(&b->s);
	snapshot_reset(&b->snap);
	b->snap.boot_ns = T0_NS + after_ns;
	syscall_account_show(&b->a, &b->jobs, &b->snap);
}

static const struct syscall_owner *find(const struct bench *b, pid_t pid, uint32_t sheet)
{
	vec_each(&b->snap.callers, of)
		if (of->id.pid == pid && (pid || of->sheet == sheet))
			return of;
	return NULL;
}

static uint64_t count_of(const struct bench *b, const struct syscall_owner *of)
{
	return of ? b->snap.syscalls.at[of->at].count : 0;
}

static void test_account__sums_up_processes_sheets_and_jobs(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	put(&b, SECOND, 5, 10, 1);
	put(&b, FIRST, 5, 7, 1);
	put(&b, (struct proc_id){ 999, 1 }, 5, 1000, 1); /* of no job */
	show(&b, 0);
	assert_int_equal(b.snap.callers.len, 4);
	assert_int_equal(b.snap.callers.at[0].id.pid, FIRST.pid); /* processes first, by pid */
	assert_int_equal(count_of(&b, snapshot_find_caller(&b.snap, FIRST)), 7);
	assert_int_equal(count_of(&b, snapshot_find_caller(&b.snap, SECOND)), 10);
	assert_null(snapshot_find_caller(&b.snap, (struct proc_id){ 999, 1 }));
	assert_int_equal(count_of(&b, find(&b, 0, 3)), 10);
	assert_int_equal(count_of(&b, find(&b, 0, 0)), 17);
	done(&b);
}

static void test_account__shows_what_has_not_changed_at_ticks_only(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	put(&b, FIRST, 5, 7, 1);
	show(&b, 0);
	assert_true(find(&b, FIRST.pid, 0)->has_changed);
	show(&b, NS_PER_S);
	assert_false(find(&b, FIRST.pid, 0)->has_changed);
	snapshot_reset(&b.snap);
	b.snap.events_only = true;
	syscall_account_show(&b.a, &b.jobs, &b.snap);
	assert_int_equal(b.snap.callers.len, 0);
	done(&b);
}

static void test_account__adds_what_is_reported_after_the_end_of_a_process(void **state)
{
	struct bench b;
	struct event *e;

	(void)state;
	begin(&b);
	put(&b, FIRST, 5, 7, 1);
	e = sample_add_event(&b.s, EVENT_EXIT);
	e->id = FIRST;
	e->boot_ns = T0_NS;
	show(&b, 0);
	put(&b, FIRST, 5, 1, 1);
	show(&b, NS_PER_S);
	assert_int_equal(count_of(&b, find(&b, FIRST.pid, 0)), 8);
	show(&b, 10 * NS_PER_S);
	show(&b, 11 * NS_PER_S);
	assert_null(find(&b, FIRST.pid, 0));
	assert_int_equal(count_of(&b, find(&b, 0, 0)), 8);
	done(&b);
}

static struct job figures(const struct bench *b)
{
	struct job job = job_roster_get(&b->jobs, b->job)->job;

	syscall_account_figures(&b->a, true, &job);
	return job;
}

static void test_figures__are_exact_unless_calls_were_lost(void **state)
{
	struct bench b;
	struct job job;

	(void)state;
	begin(&b);
	job = figures(&b);
	assert_int_equal(job.figures[JOB_FIGURE_SYSCALLS].quality, QUALITY_MISSING);
	put(&b, FIRST, 5, 7, 100);
	put(&b, FIRST, 6, 1, 50);
	show(&b, 0);
	job = figures(&b);
	assert_int_equal(job.figures[JOB_FIGURE_SYSCALLS].quality, QUALITY_EXACT);
	assert_int_equal(job.figures[JOB_FIGURE_SYSCALLS].value, 8);
	assert_int_equal(job.figures[JOB_FIGURE_SYSCALL_TIME].value, 150);
	b.s.syscalls_lost = true;
	show(&b, NS_PER_S);
	job = figures(&b);
	assert_int_equal(job.figures[JOB_FIGURE_SYSCALLS].quality, QUALITY_AT_LEAST);
	done(&b);
}

static void put_by_pid(struct bench *b, pid_t pid, uint64_t count)
{
	put(b, (struct proc_id){ .pid = pid }, 5, count, 1);
	b->s.syscalls.at[b->s.syscalls.len - 1].traced = FIRST;
}

static void test_account__finds_processes_by_their_pid(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	map_put(&b.members.living, (uint64_t)SECOND.pid, SECOND.start_ticks);
	*vec_push(&b.members.graves, 1) = (struct member_grave){ FIRST, T0_NS };
	put_by_pid(&b, FIRST.pid, 1);
	put_by_pid(&b, SECOND.pid, 10);
	put_by_pid(&b, 999, 100); /* no tick saw it: it counts for the job alone */
	show(&b, 0);
	assert_int_equal(count_of(&b, snapshot_find_caller(&b.snap, FIRST)), 1);
	assert_int_equal(count_of(&b, snapshot_find_caller(&b.snap, SECOND)), 10);
	assert_int_equal(count_of(&b, find(&b, 0, 3)), 10);
	assert_int_equal(count_of(&b, find(&b, 0, 0)), 111);
	assert_int_equal(b.snap.callers.len, 4);
	done(&b);
}

static void test_figures__have_an_upper_bound_of_the_time_where_counting_slows_calls_down(void **state)
{
	struct bench b;
	struct job job;

	(void)state;
	begin(&b);
	b.s.syscalls_are_slow = true;
	put(&b, FIRST, 5, 7, 100);
	show(&b, 0);
	job = figures(&b);
	assert_int_equal(job.figures[JOB_FIGURE_SYSCALLS].quality, QUALITY_EXACT);
	assert_int_equal(job.figures[JOB_FIGURE_SYSCALL_TIME].quality, QUALITY_AT_MOST);
	b.s.syscalls_lost = true;
	show(&b, NS_PER_S);
	job = figures(&b);
	assert_int_equal(job.figures[JOB_FIGURE_SYSCALLS].quality, QUALITY_AT_LEAST);
	assert_int_equal(job.figures[JOB_FIGURE_SYSCALL_TIME].quality, QUALITY_SAMPLED);
	done(&b);
}

RUN_TESTS(TEST(test_account__sums_up_processes_sheets_and_jobs),
          TEST(test_account__shows_what_has_not_changed_at_ticks_only),
          TEST(test_account__adds_what_is_reported_after_the_end_of_a_process),
          TEST(test_account__finds_processes_by_their_pid),
          TEST(test_figures__are_exact_unless_calls_were_lost),
          TEST(test_figures__have_an_upper_bound_of_the_time_where_counting_slows_calls_down))
