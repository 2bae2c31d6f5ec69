/* SPDX-License-Identifier: MIT */
#include "engine/job_commits.h"

#include "base/clock.h"

#define STEP_NS NS_PER_MS
#define PATIENCE_NS NS_PER_S

static void on_step(void *self);

void job_commits_init(struct job_commits *c, struct loop *loop, struct engine *engine)
{
	*c = (struct job_commits){ .engine = engine };
	c->timer = loop_add_timer(loop, LOOP_NEVER, on_step, c);
}

static void begin(struct job_commits *c)
{
	c->now = c->next;
	c->next = (struct job_commit_list){ 0 };
	c->end_ns = clock_mono_ns() + PATIENCE_NS;
	c->number = engine_store_jobs(c->engine);
	loop_timer_set(c->timer, 0);
}

/* They may ask for more. */
static void report(struct job_commits *c, enum stored running, enum stored ended)
{
	vec_each(&c->now.list, one)
		one->done(one->self, one->has_ended ? ended : running);
	vec_done(&c->now.list);
}

static void on_step(void *self)
{
	struct job_commits *c = self;
	enum stored running = engine_await_stored(c->engine, c->number, false, 0);
	enum stored ended = engine_await_stored(c->engine, c->number, true, 0);

	if (running == STORED_UNKNOWN && clock_mono_ns() < c->end_ns) {
		loop_timer_set(c->timer, clock_mono_ns() + STEP_NS);
		return;
	}
	report(c, running, ended);
	if (c->next.list.len)
		begin(c);
}

/* There are no more than connections: each waits for one. */
void job_commits_add(struct job_commits *c, bool has_ended, job_commits_fn done, void *self)
{
	*vec_push(&c->next.list, SIZE_MAX) = (struct job_commit){ has_ended, done, self };
	if (!c->now.list.len)
		begin(c);
}

void job_commits_done(struct job_commits *c)
{
	uint64_t now_ns = clock_mono_ns(), end_ns = now_ns + PATIENCE_NS;

	loop_remove(c->timer);
	c->timer = NULL;
	for (; c->now.list.len && now_ns < end_ns; now_ns = clock_mono_ns()) {
		enum stored running = engine_await_stored(c->engine, c->number, false,
		                                          end_ns - now_ns);

		report(c, running, engine_await_stored(c->engine, c->number, true, 0));
		c->now = c->next;
		c->next = (struct job_commit_list){ 0 };
		if (c->now.list.len)
			c->number = engine_store_jobs(c->engine);
	}
	report(c, STORED_UNKNOWN, STORED_UNKNOWN);
	c->now = c->next;
	c->next = (struct job_commit_list){ 0 };
	report(c, STORED_UNKNOWN, STORED_UNKNOWN);
}
