/* SPDX-License-Identifier: MIT */
/* The parts of one job: sheets, processes, sums, anomalies, the GPUs of its machine; and its profile. */
#include <errno.h>
#include <stdio.h>

#include "history/history_handle.h"
#include "history/job_query.h"
#include "sqlite/record_column.h"
#include "schema/job_sample_column.h"
#include "schema/schema_format.h"
#include "schema/sheet_column.h"

#define RECORD struct sheet_record
static const struct field sheet_rows[] = {
	{ "t.num", FIELD(NUMBER, s.num) },
	{ "t.label", FIELD(TEXT, s.label) },
	{ "t.status", FIELD(NUMBER, s.status) },
	{ "t.started", FIELD(ORDINAL, s.started_ns), .unit = UNIT_NS },
	{ "t.ended", FIELD(ORDINAL, s.ended_ns), .unit = UNIT_NS },
	{ "t.exit_code", FIELD(CODE, s.exit_code), .has = offsetof(RECORD, s.has_exit_code) },
	{ "t.signal", FIELD(ORDINAL, s.signal) },
	{ "t.pid", FIELD(ORDINAL, s.pid) },
};
static const struct field_table sheet_fields_read = FIELD_TABLE(sheet_rows);
#undef RECORD

static bool has_sheet_parts(const struct history *r)
{
	return db_has_column(r->db, "sheet", "is_wrapper");
}

/* Before version 6 a sheet was the sum over its processes, and before 2 it had no more than that. */
static void select_old_sheets(struct buf *sql, bool has_labels)
{
	buf_puts(sql, "SELECT ");
	if (has_labels)
		record_columns_select(sql, &sheet_fields_read);
	else
		buf_puts(sql, "t.num, NULL, t.status, t.started, t.ended, NULL, NULL, NULL");
	buf_printf(sql,
	           ", t.cpu_time_us, %s, t.peak_rss_kib, %s, NULL, NULL, NULL, NULL, NULL, NULL,"
	           " NULL, NULL, t.max_cpu, t.processes, NULL FROM sheet t WHERE t.job = ?1"
	           " ORDER BY t.num",
	           has_labels ? "t.cpu_time_us_q" : "NULL",
	           has_labels ? "t.peak_rss_kib_q" : "NULL");
}

/* The usage of a living process since its row was written is in the row of its job. */
static const char *join_latest(const struct history *r)
{
	return db_has_column(r->db, "job", "latest")
	               ? SCHEMA_JOIN_LATEST(SCHEMA_LATEST("j.id = ?1"))
	               : SCHEMA_JOIN_LATEST(SCHEMA_NO_LATEST);
}

/* While a sheet runs, its figures are made of its parts so far. */
static int prepare_sheets(struct history *r, struct job_key key, sqlite3_stmt **ret,
                          struct err *err)
{
	cleanup(buf_done) struct buf sql = { 0 };

	if (!has_sheet_parts(r)) {
		select_old_sheets(&sql, db_has_column(r->db, "sheet", "label"));
		return history_prepare_for_job(r, sql.at, key, ret, err);
	}
	buf_puts(&sql, "SELECT ");
	record_columns_select(&sql, &sheet_fields_read);
	sheet_columns_select_use(&sql);
	sheet_columns_select_parts(&sql);
	buf_printf(
		&sql,
		" FROM sheet t LEFT JOIN (" SHEET_SUMS_OF(
			SCHEMA_LATER_CPU, SCHEMA_LATER_PEAK, "%s",
			"%s") " AND p.sheet IS NOT NULL GROUP BY p.sheet) s"
			      " ON s.num = t.num AND t.status = 0 WHERE t.job = ?1 ORDER BY t.num",
		join_latest(r), history_is_member(r));
	return history_prepare_for_job(r, sql.at, key, ret, err);
}

static void read_sheet(const struct history *r, sqlite3_stmt *stmt, const struct job *job,
                       struct sheet_record *ret)
{
	int column = (int)sheet_fields_read.n;

	struct sheet_use parts;

	record_columns_read(stmt, 0, &sheet_fields_read, ret);
	sheet_columns_read_use(stmt, column, &ret->use);
	if (has_sheet_parts(r)) {
		sheet_columns_read_parts(stmt, column + SHEET_COLUMNS_USE, &ret->s, &parts);
		if (ret->s.status == JOB_RUNNING)
			ret->use = parts;
	}
	if (ret->s.status >= JOB_STATUS_COUNT ||
	    (ret->s.status == JOB_RUNNING && job->status == JOB_LOST))
		ret->s.status = JOB_LOST;
}

static int each_sheet(struct history *r, struct job_key key, const struct job *job,
                      reader_sheet_fn fn, void *self, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int n = 0, result = prepare_sheets(r, key, &stmt, err);

	while (result >= 0 && (result = history_next_row(stmt, SHEETS_MAX, &n, err)) > 0) {
		struct sheet_record s = { .s = { .is_shown = true } };

		read_sheet(r, stmt, job, &s);
		result = fn(self, &s);
	}
	return result < 0 ? result : n;
}

int history_sheets(struct history *r, struct job_key key, reader_sheet_fn fn, void *self,
                   struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	struct job job;
	int result = history_begin(r, &scope, err);

	if (result == 0)
		result = history_load_job(r, key, &job, err);
	return result <= 0 ? result : each_sheet(r, key, &job, fn, self, err);
}

#define RECORD struct process_record
static const struct field process_rows[] = {
	{ "p.pid", FIELD(NUMBER, id.pid) },
	{ "p.start_ticks", FIELD(NUMBER, id.start_ticks) },
	{ "p.ppid", FIELD(ORDINAL, ppid) },
	{ "p.uid", FIELD(NUMBER, uid) },
	{ "p.sheet", FIELD(ORDINAL, sheet) },
	{ "p.comm", FIELD(WORDS, comm) },
	{ "p.command", FIELD(WORDS, command) },
	{ "p.started", FIELD(ORDINAL, started_ns), .unit = UNIT_NS },
	{ "p.ended", FIELD(ORDINAL, ended_ns), .unit = UNIT_NS },
	{ "p.exit_code", FIELD(CODE, exit_code), .has = offsetof(RECORD, has_exit_code) },
	{ "p.signal", FIELD(ORDINAL, signal) },
	{ "p.core_dumped", FIELD(BOOL, core_dumped) },
	{ SCHEMA_LATER_CPU, FIELD(FIGURE, cpu_time_ns), .unit = UNIT_NS },
	{ SCHEMA_LATER_PEAK, FIELD(FIGURE, peak_rss_bytes), .unit = UNIT_MIB },
	{ SCHEMA_LATER("p.read_bytes", "v.read_bytes"), FIELD(FIGURE, read_bytes) },
	{ SCHEMA_LATER("p.write_bytes", "v.write_bytes"), FIELD(FIGURE, written_bytes) },
	{ SCHEMA_LATER("p.max_cpu", "v.max_cpu"), FIELD(RATIO, max_cpu_ratio) },
};
static const struct field_table process_columns = FIELD_TABLE(process_rows);
#undef RECORD

static int prepare_processes(struct history *r, struct job_key key, sqlite3_stmt **ret,
                             struct err *err)
{
	const char *final = db_has_column(r->db, "process", "final") ? "p.final" : "NULL";
	const char *one = db_has_column(r->db, "process", "job") ? SCHEMA_ONE_A_LIFE("job")
	                                                         : SCHEMA_ONE_A_LIFE("job_id");
	cleanup(buf_done) struct buf sql = { 0 };

	buf_puts(&sql, "SELECT ");
	record_columns_select(&sql, &process_columns);
	buf_printf(&sql, ", %s FROM process p%s WHERE %s%s ORDER BY p.started, p.id", final,
	           join_latest(r), history_is_member(r), one);
	return history_prepare_for_job(r, sql.at, key, ret, err);
}

static void set_exact(struct figure *figure, int64_t final, int64_t bit)
{
	if (figure_is_known(*figure))
		figure->quality = final & bit ? QUALITY_EXACT : QUALITY_SAMPLED;
}

int history_job_processes(struct history *r, struct job_key key, size_t limit, reader_process_fn fn,
                          void *self, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int n = 0, result = history_begin(r, &scope, err);

	if (result == 0)
		result = prepare_processes(r, key, &stmt, err);
	while (result >= 0 && (result = history_next_row(stmt, limit, &n, err)) > 0) {
		int64_t final = sqlite3_column_int64(stmt, (int)process_columns.n);
		struct process_record p = { .is_start_exact = final & FINAL_START };

		record_columns_read(stmt, 0, &process_columns, &p);
		set_exact(&p.cpu_time_ns, final, FINAL_CPU);
		if (!p.cpu_time_ns.value) /* none runs for nothing: it was less than /proc counts */
			p.cpu_time_ns = (struct figure){ 0 };
		set_exact(&p.peak_rss_bytes, final, FINAL_PEAK);
		if (final & FINAL_BOUND)
			p.peak_rss_bytes.quality = QUALITY_AT_MOST;
		set_exact(&p.read_bytes, final, FINAL_READ);
		set_exact(&p.written_bytes, final, FINAL_WRITE);
		result = fn(self, &p);
	}
	return result < 0 ? result : n;
}

/* The snapshots in which the job `j` ran. */
#define JOB_SAMPLES                                                                                \
	" job_sample m ON m.snapshot >= j.first_snapshot AND m.snapshot <="                        \
	" coalesce(j.last_snapshot, 9223372036854775807) AND m.job = j.id"

/* The last one is the end of the job: so the shares of CPU add up to its total. It is within the
 * allowed cores, as the others are: what is more was used before the last tick. */
static int prepare_sums(struct history *r, struct job_key key, sqlite3_stmt **ret, struct err *err)
{
	cleanup(buf_done) struct buf sql = { 0 };

	buf_puts(&sql, "SELECT s.time AS time");
	for (size_t i = 0; i < job_sample_columns.n; i++) {
		const char *column = job_sample_columns.at[i].key;

		buf_printf(&sql, ", %s%s",
		           db_has_column(r->db, "job_sample", column) ? "m." : "NULL AS ", column);
	}
	buf_puts(&sql, " FROM job j CROSS JOIN" JOB_SAMPLES
	               " CROSS JOIN snapshot s ON s.id = m.snapshot WHERE j.id = ?1");
#define COLUMN_LAST(column, type, member, unit, kind, key, last)                                 \
	", CAST(round(" last ") AS INTEGER)"
#define NONE(...)
	if (db_has_column(r->db, "job_sample", "used_kib"))
		buf_puts(&sql, " UNION ALL SELECT ended" JOB_SAMPLE_COLUMNS(COLUMN_LAST, NONE)
		               " FROM (" SCHEMA_LAST_SAMPLES
		               " AND j.id = ?1) WHERE ended > since AND rest_us IS NOT NULL");
	buf_puts(&sql, " ORDER BY 1");
	return history_prepare_for_job(r, sql.at, key, ret, err);
}

int history_job_sums(struct history *r, struct job_key key, size_t limit, reader_sum_fn fn,
                     void *self, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int n = 0, result = history_begin(r, &scope, err);

	if (result < 0 || !db_has_column(r->db, "job_sample", "job"))
		return result;
	result = prepare_sums(r, key, &stmt, err);
	while (result >= 0 && (result = history_next_row(stmt, limit, &n, err)) > 0) {
		struct job_sum_record sum = {
			.wall_ns = db_time_ns(sqlite3_column_double(stmt, 0)),
		};

		record_columns_read(stmt, 1, &job_sample_columns, &sum.sum);
		result = fn(self, &sum);
	}
	return result < 0 ? result : n;
}

#define RECORD struct anomaly_record
static const struct field anomaly_rows[] = {
	{ "a.kind", FIELD(STRING, kind) },
	{ "a.severity", FIELD(NUMBER, severity) },
	{ "a.pid", FIELD(ORDINAL, process.pid) },
	{ "a.start_ticks", FIELD(ORDINAL, process.start_ticks) },
	{ "iif(a.job, j.job_id, NULL)", FIELD(STRING, job_id) },
	{ "iif(a.job, j.uid, NULL)", FIELD(CODE, job_uid), .has = offsetof(RECORD, has_job_uid) },
	{ "a.sheet", FIELD(ORDINAL, sheet) },
	{ "a.began", FIELD(ORDINAL, began_ns), .unit = UNIT_NS },
	{ "a.ended", FIELD(ORDINAL, ended_ns), .unit = UNIT_NS },
	{ "a.value", FIELD(REAL, value) },
	{ "a.peak", FIELD(REAL, peak) },
	{ "a.threshold", FIELD(REAL, threshold) },
	{ "a.description", FIELD(WORDS, description) },
	{ "a.runs", FIELD(ORDINAL, runs) }, /* the last: older stores have none */
};
static const struct field_table anomaly_columns = FIELD_TABLE(anomaly_rows);
#undef RECORD

static int prepare_anomalies(struct history *r, struct job_key key,
                             const struct field_table *columns, sqlite3_stmt **ret, struct err *err)
{
	cleanup(buf_done) struct buf sql = { 0 };

	buf_puts(&sql, "SELECT ");
	record_columns_select(&sql, columns);
	buf_puts(&sql, " FROM job j JOIN anomaly a ON a.job = j.id WHERE j.id = ?1"
	               " UNION ALL SELECT ");
	record_columns_select(&sql, columns);
	buf_printf(&sql,
	           " FROM job j JOIN anomaly a ON a.id BETWEEN j.recorder << %d"
	           " AND (j.recorder + 1 << %d) - 1 WHERE j.id = ?1 AND a.pid IS NULL"
	           " AND a.job IS NULL AND coalesce(a.ended, a.began) >= j.started"
	           " AND a.began <= coalesce(j.ended, 1e12) ORDER BY 8",
	           SCHEMA_EPISODE_BITS, SCHEMA_EPISODE_BITS);
	return history_prepare_for_job(r, sql.at, key, ret, err);
}

int history_job_anomalies(struct history *r, struct job_key key, size_t limit, reader_anomaly_fn fn,
                          void *self, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	struct field_table columns = anomaly_columns;
	int n = 0, result = history_begin(r, &scope, err);

	if (result < 0 || !db_has_column(r->db, "anomaly", "kind"))
		return result;
	if (!db_has_column(r->db, "anomaly", "runs"))
		columns.n--;
	result = prepare_anomalies(r, key, &columns, &stmt, err);
	while (result >= 0 && (result = history_next_row(stmt, limit, &n, err)) > 0) {
		struct anomaly_record a = { 0 };

		record_columns_read(stmt, 0, &columns, &a);
		if (a.severity >= SEVERITY_COUNT)
			a.severity = SEVERITY_LOW;
		result = fn(self, &a);
	}
	return result < 0 ? result : n;
}

/* A mean over time: ticks are close at first. What was thinned out to minutes still has the extremes of
 * each. */
#define OVER_TIME(column)                                                                          \
	"coalesce(sum(" column " * t.dt) / nullif(sum(iif(" column                                 \
	" IS NULL, NULL, t.dt)), 0), avg(" column "))"
#define RECORD struct gpu_record
static const struct field gpu_rows[] = {
	{ "g.gpu_index", FIELD(NUMBER, index) },
	{ "max(g.name)", FIELD(STRING, name) },
	{ OVER_TIME("g.utilization_pct") " / 100", FIELD(REAL, util_mean_ratio) },
	{ "max(coalesce(g.utilization_pct_max, g.utilization_pct)) / 100.0",
	  FIELD(REAL, util_max_ratio) },
	{ "max(coalesce(g.memory_used_mb_max, g.memory_used_mb)) * 1048576",
	  FIELD(REAL, mem_peak_bytes) },
	{ "max(g.memory_total_mb) * 1048576", FIELD(REAL, mem_total_bytes) },
	{ OVER_TIME("g.power_w"), FIELD(REAL, power_mean_w) },
	{ "max(coalesce(g.power_w_max, g.power_w))", FIELD(REAL, power_max_w) },
	{ "total(iif(g.power_w IS NULL, t.dt, 0))", FIELD(REAL, no_power_s) },
	{ "max(o.kib) * 1024", FIELD(REAL, own_peak_bytes) },
	{ "max(o.gpu) IS NOT NULL", FIELD(BOOL, is_used) },
};
static const struct field_table gpu_columns = FIELD_TABLE(gpu_rows);
#undef RECORD

int history_job_gpus(struct history *r, struct job_key key, reader_gpu_fn fn, void *self,
                     struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int n = 0, result = history_begin(r, &scope, err);

	/* Older stores have neither. */
	if (result < 0 || !db_has_column(r->db, "job_sample", "job") ||
	    !db_has_column(r->db, "gpu", "snapshot"))
		return result;
	buf_puts(&sql,
	         "WITH t AS (SELECT m.snapshot AS snapshot, s.recorder AS recorder,"
	         " s.time - lag(s.time) OVER (ORDER BY s.time) AS dt FROM job j JOIN" JOB_SAMPLES
	         " JOIN snapshot s ON s.id = m.snapshot WHERE j.id = ?1) SELECT ");
	record_columns_select(&sql, &gpu_columns);
	buf_printf(&sql,
	           " FROM t CROSS JOIN gpu_metrics g ON g.snapshot_id = t.snapshot"
	           " LEFT JOIN (SELECT gpu, max(kib) AS kib FROM (SELECT u.gpu AS gpu,"
	           " sum(u.memory_used_kib) AS kib FROM t CROSS JOIN gpu_use u"
	           " ON u.snapshot = t.snapshot CROSS JOIN process p ON p.pid = u.pid"
	           " AND p.start_ticks = u.start_ticks AND p.recorder = t.recorder"
	           " WHERE %s AND NOT u.is_foreign GROUP BY u.snapshot, u.gpu) GROUP BY gpu) o"
	           " ON o.gpu = g.gpu_index GROUP BY g.gpu_index ORDER BY g.gpu_index",
	           history_is_member(r));
	result = history_prepare_for_job(r, sql.at, key, &stmt, err);
	while (result >= 0 && (result = history_next_row(stmt, SIZE_MAX, &n, err)) > 0) {
		struct gpu_record g;

		record_columns_read(stmt, 0, &gpu_columns, &g);
		result = fn(self, &g);
	}
	return result < 0 ? result : n;
}

/* A job's profile comes from the figures of its recorder; where there are none, from the rows of its
 * processes, whose totals are the kernel's; when those are gone, from the sums at the job's end. */

static struct figure at_least(uint64_t value, bool is_exact)
{
	return (struct figure){ value, is_exact ? QUALITY_EXACT : QUALITY_AT_LEAST };
}

static int read_totals(struct history *r, struct job_key key, struct job_profile *p,
                       struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int result;

	buf_printf(&sql,
	           "SELECT count(DISTINCT p.pid << 42 | p.start_ticks), count(DISTINCT p.pid),"
	           " sum(" SCHEMA_LATER_CPU "), max(" SCHEMA_LATER_PEAK "),"
	           " min(p.ended IS NOT NULL AND p.cpu_time_us IS NOT NULL),"
	           " min(p.peak_rss_kib IS NOT NULL) FROM process p%s WHERE %s",
	           join_latest(r), history_is_member(r));
	result = history_prepare_for_job(r, sql.at, key, &stmt, err);
	if (result == 0)
		result = db_step(stmt, err);
	if (result <= 0)
		return result;
	p->spawns = at_least((uint64_t)sqlite3_column_int64(stmt, 0), false);
	p->unique_pids = (uint64_t)sqlite3_column_int64(stmt, 1);
	p->cpu_time_ns = at_least((uint64_t)sqlite3_column_int64(stmt, 2) * NS_PER_US,
	                          sqlite3_column_int(stmt, 4) != 0);
	p->peak_rss_bytes = at_least((uint64_t)sqlite3_column_int64(stmt, 3) << 10,
	                             sqlite3_column_int(stmt, 5) != 0);
	return 0;
}

static int add_profile_sheet(void *self, const struct sheet_record *s)
{
	struct job_profile *p = self;
	struct profile_sheet *sheet = vec_push(&p->sheets, PROFILE_SHEETS_MAX);

	if (sheet)
		*sheet = (struct profile_sheet){ s->s.num, s->use.figures[SHEET_FIGURE_PEAK_RSS],
			                         s->use.max_cpu_ratio };
	return 0;
}

static void use_figure(struct figure *to, const struct figure *from)
{
	if (figure_is_known(*from))
		*to = *from;
}

/* The figure that the recorder reported, or that the store summed up at the end. */
static int add_syscall(void *self, const struct syscall_record *s)
{
	struct job_profile *p = self;
	struct syscall_record *slot = vec_push(&p->syscalls, SYSCALLS_MAX);

	if (slot)
		*slot = *s;
	return 0;
}

static void use_figures(struct job_profile *p, const struct job *job)
{
	uint64_t rows = p->spawns.value;

	memcpy(p->figures, job->figures, sizeof p->figures);
	use_figure(&p->cpu_time_ns, &job->figures[JOB_FIGURE_CPU]);
	use_figure(&p->peak_rss_bytes, &job->figures[JOB_FIGURE_PEAK_RSS]);
	use_figure(&p->spawns, &job->figures[JOB_FIGURE_PROCESSES]);
	/* A process that went on to another job took its row along: it counts as one pid more. */
	if (p->spawns.value > rows)
		p->unique_pids += p->spawns.value - rows;
}

static int read_profile(struct history *r, struct job_key key, struct job_profile *p,
                        struct err *err)
{
	struct job job;
	int result = history_load_job(r, key, &job, err);

	if (result == 0)
		return err_set(err, ENOENT, "no job '%.128s'", key.id);
	if (result > 0)
		result = read_totals(r, key, p, err);
	if (result < 0)
		return result;
	snprintf(p->job_id, sizeof p->job_id, "%s", job.id);
	use_figures(p, &job);
	result = each_sheet(r, key, &job, add_profile_sheet, p, err);
	if (result >= 0)
		result = history_each_syscall(r, key, 0, add_syscall, p, err);
	return MIN(result, 0);
}

int history_profile(struct history *r, struct job_key key, struct job_profile *ret, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	struct job_profile p = { 0 };
	int result = history_begin(r, &scope, err);

	if (result == 0)
		result = read_profile(r, key, &p, err);
	if (result < 0)
		history_record_profile_done(&p);
	else
		*ret = p;
	return result;
}
