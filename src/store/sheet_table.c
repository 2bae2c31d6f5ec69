/* SPDX-License-Identifier: MIT */
/* Sheets as they were told, and the sums of processes that outlive their rows: of a sheet when it
 * ends, and of all sheets and the job when that ends, because the last counters of a process may
 * come after its sheet's end. */
#include <errno.h>

#include "store/store_handle.h"

static int put_sheet(struct store *st, const struct sheet *sheet, int64_t job, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_PUT_SHEET, err);

	if (!stmt)
		return -err->code;
	sqlite3_clear_bindings(stmt);
	sqlite3_bind_int64(stmt, 1, job);
	sqlite3_bind_int64(stmt, 2, sheet->num);
	if (sheet->label[0])
		db_bind_text(stmt, 3, sheet->label, sizeof sheet->label);
	sqlite3_bind_int64(stmt, 4, sheet->status);
	sqlite3_bind_double(stmt, 5, db_time(sheet->started_ns));
	if (sheet->ended_ns)
		sqlite3_bind_double(stmt, 6, db_time(sheet->ended_ns));
	if (sheet->has_exit_code)
		sqlite3_bind_int64(stmt, 7, sheet->exit_code);
	db_bind_or_null(stmt, 8, sheet->signal ? sheet->signal : COLUMN_ABSENT);
	db_bind_or_null(stmt, 9, sheet->pid ? sheet->pid : COLUMN_ABSENT);
	return db_run(stmt, err);
}

int sheet_put_all(struct store *st, const struct snapshot *snap, struct err *err)
{
	vec_each(&snap->sheets, sheet) {
		int64_t job = job_row(st, snap, sheet->job, err);
		int r = job > 0 ? put_sheet(st, sheet, job, err) : (int)job;

		if (r < 0)
			return r;
	}
	return 0;
}

/* The totals of the living are written now and then only; a sum needs them all. */
static int flush(struct store *st, const struct index_list *lives, struct err *err)
{
	vec_each(lives, i) {
		int r = live_flush_totals(st, &st->lives.at[*i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* ?1: job.id, ?2: job_id, ?3: the sheet's number. */
static int run_sum(struct store *st, enum statement q, int64_t row, const char *id, uint32_t sheet,
                   struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, q, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, row);
	db_bind_text(stmt, 2, id, JOB_ID_MAX);
	if (sheet)
		sqlite3_bind_int64(stmt, 3, sheet);
	return db_run(stmt, err);
}

static bool lacks_sums(const struct job *job)
{
	return !job->figures[JOB_FIGURE_CPU].quality ||
	       !job->figures[JOB_FIGURE_PEAK_RSS].quality ||
	       !job->figures[JOB_FIGURE_PROCESSES].quality;
}

int job_sum_one(struct store *st, const struct job *job, const struct index_list *lives,
                struct err *err)
{
	struct job_seen *seen = job_find_seen(st, job->id);
	int r = 0;

	if (!seen || !seen->has_ended)
		return 0;
	seen->has_ended = false;
	if (lacks_sums(job) || job->total_sheets)
		r = flush(st, lives, err);
	if (r == 0 && lacks_sums(job))
		r = run_sum(st, Q_SUM_JOB, seen->row, job->id, 0, err);
	if (r == 0 && job->total_sheets)
		r = run_sum(st, Q_SUM_SHEETS, seen->row, job->id, 0, err);
	return r;
}

static int sum_sheets(struct store *st, const struct snapshot *snap, const struct index_list *lives,
                      struct err *err)
{
	bool is_flushed = false;

	vec_each(&snap->sheets, sheet) {
		int64_t job = job_row(st, snap, sheet->job, err);
		int r = job < 0 ? (int)job : 0;

		if (r == 0 && (!job || sheet->status == JOB_RUNNING))
			continue;
		if (r == 0 && !is_flushed)
			r = flush(st, lives, err);
		is_flushed = true;
		if (r == 0)
			r = run_sum(st, Q_SUM_SHEET, job, snap->jobs.at[sheet->job].id, sheet->num,
			            err);
		if (r < 0)
			return r;
	}
	return 0;
}

int job_sum_all(struct store *st, const struct snapshot *snap, struct err *err)
{
	/* Between two snapshots the processes are those of the last one. */
	const struct index_list *lives = snap->events_only ? &st->live : &st->next;
	int r = sum_sheets(st, snap, lives, err);

	vec_each(&snap->jobs, job) {
		if (r < 0)
			break;
		r = job_sum_one(st, job, lives, err);
	}
	return r;
}
