/* SPDX-License-Identifier: MIT */
/* Sheets and their usage: the reported part, and the total with its processes' sums. Totals are stored
 * when a sheet and when the job ends, and outlive the process rows. */
#include "schema/sheet_column.h"
#include "store/store_schema.h"
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
	{ 6,
	  "ALTER TABLE sheet ADD COLUMN own_max_cpu INTEGER;"
	  "ALTER TABLE sheet ADD COLUMN is_wrapper INTEGER;"
	  "ALTER TABLE sheet ADD COLUMN lack INTEGER;"
	  "ALTER TABLE sheet ADD COLUMN own_waited_us INTEGER;",
	  NULL },
	{ 0 },
};
static_assert(QUALITY_AT_LEAST == 2, "the number above");

/* Both sets of figures follow the table in model/. */
static int add_columns(sqlite3 *db, struct err *err)
{
	static const char *const prefixes[] = { "", "own_" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < 2 * SHEET_FIGURE_COUNT; i++) {
		char name[COLUMN_NAME_MAX];

		snprintf(name, sizeof name, "%s%s", prefixes[i % 2], sheet_columns[i / 2]);
		r = store_schema_add_column(db, "sheet", name, "", err);
		if (r == 0)
			r = store_schema_add_column(db, "sheet", name, "_q", err);
	}
	return r;
}

static void build_put(struct buf *sql)
{
	buf_puts(
		sql,
		"INSERT INTO sheet(job, num, label, status, started, ended, exit_code, signal, pid,"
		" is_wrapper, lack, own_max_cpu, own_waited_us");
	for (size_t i = 0; i < SHEET_FIGURE_COUNT; i++)
		buf_printf(sql, ", own_%s, own_%s_q", sheet_columns[i], sheet_columns[i]);
	buf_puts(sql, ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13");
	for (size_t i = 0; i < 2 * SHEET_FIGURE_COUNT; i++)
		buf_printf(sql, ", ?%zu", i + 14);
	buf_puts(sql, ") ON CONFLICT DO UPDATE SET label = ?3, status = ?4, started = ?5,"
	              " ended = ?6, exit_code = ?7, signal = ?8, pid = ?9, is_wrapper = ?10,"
	              " lack = ?11, own_max_cpu = ?12, own_waited_us = ?13");
	for (size_t i = 0; i < SHEET_FIGURE_COUNT; i++)
		buf_printf(sql, ", own_%s = ?%zu, own_%s_q = ?%zu", sheet_columns[i], 2 * i + 14,
		           sheet_columns[i], 2 * i + 15);
}

static void build_parts(struct buf *sql)
{
	buf_puts(sql, "SELECT ?2");
	sheet_columns_select_parts(sql);
	buf_puts(sql, " FROM sheet t LEFT JOIN (" SHEET_SUMS_OF(
			      "p.cpu_time_us", "coalesce(p.peak_rss_kib, p.max_rss_kib)", "",
			      "p.job = ?1") " AND p.sheet = ?2) s"
	                                    " WHERE t.job = ?1 AND t.num = ?2");
}

static void build_set_use(struct buf *sql)
{
	buf_puts(sql, "UPDATE sheet SET processes = max(coalesce(processes, 0), ?3), max_cpu = ?4");
	for (size_t i = 0; i < SHEET_FIGURE_COUNT; i++)
		buf_printf(sql, ", %s = ?%zu, %s_q = ?%zu", sheet_columns[i], 2 * i + 5,
		           sheet_columns[i], 2 * i + 6);
	buf_puts(sql, " WHERE job = ?1 AND num = ?2");
}

enum { PUT, PARTS, SET_USE, NEXT };

static const struct statement statements[] = {
	[PUT] = { .build = build_put },
	[PARTS] = { .build = build_parts },
	[SET_USE] = { .build = build_set_use },
	[NEXT] = { "SELECT min(num) FROM sheet WHERE job = ?1 AND num > ?2" },
	{ 0 },
};

static int put_row(struct store *st, const struct sheet *sheet, int64_t job, struct err *err)
{
	int64_t own[2 * SHEET_FIGURE_COUNT];

	sheet_columns_values(&sheet->own, own);
	return statement_run_ints(
		st, &statements[PUT],
		BINDS(bind_int(job), bind_int(sheet->num),
	              bind_text_or_null(sheet->label, sizeof sheet->label), bind_int(sheet->status),
	              bind_real(db_time(sheet->started_ns)), bind_time(sheet->ended_ns),
	              bind_int_if(sheet->has_exit_code, sheet->exit_code),
	              bind_nonzero(sheet->signal), bind_nonzero(sheet->pid),
	              bind_nonzero(sheet->is_wrapper), bind_nonzero(sheet->own.lack),
	              bind_or_null(column_ratio(sheet->own.max_cpu_ratio)),
	              bind_nonzero((int64_t)(sheet->own.waited_cpu_ns / 1000))),
		own, ARRAY_LEN(own), err);
}

/* Its own part, and the sums over those that were born in it. A process has the first of its sheets: those that were in
 * another one before are counted only in the sheet that is shown (`live`; NULL: it was shown before). */
static int sum_one(struct store *st, int64_t job, int64_t num, const struct sheet *live,
                   struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, &statements[PARTS], err);
	int64_t values[2 * SHEET_FIGURE_COUNT];
	struct sheet_use use;
	struct sheet own;
	int r;

	if (!stmt)
		return -err->code;
	db_bind(stmt, BINDS(bind_int(job), bind_int(num)));
	r = db_step(stmt, err);
	if (r <= 0)
		return r;
	sheet_columns_read_parts(stmt, 1, &own, &use);
	sqlite3_reset(stmt);
	if (live && !own.is_wrapper && live->own.processes > own.own.processes)
		use.processes += live->own.processes - own.own.processes;
	sheet_columns_values(&use, values);
	return statement_run_ints(st, &statements[SET_USE],
	                          BINDS(bind_int(job), bind_int(num),
	                                bind_int((int64_t)use.processes),
	                                bind_or_null(column_ratio(use.max_cpu_ratio))),
	                          values, ARRAY_LEN(values), err);
}

int sheet_table_sum_all(struct store *st, int64_t job, struct err *err)
{
	int64_t num = 0;
	int r = 0;

	while (r == 0) {
		num = statement_int(st, &statements[NEXT], BINDS(bind_int(job), bind_int(num)),
		                    err);
		if (num <= 0)
			return (int)num;
		r = sum_one(st, job, num, NULL, err);
	}
	return r;
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
			r = sum_one(st, job, sheet->num, sheet, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static void put_reason(struct buf *sql)
{
	buf_puts(sql, "CASE t.lack");
	for (enum sheet_lack i = SHEET_LACKS_NOTHING + 1; i < SHEET_LACK_COUNT; i++)
		buf_printf(sql, " WHEN %d THEN '%s'", (int)i, sheet_lack_reason(i));
	buf_puts(sql, " END");
}

static void put_sheets(struct buf *sql)
{
	buf_puts(sql, "CREATE VIEW sheets AS SELECT j.job_id AS job_id, t.num AS sheet_num,"
	              " t.label AS label, ");
	job_table_put_status(sql, "t.status");
	buf_puts(sql, " AS status, t.started AS started, t.ended AS ended,"
	              " t.ended - t.started AS duration_seconds, t.exit_code AS exit_code,"
	              " t.signal AS signal_num, t.pid AS pid, t.processes AS processes");
	for (size_t i = 0; i < SHEET_FIGURE_COUNT; i++) {
		const struct metric *m = &sheet_figures[i];
		char quality[COLUMN_NAME_MAX + 8];

		buf_printf(sql, ", t.%s%s AS %s, ", sheet_columns[i], column_scale(m), m->key);
		snprintf(quality, sizeof quality, "t.%s_q", sheet_columns[i]);
		job_table_put_quality(sql, quality);
		buf_printf(sql, " AS %s_quality", m->key);
	}
	buf_puts(sql, ", t.max_cpu/10.0 AS max_cpu_pct, ");
	put_reason(sql);
	buf_puts(sql, " AS missing_reason, j.uid AS uid");
	syscall_table_put_columns(sql, "t");
	buf_puts(sql, " FROM sheet t JOIN job j ON j.id = t.job");
}

static const struct view views[] = { { "sheets", put_sheets }, { 0 } };

static const struct table_ids ids[] = {
	{ "sheet", { { "job", ID_JOB } } },
	{ 0 },
};

static const char *const remove_job[] = { "DELETE FROM sheet WHERE job = ?1", NULL };

const struct store_table sheet_table = {
	.name = "sheet",
	.migrations = migrations,
	.add_columns = add_columns,
	.statements = statements,
	.put = put,
	.on_flush = true,
	.end_recorder = "UPDATE sheet SET status = 3, ended = max(started, (SELECT r.ended"
			" FROM recorder r WHERE r.id = ?1)) WHERE status = 0 AND job IN"
			" (SELECT id FROM job WHERE recorder = ?1 AND status = 0)",
	.views = views,
	.remove_job = remove_job,
	.ids = ids,
};
static_assert(JOB_RUNNING == 0 && JOB_LOST == 3, "the numbers in the text above");
