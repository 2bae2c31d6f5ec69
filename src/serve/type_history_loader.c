/* SPDX-License-Identifier: MIT */
#include "serve/type_history_loader.h"

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "history/job_query.h"
#include "report/type_estimate.h"

struct task {
	struct type_history_loader how;
	job_handle job;
	char type[JOB_ID_MAX];
	uint32_t uid;
	bool is_given;
	uint64_t options;
	struct type_history past;
};

static int add_run(void *self, const struct job *job)
{
	struct task *t = self;

	if (t->is_given == job->type_is_given &&
	    (t->is_given || type_estimate_hash_options(job->command) == t->options))
		type_history_add(&t->past, job);
	return 0;
}

/* On the worker's thread. There is no result for a client. */
static int work(void *self, const struct history_cancel *cancel, struct json *result,
                struct err *err)
{
	struct task *t = self;
	cleanup(history_closep) struct history *reader = NULL;
	const struct job_filter filter = {
		.type = t->type, .outcome = "ok", .of_one_user = true, .uid = t->uid
	};
	int r = history_open(t->how.db_path, &reader, err);

	(void)result;
	if (r < 0)
		return r;
	history_obey_cancel(reader, cancel);
	return history_jobs(reader, &filter, TYPE_HISTORY_RUNS, add_run, t, err);
}

static void done(void *self, int r, const struct buf *result, const struct err *err)
{
	const struct task *t = self;

	(void)result;
	(void)err;
	if (r > 0)
		t->how.found(t->how.self, t->job, &t->past);
}

int type_history_loader_start(struct store_worker *worker, const struct type_history_loader *how,
                              struct err *err)
{
	struct store_worker_task task = { .work = work, .done = done, .free = free };
	struct store_request *request;
	struct task *t;

	if (!how->db_path)
		return err_set(err, ENOENT, "nothing is recorded here");
	task.self = t = xcalloc(1, sizeof *t);
	task.uid = how->job->uid;
	*t = (struct task){ .how = *how,
		            .job = how->job->handle,
		            .uid = how->job->uid,
		            .is_given = how->job->type_is_given,
		            .options = type_estimate_hash_options(how->job->command) };
	snprintf(t->type, sizeof t->type, "%s", how->job->type);
	return store_worker_take(worker, &task, &request, err);
}
