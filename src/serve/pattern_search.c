/* SPDX-License-Identifier: MIT */
#include "serve/pattern_search.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "history/pattern_query.h"
#include "report/pattern_review.h"
#include "view/insights_view.h"

struct task {
	struct pattern_search search;
	struct patterns found;
};

/* On the worker's thread. There is no result for a client. */
static int work(void *self, const struct history_cancel *cancel, struct json *result,
                struct err *err)
{
	struct task *t = self;
	cleanup(history_closep) struct history *reader = NULL;
	cleanup(insights_done) struct insights in = { 0 };
	struct patterns stored = { 0 };
	uint64_t now_ns = clock_wall_ns();
	int r = history_open(t->search.db_path, &reader, err);

	(void)result;
	if (r < 0)
		return r;
	history_obey_cancel(reader, cancel);
	r = insights_gather(reader, now_ns - INSIGHTS_LOOKBACK_NS, t->search.min_jobs, &in, err);
	if (r >= 0)
		r = history_patterns(reader, &stored, err);
	if (r >= 0) {
		vec_each(&in.list, i)
			insight_describe(i, i->pattern.description, sizeof i->pattern.description);
		pattern_review(&in, &stored, now_ns, &t->found);
	}
	vec_done(&stored.list);
	return r;
}

static void done(void *self, int r, const struct buf *result, const struct err *err)
{
	struct task *t = self;

	(void)result;
	(void)err;
	if (r >= 0 && t->found.list.len)
		t->search.found(t->search.self, &t->found);
}

static void free_task(void *self)
{
	struct task *t = self;

	vec_done(&t->found.list);
	free(t);
}

int pattern_search_begin(struct store_worker *worker, const struct pattern_search *search,
                         struct err *err)
{
	struct store_worker_task task = { .work = work, .done = done, .free = free_task };
	struct store_request *request;
	struct task *t;

	if (!search->db_path)
		return err_set(err, ENOENT, "nothing is recorded here");
	task.self = t = xcalloc(1, sizeof *t);
	t->search = *search;
	return store_worker_take(worker, &task, &request, err);
}
