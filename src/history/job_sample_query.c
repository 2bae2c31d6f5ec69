/* SPDX-License-Identifier: MIT */
#include "history/history_handle.h"
#include "history/job_query.h"

static int read_sums(struct history *r, struct job_key key, size_t limit, reader_sum_fn fn,
                     void *self, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	size_t n = 0;
	int result;

	if (!history_has_column(r, "job_sample", "job"))
		return 0;
	result = history_prepare_for_job(
		r,
		"SELECT s.time, m.procs, m.rss_kib, m.cpu FROM job j CROSS JOIN job_sample m"
		" ON m.snapshot >= j.first_snapshot AND m.snapshot <="
		" coalesce(j.last_snapshot, 9223372036854775807) AND m.job = j.id"
		" CROSS JOIN snapshot s ON s.id = m.snapshot WHERE j.id = ?1"
		" ORDER BY m.snapshot",
		key, &stmt, err);
	while (result == 0 && n < limit) {
		struct job_sum_record sum;

		result = db_step(stmt, err);
		if (result <= 0)
			break;
		sum.wall_ns = db_time_ns(sqlite3_column_double(stmt, 0));
		sum.sum.procs = (uint32_t)sqlite3_column_int64(stmt, 1);
		sum.sum.rss_bytes = (uint64_t)sqlite3_column_int64(stmt, 2) << 10;
		sum.sum.cpu_ratio = column_ratio_inside(db_column_or_absent(stmt, 3));
		result = MIN(fn(self, &sum), 0);
		n++;
	}
	return result < 0 ? result : (int)n;
}

int history_job_sums(struct history *r, struct job_key key, size_t limit, reader_sum_fn fn,
                     void *self, struct err *err)
{
	int result = history_begin(r, err);

	if (result < 0)
		return result;
	result = read_sums(r, key, MIN(limit, (size_t)INT32_MAX), fn, self, err);
	history_end(r);
	return result;
}
