/* SPDX-License-Identifier: MIT */
/* What the processes of a job held together: one small row for each running job and snapshot. */
#include "store/store_handle.h"

static int set_snapshot(struct store *st, enum statement q, int64_t row, int64_t snapshot,
                        struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, q, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, row);
	sqlite3_bind_int64(stmt, 2, snapshot);
	return db_run(stmt, err);
}

static int put_sample(struct store *st, struct job_seen *seen, const struct job_sum *sum,
                      int64_t snapshot, struct err *err)
{
	static const struct metric rss = { .key = "rss_mb", .unit = UNIT_MIB };
	sqlite3_stmt *stmt = statement_get(st, Q_PUT_JOB_SAMPLE, err);
	int r = stmt ? 0 : -err->code;

	if (r == 0 && !seen->is_sampled)
		r = set_snapshot(st, Q_SET_FIRST_SAMPLE, seen->row, snapshot, err);
	if (r < 0)
		return r;
	seen->is_sampled = true;
	sqlite3_bind_int64(stmt, 1, snapshot);
	sqlite3_bind_int64(stmt, 2, seen->row);
	sqlite3_bind_int64(stmt, 3, sum->procs);
	sqlite3_bind_int64(stmt, 4, column_value(&rss, sum->rss_bytes));
	db_bind_or_null(stmt, 5, column_ratio(sum->cpu_ratio));
	return db_run(stmt, err);
}

int job_put_samples(struct store *st, const struct snapshot *snap, int64_t snapshot,
                    struct err *err)
{
	size_t n = MIN(snap->jobs.len, snap->sums.len);
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct job_seen *seen = job_find_seen(st, snap->jobs.at[i].id);

		if (seen && seen->status == JOB_RUNNING)
			r = put_sample(st, seen, &snap->sums.at[i], snapshot, err);
		else if (seen && seen->has_ended && seen->is_sampled)
			r = set_snapshot(st, Q_SET_LAST_SAMPLE, seen->row, snapshot, err);
	}
	return r;
}
