/* SPDX-License-Identifier: MIT */
#include "base/side_task.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

/* Owned by both threads: the one that is done last frees it. */
struct side_task {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned owners;
	bool is_done;
	void (*run)(void *self);
	void (*free_self)(void *self);
	void *self;
};

static void release(struct side_task *t)
{
	unsigned left;

	pthread_mutex_lock(&t->lock);
	left = --t->owners;
	pthread_mutex_unlock(&t->lock);
	if (left)
		return;
	t->free_self(t->self);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static void *work(void *self)
{
	struct side_task *t = self;

	t->run(t->self);
	pthread_mutex_lock(&t->lock);
	t->is_done = true;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
	release(t);
	return NULL;
}

struct side_task *side_task_start(void (*run)(void *self), void (*free_self)(void *self), void *self)
{
	struct side_task *t = xcalloc(1, sizeof *t);
	pthread_condattr_t attr;
	pthread_t thread;

	*t = (struct side_task){ .owners = 2, .run = run, .free_self = free_self, .self = self };
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (thread_start(&thread, 0, work, t) < 0) {
		t->owners = 1;
		release(t);
		return NULL;
	}
	pthread_detach(thread);
	return t;
}

bool side_task_wait(struct side_task *t, uint64_t patience_ns)
{
	uint64_t until_ns = clock_mono_ns() + patience_ns;
	struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S),
		                  .tv_nsec = (long)(until_ns % NS_PER_S) };
	int result = 0;
	bool is_done;

	pthread_mutex_lock(&t->lock);
	while (!t->is_done && patience_ns && result == 0)
		result = pthread_cond_timedwait(&t->changed, &t->lock, &until);
	is_done = t->is_done;
	pthread_mutex_unlock(&t->lock);
	return is_done;
}

void side_task_leave(struct side_task *t)
{
	if (t)
		release(t);
}
