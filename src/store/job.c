/* SPDX-License-Identifier: MIT */
/* Jobs and their sheets. A row is written when something about the job changed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/handle.h"

static uint64_t hash_job(const struct job *job)
{
	uint64_t facts[] = { job->status,        job->started_ns,           job->ended_ns,
		             job->has_exit_code, (uint64_t)job->exit_code,  (uint64_t)job->signal,
		             job->total_sheets,  job->last_completed_sheet, job->current_sheet };
	uint64_t h = store_hash(0, job->type, strnlen(job->type, JOB_ID_MAX));

	return store_hash(h, facts, sizeof facts);
}

static struct job_seen *find_seen(const struct store *st, const struct job *job)
{
	vec_each(&st->jobs, seen)
		if (!strcmp(seen->id, job->id))
			return seen;
	return NULL;
}

/* Whether a job begins or ends here: that must survive a power cut. */
bool job_needs_disk(const struct store *st, const struct snapshot *snap)
{
	vec_each(&snap->jobs, job) {
		const struct job_seen *seen = find_seen(st, job);

		if (!seen || seen->status != job->status)
			return true;
	}
	return false;
}

static int put_row(struct store *st, const struct job *job, struct err *err)
{
	sqlite3_stmt *stmt = query_get(st, Q_PUT_JOB, err);

	if (!stmt)
		return -err->code;
	sqlite3_clear_bindings(stmt);
	db_bind_text(stmt, 1, job->id, JOB_ID_MAX);
	db_bind_text(stmt, 2, job->type, JOB_ID_MAX);
	sqlite3_bind_int64(stmt, 3, st->recorder);
	sqlite3_bind_int64(stmt, 4, job->status);
	sqlite3_bind_double(stmt, 5, db_time(job->started_ns));
	if (job->ended_ns)
		sqlite3_bind_double(stmt, 6, db_time(job->ended_ns));
	if (job->has_exit_code)
		sqlite3_bind_int64(stmt, 7, job->exit_code);
	db_bind_or_null(stmt, 8, job->signal ? job->signal : COLUMN_ABSENT);
	sqlite3_bind_int64(stmt, 9, job->total_sheets);
	sqlite3_bind_int64(stmt, 10, job->last_completed_sheet);
	db_bind_or_null(stmt, 11, job->current_sheet ? (int64_t)job->current_sheet : COLUMN_ABSENT);
	return db_run(stmt, err);
}

static int begin_sheet(struct store *st, const struct job *job, uint64_t wall_ns, struct err *err)
{
	sqlite3_stmt *stmt = query_get(st, Q_PUT_SHEET, err);

	if (!stmt)
		return -err->code;
	db_bind_text(stmt, 1, job->id, JOB_ID_MAX);
	sqlite3_bind_int64(stmt, 2, job->current_sheet);
	sqlite3_bind_double(stmt, 3, db_time(wall_ns));
	return db_run(stmt, err);
}

static int end_sheet(struct store *st, const struct job *job, uint32_t sheet, uint64_t wall_ns,
                     struct err *err)
{
	sqlite3_stmt *stmt = query_get(st, Q_END_SHEET, err);
	bool is_completed = job->last_completed_sheet >= sheet || job->status == JOB_COMPLETED;

	if (!stmt)
		return -err->code;
	db_bind_text(stmt, 1, job->id, JOB_ID_MAX);
	sqlite3_bind_int64(stmt, 2, sheet);
	sqlite3_bind_int64(stmt, 3, is_completed ? JOB_COMPLETED : JOB_FAILED);
	sqlite3_bind_double(stmt, 4, db_time(wall_ns));
	return db_run(stmt, err);
}

/* The sums of its processes; their rows may be gone when somebody asks in a year. */
static int sum_job(struct store *st, const struct job *job, struct err *err)
{
	sqlite3_stmt *stmt = query_get(st, Q_SUM_JOB, err);

	vec_each(&st->next, i) {
		int r = live_flush_totals(st, &st->lives.at[*i], err);

		if (r < 0)
			return r;
	}
	if (!stmt)
		return -err->code;
	db_bind_text(stmt, 1, job->id, JOB_ID_MAX);
	return db_run(stmt, err);
}

int job_put_one(struct store *st, const struct job *job, uint64_t wall_ns, struct err *err)
{
	struct job_seen *seen = find_seen(st, job);
	uint32_t was = seen ? seen->current_sheet : 0;
	uint32_t is = job->status == JOB_RUNNING ? job->current_sheet : 0;
	uint64_t hash = hash_job(job);
	int r;

	if (seen && seen->hash == hash)
		return 0;
	r = put_row(st, job, err);
	if (r == 0 && was && was != is)
		r = end_sheet(st, job, was, wall_ns, err);
	if (r == 0 && is && was != is)
		r = begin_sheet(st, job, wall_ns, err);
	if (r == 0 && job->status != JOB_RUNNING)
		r = sum_job(st, job, err);
	if (r < 0)
		return r;
	if (!seen)
		seen = vec_push(&st->jobs, JOBS_MAX);
	if (!seen)
		return 0; /* a stranger among 4096: its row is written again each time */
	snprintf(seen->id, sizeof seen->id, "%s", job->id);
	seen->hash = hash;
	seen->status = job->status;
	seen->current_sheet = is;
	return 0;
}

int job_put_all(struct store *st, const struct snapshot *snap, struct err *err)
{
	vec_each(&snap->jobs, job) {
		int r = job_put_one(st, job, snap->wall_ns, err);

		if (r < 0)
			return r;
	}
	return 0;
}
