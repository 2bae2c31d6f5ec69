/* SPDX-License-Identifier: MIT */
#include "job/flight_account.h"

#include <signal.h>
#include <sys/syscall.h>

#include "check.h"
#include "model_kit.h"

#define EXIT_1 (1 << 8)
#define STILL_RUNS 0

struct bench {
	struct job_roster jobs;
	job_handle job;
	struct flight_account a;
	struct sample s;
	struct snapshot snap;
};

static struct proc_id id_of(int n)
{
	return (struct proc_id){ 100 + n, 1000 + (uint64_t)n };
}

static void begin(struct bench *b)
{
	*b = (struct bench){ .s = kit_sample(0) };
	b->job = job_roster_add(&b->jobs, "job", "type", WALL0_NS);
	for (int i = 0; i < 200; i++)
		job_roster_assign(&b->jobs, id_of(i), (struct job_ref){ .job = b->job });
}

static void done(struct bench *b)
{
	flight_account_done(&b->a);
	sample_done(&b->s);
	snapshot_done(&b->snap);
	job_roster_done(&b->jobs);
}

static void end(struct bench *b, struct proc_id id, int wait_status, pid_t tid)
{
	struct flight_piece *piece = vec_push(&b->s.flights, FLIGHT_PIECES_MAX);
	struct flight_call *c;

	*piece = (struct flight_piece){ .id = id,
		                        .wait_status = wait_status,
		                        .keep = 64,
		                        .at = (uint32_t)b->s.flight_calls.len,
		                        .len = 1 };
	c = vec_push(&b->s.flight_calls, FLIGHT_SAMPLE_CALLS_MAX);
	*c = (struct flight_call){ .entered_ns = (uint64_t)tid,
		                   .left_ns = 1000,
		                   .call = SYS_getpid,
		                   .tid = tid,
		                   .result = id.pid };
}

static void show(struct bench *b, uint64_t after_ns)
{
	b->s.boot_ns = T0_NS + after_ns;
	flight_account_take(&b->a, &b->jobs, &b->s);
	sample_reset(&b->s);
	snapshot_reset(&b->snap);
	b->snap.boot_ns = T0_NS + after_ns;
	b->snap.wall_ns = WALL0_NS + after_ns;
	flight_account_show(&b->a, &b->jobs, &b->snap);
}

static void test_flights__of_threads_become_one_list(void **state)
{
	struct bench b;
	const char *text;

	begin(&b);
	end(&b, id_of(1), SIGSEGV, 2);
	show(&b, 0);
	assert_int_equal(b.snap.flights.len, 1);
	end(&b, id_of(1), SIGSEGV, 1); /* this thread ended a moment later */
	show(&b, NS_PER_MS);
	assert_int_equal(b.snap.flights.len, 1);
	assert_int_equal(b.snap.flights.at[0].id.pid, id_of(1).pid);
	text = snapshot_string(&b.snap, b.snap.flights.at[0].calls);
	assert_non_null(strstr(text, ",1,\"getpid\""));
	assert_true(strstr(text, ",1,\"getpid\"") < strstr(text, ",2,\"getpid\""));
	show(&b, 2 * NS_PER_MS);
	assert_int_equal(b.snap.flights.len, 0);
	done(&b);
}

static void test_flights__of_processes_of_no_job_are_left_out(void **state)
{
	struct bench b;

	begin(&b);
	end(&b, (struct proc_id){ 9, 9 }, SIGSEGV, 1);
	show(&b, 0);
	assert_int_equal(b.snap.flights.len, 0);
	done(&b);
}

static const struct flight *find(const struct bench *b, int n)
{
	vec_each(&b->snap.flights, f)
		if (f->id.pid == id_of(n).pid)
			return f;
	return NULL;
}

static const char *calls_of(const struct bench *b, int n)
{
	return snapshot_string(&b->snap, find(b, n)->calls);
}

/* Scripts have many children that fail as they should; those must not displace a crash. */
static void test_flights__kept_are_the_first_and_the_latest_of_each_kind(void **state)
{
	struct bench b;
	size_t kept = 0;

	begin(&b);
	end(&b, id_of(0), SIGSEGV, 1);
	for (int i = 1; i < 40; i++)
		end(&b, id_of(i), EXIT_1, 1);
	show(&b, 0);
	vec_each(&b.snap.flights, f)
		kept += f->calls.len != 0;
	assert_int_equal(kept, 1 + FLIGHT_KEPT);
	assert_int_not_equal(find(&b, 0)->calls.len, 0);
	assert_int_not_equal(find(&b, 4)->calls.len, 0);
	assert_int_equal(find(&b, 5)->calls.len, 0);
	assert_int_equal(find(&b, 39 - (FLIGHT_KEPT - FLIGHT_KEPT_FIRST))->calls.len, 0);
	assert_int_not_equal(find(&b, 40 - (FLIGHT_KEPT - FLIGHT_KEPT_FIRST))->calls.len, 0);
	/* One that is stored gives way to a later one. */
	end(&b, id_of(40), EXIT_1, 1);
	show(&b, 10 * NS_PER_S);
	assert_int_equal(b.snap.flights.len, 2);
	assert_int_equal(find(&b, 40 - (FLIGHT_KEPT - FLIGHT_KEPT_FIRST))->calls.len, 0);
	assert_int_not_equal(find(&b, 40)->calls.len, 0);
	done(&b);
}

/* A leftover may wait for ever, or be killed as the job ends: then its last calls are those before that. */
static void test_flights__of_one_that_still_ran_give_way_to_those_of_its_end(void **state)
{
	struct bench b;

	begin(&b);
	end(&b, id_of(1), STILL_RUNS, 11);
	end(&b, id_of(2), STILL_RUNS, 12);
	show(&b, 0);
	assert_int_equal(b.snap.flights.len, 2);
	end(&b, id_of(1), SIGTERM, 13);
	end(&b, id_of(1), STILL_RUNS, 14); /* was on its way */
	show(&b, NS_PER_MS);
	assert_int_equal(b.snap.flights.len, 1);
	assert_null(strstr(calls_of(&b, 1), ",11,\"getpid\""));
	assert_non_null(strstr(calls_of(&b, 1), ",13,\"getpid\""));
	assert_null(strstr(calls_of(&b, 1), ",14,\"getpid\""));
	done(&b);
}

static void test_flights__of_those_that_still_run_displace_no_others(void **state)
{
	struct bench b;
	size_t kept = 0;

	begin(&b);
	end(&b, id_of(0), SIGSEGV, 1);
	end(&b, id_of(1), EXIT_1, 1);
	for (int i = 2; i < 100; i++)
		end(&b, id_of(i), STILL_RUNS, 1);
	end(&b, id_of(50), SIGKILL, 2); /* in the same sample */
	show(&b, 0);
	vec_each(&b.snap.flights, f)
		kept += f->calls.len != 0;
	assert_int_equal(kept, 3 + FLIGHT_KEPT);
	assert_int_not_equal(find(&b, 0)->calls.len, 0);
	assert_int_not_equal(find(&b, 1)->calls.len, 0);
	assert_int_not_equal(find(&b, 50)->calls.len, 0);
	done(&b);
}

RUN_TESTS(TEST(test_flights__of_threads_become_one_list),
          TEST(test_flights__of_processes_of_no_job_are_left_out),
          TEST(test_flights__kept_are_the_first_and_the_latest_of_each_kind),
          TEST(test_flights__of_one_that_still_ran_give_way_to_those_of_its_end),
          TEST(test_flights__of_those_that_still_run_displace_no_others))
