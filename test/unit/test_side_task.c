/* SPDX-License-Identifier: MIT */
#include "base/side_task.h"

#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "check.h"

struct errand {
	sem_t may_end;
	atomic_bool *was_freed;
};

static void run_errand(void *self)
{
	struct errand *e = self;

	sem_wait(&e->may_end);
}

static void free_errand(void *self)
{
	struct errand *e = self;
	atomic_bool *was_freed = e->was_freed;

	sem_destroy(&e->may_end);
	free(e);
	*was_freed = true;
}

static struct errand *errand_new(atomic_bool *was_freed)
{
	struct errand *e = calloc(1, sizeof *e);

	sem_init(&e->may_end, 0, 0);
	e->was_freed = was_freed;
	return e;
}

static void test_side_task__is_waited_for(void **state)
{
	atomic_bool was_freed = false;
	struct errand *e = errand_new(&was_freed);
	struct side_task *t = side_task_start(run_errand, free_errand, e);

	assert_non_null(t);
	assert_false(side_task_wait(t, 0));
	sem_post(&e->may_end);
	assert_true(side_task_wait(t, 60 * NS_PER_S));
	assert_true(side_task_wait(t, 0));
	assert_false(was_freed);
	side_task_leave(t);
	while (!was_freed) /* by the thread, if that is the last */
		sched_yield();
}

static void test_side_task__that_hangs_is_left_behind(void **state)
{
	atomic_bool was_freed = false;
	struct errand *e = errand_new(&was_freed);
	struct side_task *t = side_task_start(run_errand, free_errand, e);

	assert_non_null(t);
	assert_false(side_task_wait(t, 20 * NS_PER_MS));
	side_task_leave(t);
	assert_false(was_freed);
	sem_post(&e->may_end);
	while (!was_freed)
		sched_yield();
}

RUN_TESTS(TEST(test_side_task__is_waited_for), TEST(test_side_task__that_hangs_is_left_behind))
