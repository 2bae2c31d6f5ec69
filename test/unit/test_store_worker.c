/* SPDX-License-Identifier: MIT */
#include "serve/store_worker.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "base/clock.h"
#include "base/mem.h"
#include "check.h"

#define REQUESTS_MAX 8

struct fixture;

struct job_of_one {
	struct fixture *fx;
	char name;
	struct store_request *request;
};

struct fixture {
	struct loop *loop;
	struct store_worker *worker;
	struct job_of_one jobs[REQUESTS_MAX];
	unsigned taken, awaited;
	struct buf worked; /* the thread's until all is done */
	struct buf reported, freed;
	sem_t begun, go;
	pthread_t loop_thread;
};

static int setup(void **state)
{
	struct fixture *fx = xcalloc(1, sizeof *fx);
	struct err err;

	sem_init(&fx->begun, 0, 0);
	sem_init(&fx->go, 0, 0);
	fx->loop_thread = pthread_self();
	*state = fx;
	if (loop_new(&fx->loop, &err) < 0)
		return -1;
	fx->worker = store_worker_new(fx->loop, 1000);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fx = *state;

	store_worker_free(fx->worker);
	loop_free(fx->loop);
	buf_done(&fx->worked);
	buf_done(&fx->reported);
	buf_done(&fx->freed);
	free(fx);
	return 0;
}

static int work(void *self, const struct history_cancel *cancel, struct json *result,
                struct err *err)
{
	struct job_of_one *job = self;

	(void)err;
	if (pthread_equal(pthread_self(), job->fx->loop_thread) ||
	    cancel->until_ns < clock_mono_ns())
		buf_puts(&job->fx->worked, "wrong: ");
	buf_putc(&job->fx->worked, job->name);
	json_strn(result, &job->name, 1);
	return 0;
}

static int wait_for_go(void *self, const struct history_cancel *cancel, struct json *result,
                       struct err *err)
{
	struct job_of_one *job = self;

	sem_post(&job->fx->begun);
	sem_wait(&job->fx->go);
	return work(self, cancel, result, err);
}

static int wait_for_call(void *self, const struct history_cancel *cancel, struct json *result,
                         struct err *err)
{
	struct job_of_one *job = self;

	(void)result;
	sem_post(&job->fx->begun);
	while (!atomic_load(&cancel->is_cancelled))
		usleep(1000);
	return err_set(err, ETIME, "called back");
}

static int find_nothing(void *self, const struct history_cancel *cancel, struct json *result,
                        struct err *err)
{
	(void)self, (void)cancel;
	json_begin_object(result);
	return err_set(err, ENOENT, "nothing is there");
}

static void note_done(void *self, int r, const struct buf *result, const struct err *err)
{
	struct job_of_one *job = self;
	struct fixture *fx = job->fx;

	assert_true(pthread_equal(pthread_self(), fx->loop_thread));
	buf_printf(&fx->reported, "%s ", r < 0 ? err->msg : result->at);
	if (--fx->awaited == 0)
		loop_stop(fx->loop);
}

static void note_freed(void *self)
{
	struct job_of_one *job = self;

	buf_putc(&job->fx->freed, job->name);
}

static struct store_request *take(struct fixture *fx, char name, uint32_t uid, store_worker_fn fn)
{
	struct job_of_one *job = &fx->jobs[fx->taken++];
	struct store_worker_task task = { job, uid, fn, note_done, note_freed };
	struct err err;

	*job = (struct job_of_one){ .fx = fx, .name = name };
	assert_int_equal(store_worker_take(fx->worker, &task, &job->request, &err), 0);
	return job->request;
}

static void run_until_answered(struct fixture *fx, unsigned n)
{
	struct err err;

	fx->awaited = n;
	assert_int_equal(loop_run(fx->loop, &err), 0);
}

static size_t threads_now(void)
{
	char states[THREADS_MAX + 1];

	thread_states(getpid(), states);
	return strlen(states);
}

static void test_store_worker_take__works_beside_the_loop_and_reports_to_it(void **state)
{
	struct fixture *fx = *state;
	size_t threads;

	take(fx, 'a', 1, work);
	run_until_answered(fx, 1);
	threads = threads_now();
	take(fx, 'x', 1, find_nothing);
	take(fx, 'b', 1, work);
	run_until_answered(fx, 2);
	assert_int_equal(threads_now(), threads); /* the same one */
	assert_string_equal(fx->worked.at, "ab");
	assert_non_null(strstr(fx->reported.at, "\"a\" "));
	assert_non_null(strstr(fx->reported.at, "\"b\" "));
	assert_non_null(strstr(fx->reported.at, "nothing is there "));
	assert_int_equal(fx->freed.len, 3);
}

static void test_store_worker_new__has_no_thread_before_the_first_request(void **state)
{
	size_t before = threads_now();
	struct fixture *fx = *state;
	struct store_worker *second = store_worker_new(fx->loop, 1000);

	assert_int_equal(threads_now(), before);
	store_worker_free(second);
}

static void test_store_worker_take__gives_every_user_a_turn(void **state)
{
	struct fixture *fx = *state;

	take(fx, '0', 1, wait_for_go);
	sem_wait(&fx->begun);
	for (char name = 'a'; name <= 'c'; name++)
		take(fx, name, 1, work);
	take(fx, 'A', 2, work);
	take(fx, 'B', 2, work);
	take(fx, 'X', 3, work);
	sem_post(&fx->go);
	run_until_answered(fx, 7);
	assert_string_equal(fx->worked.at, "0AXaBbc");
}

static void test_store_worker_drop__forgets_one_that_waits_and_calls_back_one_that_runs(
	void **state)
{
	struct fixture *fx = *state;
	struct store_request *runs = take(fx, 'r', 1, wait_for_call), *waits;

	sem_wait(&fx->begun);
	waits = take(fx, 'w', 1, work);
	take(fx, 'a', 1, work);
	store_worker_drop(waits);
	assert_string_equal(fx->freed.at, "w");
	store_worker_drop(runs);
	run_until_answered(fx, 1);
	assert_string_equal(fx->worked.at, "a");
	assert_string_equal(fx->reported.at, "\"a\" ");
	assert_int_equal(fx->freed.len, 3);
}

static void test_store_worker_drop__forgets_one_that_is_done_and_not_reported(void **state)
{
	struct fixture *fx = *state;
	struct store_request *first = take(fx, 'a', 1, work);

	take(fx, 'b', 1, wait_for_go);
	sem_wait(&fx->begun); /* so the first is done */
	store_worker_drop(first);
	sem_post(&fx->go);
	run_until_answered(fx, 1);
	assert_string_equal(fx->reported.at, "\"b\" ");
	assert_int_equal(fx->freed.len, 2);
}

static void test_store_worker_free__calls_back_what_runs_and_frees_all(void **state)
{
	struct fixture *fx = *state;

	take(fx, 'a', 1, wait_for_call);
	take(fx, 'b', 1, wait_for_call);
	sem_wait(&fx->begun);
	store_worker_free(fx->worker);
	fx->worker = NULL;
	assert_int_equal(fx->freed.len, 2);
	assert_int_equal(fx->reported.len, 0);
	assert_int_equal(sem_trywait(&fx->begun), -1); /* the second was never begun */
}

#define WORKER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(WORKER_TEST(test_store_worker_new__has_no_thread_before_the_first_request),
          WORKER_TEST(test_store_worker_take__works_beside_the_loop_and_reports_to_it),
          WORKER_TEST(test_store_worker_take__gives_every_user_a_turn),
          WORKER_TEST(test_store_worker_drop__forgets_one_that_waits_and_calls_back_one_that_runs),
          WORKER_TEST(test_store_worker_drop__forgets_one_that_is_done_and_not_reported),
          WORKER_TEST(test_store_worker_free__calls_back_what_runs_and_frees_all))
