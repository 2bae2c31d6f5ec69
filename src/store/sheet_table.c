/* SPDX-License-Identifier: MIT */
/* Sheets, and the sums over their processes, which outlive the rows of those: of a sheet when it ends,
 * and of all sheets when the job ends. */
#include "store/store_handle.h"

static const struct migration migrations[] = {
	{ 1,
	  "CREATE TABLE sheet(job INTEGER NOT NULL, num INTEGER NOT NULL, status INTEGER, started REAL,"
	  " ended REAL, processes INTEGER, cpu_time_us INTEGER, peak_rss_kib INTEGER, max_cpu INTEGER,"
	  " PRIMARY KEY(job, num)) WITHOUT ROWID;",
	  NULL },
	{ 2,
	  "ALTER TABLE sheet ADD COLUMN label TEXT;"
	  "ALTER TABLE sheet ADD COLUMN exit_code INTEGER;"
	  "ALTER TABLE sheet ADD COLUMN signal INTEGER;"
	  "ALTER TABLE sheet ADD COLUMN pid INTEGER;"
	  "ALTER TABLE sheet ADD COLUMN cpu_time_us_q INTEGER;"
	  "ALTER TABLE sheet ADD COLUMN peak_rss_kib_q INTEGER;"
	  "UPDATE sheet SET cpu_time_us_q = iif(cpu_time_us IS NULL, NULL, 2),"
	  " peak_rss_kib_q = iif(peak_rss_kib IS NULL, NULL, 2);",
	  NULL },
	{ 0 },
};
static_assert(QUALITY_AT_LEAST == 2, "the number above");

enum { PUT, SUM, SUM_ALL };

static const struct statement statements[] = {
	[PUT] = { "INSERT INTO sheet(job, num, label, status, started, ended, exit_code,"
	          " signal, pid) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
	          " ON CONFLICT DO UPDATE SET label = ?3, status = ?4, started = ?5,"
	          " ended = ?6, exit_code = ?7, signal = ?8, pid = ?9" },
	[SUM] = { "UPDATE sheet SET" SCHEMA_SET_SUMS " FROM (" SCHEMA_SHEET_SUMS
	          " AND p.sheet = ?2) s WHERE sheet.job = ?1 AND sheet.num = ?2" },
	[SUM_ALL] = { "UPDATE sheet SET" SCHEMA_SET_SUMS " FROM (" SCHEMA_SHEET_SUMS
	              " AND p.sheet IS NOT NULL GROUP BY p.sheet) s WHERE sheet.job = ?1"
	              " AND sheet.num = s.num" },
	{ 0 },
};

static int put_row(struct store *st, const struct sheet *sheet, int64_t job, struct err *err)
{
	return statement_run(st, &statements[PUT],
	                     BINDS(bind_int(job), bind_int(sheet->num),
	                           bind_text_or_null(sheet->label, sizeof sheet->label),
	                           bind_int(sheet->status), bind_real(db_time(sheet->started_ns)),
	                           bind_time(sheet->ended_ns),
	                           bind_int_if(sheet->has_exit_code, sheet->exit_code),
	                           bind_nonzero(sheet->signal), bind_nonzero(sheet->pid)),
	                     err);
}

int sheet_table_sum_all(struct store *st, int64_t job, struct err *err)
{
	return statement_run(st, &statements[SUM_ALL], BINDS(bind_int(job)), err);
}

/* The totals of live processes are written only now and then; a sum needs them all. */
static int put(struct store *st, const struct snapshot *snap, struct err *err)
{
	bool is_flushed = false;

	vec_each(&snap->sheets, sheet) {
		int64_t job = job_table_row(st, sheet->job);
		int r = job ? put_row(st, sheet, job, err) : 0;

		if (r < 0)
			return r;
		if (!job || sheet->status == JOB_RUNNING)
			continue;
		if (!is_flushed)
			r = live_processes_flush_totals(st, live_processes_at(st, snap), 0, err);
		is_flushed = true;
		if (r == 0)
			r = statement_run(st, &statements[SUM],
			                  BINDS(bind_int(job), bind_int(sheet->num)), err);
		if (r < 0)
			return r;
	}
	return 0;
}

static void put_sheets(struct buf *sql)
{
	buf_puts(sql, "CREATE VIEW sheets AS SELECT j.job_id AS job_id, t.num AS sheet_num,"
	              " t.label AS label, ");
	job_table_put_status(sql, "t.status");
	buf_puts(sql, " AS status, t.started AS started, t.ended AS ended,"
	              " t.ended - t.started AS duration_seconds, t.exit_code AS exit_code,"
	              " t.signal AS signal_num, t.pid AS pid, t.processes AS processes,"
	              " t.cpu_time_us/1e6 AS cpu_seconds, ");
	job_table_put_quality(sql, "t.cpu_time_us_q");
	buf_puts(sql, " AS cpu_seconds_quality, t.peak_rss_kib/1024.0 AS peak_rss_mb, ");
	job_table_put_quality(sql, "t.peak_rss_kib_q");
	buf_puts(sql, " AS peak_rss_mb_quality, t.max_cpu/10.0 AS max_cpu_pct, j.uid AS uid"
	              " FROM sheet t JOIN job j ON j.id = t.job");
}

static const struct view views[] = { { "sheets", put_sheets }, { 0 } };

static const struct table_ids ids[] = {
	{ "sheet", { { "job", ID_JOB } } },
	{ 0 },
};

const struct store_table sheet_table = {
	.name = "sheet",
	.migrations = migrations,
	.statements = statements,
	.put = put,
	.on_flush = true,
	.end_recorder = "UPDATE sheet SET status = 3, ended = max(started, (SELECT r.ended"
			" FROM recorder r WHERE r.id = ?1)) WHERE status = 0 AND job IN"
			" (SELECT id FROM job WHERE recorder = ?1 AND status = 0)",
	.views = views,
	.ids = ids,
};
static_assert(JOB_RUNNING == 0 && JOB_LOST == 3, "the numbers in the text above");
