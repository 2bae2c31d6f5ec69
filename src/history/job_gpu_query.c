/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sqlite/db.h"
#include "history/history_handle.h"
#include "history/job_query.h"

/* What was thinned out to minutes still has the extremes of each. */
static const char text[] =
	"SELECT g.gpu_index, max(g.name), avg(g.utilization_pct) / 100,"
	" max(coalesce(g.utilization_pct_max, g.utilization_pct)) / 100.0,"
	" max(coalesce(g.memory_used_mb_max, g.memory_used_mb)) * 1048576,"
	" max(g.memory_total_mb) * 1048576, avg(g.power_w),"
	" max(coalesce(g.power_w_max, g.power_w))"
	" FROM job j JOIN job_sample m ON m.snapshot >= j.first_snapshot AND m.snapshot <="
	" coalesce(j.last_snapshot, 9223372036854775807) AND m.job = j.id"
	" JOIN gpu_metrics g ON g.snapshot_id = m.snapshot WHERE j.id = ?1"
	" GROUP BY g.gpu_index ORDER BY g.gpu_index";

static double real_or_nan(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL
	               ? NAN
	               : sqlite3_column_double(stmt, column);
}

static int read_gpus(struct history *r, struct job_key key, reader_gpu_fn fn, void *self,
                     struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int result, n = 0;

	/* Older stores have neither. */
	if (!history_has_column(r, "job_sample", "job") ||
	    !history_has_column(r, "gpu", "snapshot"))
		return 0;
	result = history_prepare_for_job(r, text, key, &stmt, err);
	if (result < 0)
		return result;
	while ((result = db_step(stmt, err)) > 0) {
		const struct gpu_record g = {
			.index = (uint32_t)sqlite3_column_int64(stmt, 0),
			.name = (const char *)sqlite3_column_text(stmt, 1),
			.util_mean_ratio = real_or_nan(stmt, 2),
			.util_max_ratio = real_or_nan(stmt, 3),
			.mem_peak_bytes = real_or_nan(stmt, 4),
			.mem_total_bytes = real_or_nan(stmt, 5),
			.power_mean_w = real_or_nan(stmt, 6),
			.power_max_w = real_or_nan(stmt, 7),
		};

		result = fn(self, &g);
		if (result < 0)
			return result;
		n++;
	}
	return result < 0 ? result : n;
}

int history_job_gpus(struct history *r, struct job_key key, reader_gpu_fn fn, void *self,
                     struct err *err)
{
	int result = history_begin(r, err);

	if (result < 0)
		return result;
	result = read_gpus(r, key, fn, self, err);
	history_end(r);
	return result;
}
