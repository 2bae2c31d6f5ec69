/* SPDX-License-Identifier: MIT */
#include "serve/store_worker.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "base/clock.h"
#include "base/mem.h"
#include "check.h"

#define REQUESTS_MAX 8

struct scene;

struct job_of_one {
	struct scene *sc;
	char name;
	struct store_request *request;
};

struct scene {
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
	struct scene *sc = xcalloc(1, sizeof *sc);
	struct err err;

	sem_init(&sc->begun, 0, 0);
	sem_init(&sc->go, 0, 0);
	sc->loop_thread = pthread_self();
	*state = sc;
	if (loop_new(&sc->loop, &err) < 0)
		return -1;
	sc->worker = store_worker_new(sc->loop, 1000);
	return 0;
}

static int teardown(void **state)
{
	struct scene *sc = *state;

	store_worker_free(sc->worker);
	loop_free(sc->loop);
	buf_done(&sc->worked);
	buf_done(&sc->reported);
	buf_done(&sc->freed);
	free(sc);
	return 0;
}

static int work(void *self, const struct history_cancel *cancel, struct json *result,
                struct err *err)
{
	struct job_of_one *job = self;

	(void)err;
	if (pthread_equal(pthread_self(), job->sc->loop_thread) ||
	    cancel->until_ns < clock_mono_ns())
		buf_puts(&job->sc->worked, "wrong: ");
	buf_putc(&job->sc->worked, job->name);
	json_strn(result, &job->name, 1);
	return 0;
}

static int wait_for_go(void *self, const struct history_cancel *cancel, struct json *result,
                       struct err *err)
{
	struct job_of_one *job = self;

	sem_post(&job->sc->begun);
	sem_wait(&job->sc->go);
	return work(self, cancel, result, err);
}

static int wait_for_call(void *self, const struct history_cancel *cancel, struct json *result,
                         struct err *err)
{
	struct job_of_one *job = self;

	(void)result;
	sem_post(&job->sc->begun);
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
	struct scene *sc = job->sc;

	assert_true(pthread_equal(pthread_self(), sc->loop_thread));
	buf_printf(&sc->reported, "%s ", r < 0 ? err->msg : result->at);
	if (--sc->awaited == 0)
		loop_stop(sc->loop);
}

static void note_freed(void *self)
{
	struct job_of_one *job = self;

	buf_putc(&job->sc->freed, job->name);
}

static struct store_request *take(struct scene *sc, char name, uint32_t uid, store_worker_fn fn)
{
	struct job_of_one *job = &sc->jobs[sc->taken++];
	struct store_worker_task task = { job, uid, fn, note_done, note_freed };
	struct err err;

	*job = (struct job_of_one){ .sc = sc, .name = name };
	assert_int_equal(store_worker_take(sc->worker, &task, &job->request, &err), 0);
	return job->request;
}

static void run_until_told(struct scene *sc, unsigned n)
{
	struct err err;

	sc->awaited = n;
	assert_int_equal(loop_run(sc->loop, &err), 0);
}

static size_t threads_now(void)
{
	char states[THREADS_MAX + 1];

	thread_states(getpid(), states);
	return strlen(states);
}

static void test_store_worker_take__works_beside_the_loop_and_reports_to_it(void **state)
{
	struct scene *sc = *state;
	size_t threads;

	take(sc, 'a', 1, work);
	run_until_told(sc, 1);
	threads = threads_now();
	take(sc, 'x', 1, find_nothing);
	take(sc, 'b', 1, work);
	run_until_told(sc, 2);
	assert_int_equal(threads_now(), threads); /* the same one */
	assert_string_equal(sc->worked.at, "ab");
	assert_non_null(strstr(sc->reported.at, "\"a\" "));
	assert_non_null(strstr(sc->reported.at, "\"b\" "));
	assert_non_null(strstr(sc->reported.at, "nothing is there "));
	assert_int_equal(sc->freed.len, 3);
}

static void test_store_worker_new__has_no_thread_before_the_first_request(void **state)
{
	size_t before = threads_now();
	struct scene *sc = *state;
	struct store_worker *second = store_worker_new(sc->loop, 1000);

	assert_int_equal(threads_now(), before);
	store_worker_free(second);
}

static void test_store_worker_take__gives_every_user_a_turn(void **state)
{
	struct scene *sc = *state;

	take(sc, '0', 1, wait_for_go);
	sem_wait(&sc->begun);
	for (char name = 'a'; name <= 'c'; name++)
		take(sc, name, 1, work);
	take(sc, 'A', 2, work);
	take(sc, 'B', 2, work);
	take(sc, 'X', 3, work);
	sem_post(&sc->go);
	run_until_told(sc, 7);
	assert_string_equal(sc->worked.at, "0AXaBbc");
}

static void test_store_worker_drop__forgets_one_that_waits_and_calls_back_one_that_runs(
	void **state)
{
	struct scene *sc = *state;
	struct store_request *runs = take(sc, 'r', 1, wait_for_call), *waits;

	sem_wait(&sc->begun);
	waits = take(sc, 'w', 1, work);
	take(sc, 'a', 1, work);
	store_worker_drop(waits);
	assert_string_equal(sc->freed.at, "w");
	store_worker_drop(runs);
	run_until_told(sc, 1);
	assert_string_equal(sc->worked.at, "a");
	assert_string_equal(sc->reported.at, "\"a\" ");
	assert_int_equal(sc->freed.len, 3);
}

static void test_store_worker_drop__forgets_one_that_is_done_and_not_reported(void **state)
{
	struct scene *sc = *state;
	struct store_request *first = take(sc, 'a', 1, work);

	take(sc, 'b', 1, wait_for_go);
	sem_wait(&sc->begun); /* so the first is done */
	store_worker_drop(first);
	sem_post(&sc->go);
	run_until_told(sc, 1);
	assert_string_equal(sc->reported.at, "\"b\" ");
	assert_int_equal(sc->freed.len, 2);
}

static void test_store_worker_free__calls_back_what_runs_and_frees_all(void **state)
{
	struct scene *sc = *state;

	take(sc, 'a', 1, wait_for_call);
	take(sc, 'b', 1, wait_for_call);
	sem_wait(&sc->begun);
	store_worker_free(sc->worker);
	sc->worker = NULL;
	assert_int_equal(sc->freed.len, 2);
	assert_int_equal(sc->reported.len, 0);
	assert_int_equal(sem_trywait(&sc->begun), -1); /* the second was never begun */
}

#define WORKER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(WORKER_TEST(test_store_worker_new__has_no_thread_before_the_first_request),
          WORKER_TEST(test_store_worker_take__works_beside_the_loop_and_reports_to_it),
          WORKER_TEST(test_store_worker_take__gives_every_user_a_turn),
          WORKER_TEST(test_store_worker_drop__forgets_one_that_waits_and_calls_back_one_that_runs),
          WORKER_TEST(test_store_worker_drop__forgets_one_that_is_done_and_not_reported),
          WORKER_TEST(test_store_worker_free__calls_back_what_runs_and_frees_all))
