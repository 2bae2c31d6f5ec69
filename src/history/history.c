/* SPDX-License-Identifier: MIT */
#include "history/history.h"

#include <errno.h>
#include <string.h>

#include "sqlite/db_file.h"
#include "history/history_handle.h"

static int is_late(void *self)
{
	const struct history *r = self;

	return (r->cancel && atomic_load(&r->cancel->is_cancelled)) ||
	       clock_mono_ns() > r->deadline_ns;
}

int history_open(const char *path, struct history **ret, struct err *err)
{
	cleanup(history_closep) struct history *r = xcalloc(1, sizeof *r);
	int result;

	r->cells = column_set(COLUMNS_CELLS);
	r->details = column_set(COLUMNS_DETAILS);
	r->recorders.fd = -1;
	result = db_file_open_to_read(path, &r->db, err);
	if (result < 0)
		return result;
	sqlite3_progress_handler(r->db, 1000, is_late, r);
	*ret = TAKE_PTR(r);
	return 0;
}

void history_close(struct history *r)
{
	if (!r)
		return;
	history_forget_views(r);
	sqlite3_finalize(r->next);
	sqlite3_finalize(r->host);
	sqlite3_finalize(r->beside);
	sqlite3_finalize(r->cgroup);
	sqlite3_finalize(r->jobs);
	sqlite3_finalize(r->job);
	vec_done(&r->job_rows);
	sqlite3_finalize(r->gpus);
	sqlite3_finalize(r->gpu_uses);
	db_lock_close(&r->recorders);
	db_close(r->db);
	free(r);
}

void history_obey_cancel(struct history *r, const struct history_cancel *cancel)
{
	r->cancel = cancel;
}

const atomic_bool *history_cancel_flag(const struct history *r)
{
	return r->cancel ? &r->cancel->is_cancelled : NULL;
}

/* A short statement ends before SQLite asks is_late(): many of them must not outlast the request. */
int history_begin(struct history *r, struct history **ret_scope, struct err *err)
{
	int result;

	r->deadline_ns = clock_mono_ns() + HISTORY_TIME_NS;
	if (r->cancel)
		r->deadline_ns = MIN(r->deadline_ns, r->cancel->until_ns);
	if (is_late(r))
		return err_set(err, ETIME, "the request took too long, or was cancelled");
	result = db_exec(r->db, "BEGIN", err);
	if (result == 0)
		*ret_scope = r;
	return result;
}

void history_end(struct history *scope)
{
	scope->deadline_ns = UINT64_MAX;
	sqlite3_exec(scope->db, "ROLLBACK", NULL, NULL, NULL);
}

int history_next_row(sqlite3_stmt *stmt, size_t limit, int *n, struct err *err)
{
	int result = (size_t)*n < MIN(limit, (size_t)INT32_MAX) ? db_step(stmt, err) : 0;

	*n += result > 0;
	return result;
}

const char *history_is_member(const struct history *r)
{
	return db_has_column(r->db, "process", "job")
	               ? "p.job = ?1"
	               : "p.job_id = (SELECT j.job_id FROM job j WHERE j.id = ?1)";
}

const char *history_member_job_id(const struct history *r)
{
	return db_has_column(r->db, "process", "job")
	               ? "(SELECT j.job_id FROM job j WHERE j.id = p.job)"
	               : "p.job_id";
}
