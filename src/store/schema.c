/* SPDX-License-Identifier: MIT */
#include "store/schema.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sqlite/column.h"
#include "sqlite/job_column.h"
#include "store/schema_stamp.h"
#include "store/sql_views.h"

#define STAMP_MAX 64

/* Step n brings version n to n + 1. Integers are declared, but 0 and 1 cost nothing and NULL
 * neither, so what is usual is coded as one of these. */
static const char *const steps[] = {
	/* 0 → 1 */
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE recorder(id INTEGER PRIMARY KEY, kind TEXT, boot_id TEXT, pid INTEGER, host TEXT,"
	" version TEXT, interval_us INTEGER, started REAL, started_boot_us INTEGER, ended REAL);"
	"CREATE TABLE keyframe(id INTEGER PRIMARY KEY, recorder INTEGER NOT NULL, resolution INTEGER,"
	" first INTEGER NOT NULL, last INTEGER, begins REAL NOT NULL, ends REAL);"
	"CREATE TABLE snapshot(id INTEGER PRIMARY KEY, kf INTEGER NOT NULL, at INTEGER NOT NULL,"
	" time REAL NOT NULL, recorder INTEGER NOT NULL, resolution INTEGER, boot_us INTEGER,"
	" seq INTEGER);"
	"CREATE INDEX snapshot_time ON snapshot(time);"
	/* Beside it, because histories walk over the snapshots and need none of this. */
	"CREATE TABLE host(id INTEGER PRIMARY KEY, elapsed_us INTEGER, processes INTEGER,"
	" zombies INTEGER, complete INTEGER, pressure INTEGER, running_jobs INTEGER,"
	" active_sheets INTEGER, cpu INTEGER, iowait INTEGER, steal INTEGER, self_cpu INTEGER);"
	"CREATE TABLE host_range(id INTEGER PRIMARY KEY, cpu_min INTEGER, cpu_max INTEGER);"
	"CREATE TABLE cgroup(id INTEGER PRIMARY KEY);"
	"CREATE TABLE process(id INTEGER PRIMARY KEY, recorder INTEGER NOT NULL, pid INTEGER NOT NULL,"
	" ppid INTEGER, start_ticks INTEGER, first INTEGER, last INTEGER, job_id TEXT, sheet INTEGER,"
	" started REAL, ended REAL, exit_code INTEGER, signal INTEGER, core_dumped INTEGER,"
	" uid INTEGER, comm TEXT, command TEXT, syscall_counts TEXT, syscall_time_pct TEXT,"
	" max_cpu INTEGER, max_rss_kib INTEGER);"
	"CREATE INDEX process_pid ON process(pid, start_ticks);"
	"CREATE INDEX process_job ON process(job_id) WHERE job_id IS NOT NULL;"
	"CREATE INDEX process_alive ON process(recorder) WHERE last IS NULL AND first IS NOT NULL;"
	"CREATE TABLE sample_base(id INTEGER PRIMARY KEY, proc INTEGER NOT NULL, changed INTEGER,"
	" state INTEGER,"
	" cpu INTEGER);"
	"CREATE TABLE sample_change(id INTEGER PRIMARY KEY, state INTEGER, cpu INTEGER);"
	"CREATE TABLE sample_detail(id INTEGER PRIMARY KEY);"
	"CREATE TABLE sample_range(id INTEGER PRIMARY KEY, cpu_min INTEGER, cpu_max INTEGER);"
	"CREATE TABLE event(id INTEGER PRIMARY KEY, time REAL NOT NULL, kind INTEGER NOT NULL,"
	" proc INTEGER, recorder INTEGER NOT NULL, exit_code INTEGER, signal INTEGER,"
	" sender_pid INTEGER, sender_uid INTEGER, sender_comm TEXT, count INTEGER, inferred INTEGER,"
	" details TEXT);"
	"CREATE INDEX event_time ON event(time);"
	"CREATE INDEX event_proc ON event(proc) WHERE proc IS NOT NULL;"
	"CREATE TABLE job(id INTEGER PRIMARY KEY, job_id TEXT NOT NULL UNIQUE, type TEXT NOT NULL,"
	" recorder INTEGER, status INTEGER NOT NULL, started REAL, ended REAL, exit_code INTEGER,"
	" signal INTEGER, total_sheets INTEGER, last_completed_sheet INTEGER, current_sheet INTEGER,"
	" tags TEXT, processes INTEGER, cpu_time_us INTEGER, peak_rss_kib INTEGER);"
	"CREATE TABLE sheet(job INTEGER NOT NULL, num INTEGER NOT NULL, status INTEGER, started REAL,"
	" ended REAL, processes INTEGER, cpu_time_us INTEGER, peak_rss_kib INTEGER, max_cpu INTEGER,"
	" PRIMARY KEY(job, num)) WITHOUT ROWID;",
	/* 1 → 2: jobs as a whole, their sheets as they are told, and what a job held at each
	 * snapshot. The sum of CPU time takes the name of the job's figure; the old one still
	 * works. */
	"ALTER TABLE job RENAME COLUMN cpu_time_us TO cpu_us;"
	"ALTER TABLE job ADD COLUMN cpu_time_us INTEGER AS (cpu_us);"
	"ALTER TABLE job ADD COLUMN type_given INTEGER;"
	"ALTER TABLE job ADD COLUMN parent TEXT;"
	"ALTER TABLE job ADD COLUMN command TEXT;"
	"ALTER TABLE job ADD COLUMN cwd TEXT;"
	"ALTER TABLE job ADD COLUMN uid INTEGER;"
	"ALTER TABLE job ADD COLUMN tier TEXT;"
	"ALTER TABLE job ADD COLUMN interval_us INTEGER;"
	"ALTER TABLE job ADD COLUMN took_us INTEGER;"
	"ALTER TABLE job ADD COLUMN core_dumped INTEGER;"
	"ALTER TABLE job ADD COLUMN limits_hit INTEGER;"
	"ALTER TABLE job ADD COLUMN hungriest_pid INTEGER;"
	"ALTER TABLE job ADD COLUMN hungriest TEXT;"
	"ALTER TABLE job ADD COLUMN first_snapshot INTEGER;"
	"ALTER TABLE job ADD COLUMN last_snapshot INTEGER;"
	"CREATE INDEX job_started ON job(started, type) WHERE started IS NOT NULL;"
	"CREATE INDEX job_running ON job(recorder) WHERE status = 0;"
	"CREATE INDEX recorder_alive ON recorder(id) WHERE ended IS NULL;"
	"ALTER TABLE sheet ADD COLUMN label TEXT;"
	"ALTER TABLE sheet ADD COLUMN exit_code INTEGER;"
	"ALTER TABLE sheet ADD COLUMN signal INTEGER;"
	"ALTER TABLE sheet ADD COLUMN pid INTEGER;"
	"ALTER TABLE sheet ADD COLUMN cpu_time_us_q INTEGER;"
	"ALTER TABLE sheet ADD COLUMN peak_rss_kib_q INTEGER;"
	"UPDATE sheet SET cpu_time_us_q = iif(cpu_time_us IS NULL, NULL, 2),"
	" peak_rss_kib_q = iif(peak_rss_kib IS NULL, NULL, 2);"
	"CREATE TABLE job_sample(snapshot INTEGER NOT NULL, job INTEGER NOT NULL, procs INTEGER,"
	" rss_kib INTEGER, cpu INTEGER, procs_min INTEGER, procs_max INTEGER, rss_kib_min INTEGER,"
	" rss_kib_max INTEGER, cpu_min INTEGER, cpu_max INTEGER, PRIMARY KEY(snapshot, job))"
	" WITHOUT ROWID;"
	"ALTER TABLE process ADD COLUMN final INTEGER;"
	"DROP INDEX process_job;"
	"CREATE INDEX process_job ON process(job_id, sheet) WHERE job_id IS NOT NULL;"
	"ALTER TABLE event ADD COLUMN name TEXT;"
	"ALTER TABLE event ADD COLUMN job INTEGER;"
	"ALTER TABLE event ADD COLUMN sheet INTEGER;"
	"CREATE INDEX event_job ON event(job) WHERE job IS NOT NULL;"
	"CREATE INDEX event_own ON event(recorder, time) WHERE proc IS NULL;",
	/* 2 → 3: GPUs, who they are, and what processes do on them. With the columns of its day,
	 * because adding each takes SQLite longer. */
	"CREATE TABLE gpu_device(id INTEGER PRIMARY KEY, uuid TEXT NOT NULL, name TEXT NOT NULL,"
	" UNIQUE(uuid, name));"
	"CREATE TABLE gpu(snapshot INTEGER NOT NULL, gpu INTEGER NOT NULL, device INTEGER,"
	" utilization_pct INTEGER, memory_util_pct INTEGER, memory_used_kib INTEGER,"
	" memory_total_kib INTEGER, temperature_c INTEGER, power_w_milli INTEGER,"
	" sm_clock_mhz INTEGER, mem_clock_mhz INTEGER, PRIMARY KEY(snapshot, gpu)) WITHOUT ROWID;"
	"CREATE TABLE gpu_range(snapshot INTEGER NOT NULL, gpu INTEGER NOT NULL,"
	" utilization_pct_min INTEGER, utilization_pct_max INTEGER, memory_util_pct_min INTEGER,"
	" memory_util_pct_max INTEGER, memory_used_kib_min INTEGER, memory_used_kib_max INTEGER,"
	" memory_total_kib_min INTEGER, memory_total_kib_max INTEGER, temperature_c_min INTEGER,"
	" temperature_c_max INTEGER, power_w_milli_min INTEGER, power_w_milli_max INTEGER,"
	" sm_clock_mhz_min INTEGER, sm_clock_mhz_max INTEGER, mem_clock_mhz_min INTEGER,"
	" mem_clock_mhz_max INTEGER, PRIMARY KEY(snapshot, gpu)) WITHOUT ROWID;"
	"CREATE TABLE gpu_use(snapshot INTEGER NOT NULL, gpu INTEGER NOT NULL, pid INTEGER NOT NULL,"
	" start_ticks INTEGER, is_foreign INTEGER, memory_used_kib INTEGER, sm_pct INTEGER,"
	" PRIMARY KEY(snapshot, gpu, pid)) WITHOUT ROWID;",
	/* 3 → 4: anomalies, a row an episode. */
	"CREATE TABLE anomaly(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, severity INTEGER NOT NULL,"
	" began REAL NOT NULL, ended REAL, pid INTEGER, start_ticks INTEGER, job INTEGER,"
	" sheet INTEGER, value REAL, peak REAL, threshold REAL, description TEXT);"
	"CREATE INDEX anomaly_job ON anomaly(job) WHERE job IS NOT NULL;",
};

static_assert(QUALITY_AT_LEAST == 2, "the number above");
static_assert(ARRAY_LEN(steps) == SCHEMA_VERSION, "one step a version");

/* What every client's planner is told about the tables (it reads sqlite_stat1 when it opens).
 * The figures are not counts: they say that a keyframe holds few rows and that processes are
 * many, so that a snapshot is read through its keyframe, and a pid's or a job's history through
 * its processes. */
static const char *const stats[][3] = {
	{ "sample_base", NULL, "5000" },
	{ "sample_change", NULL, "100000" },
	{ "process", "process_pid", "1000000 3 1" },
	{ "process", "process_job", "1000000 20 5" },
	{ "snapshot", "snapshot_time", "100000 1" },
	{ "event", "event_time", "1000000 1" },
	{ "event", "event_proc", "1000000 3" },
};

static int add_column(sqlite3 *db, const char *table, const char *column, const char *suffix,
                      struct err *err)
{
	char name[COLUMN_NAME_MAX + 8], sql[256];

	snprintf(name, sizeof name, "%s%s", column, suffix);
	if (db_has_column(db, table, name))
		return 0;
	snprintf(sql, sizeof sql, "ALTER TABLE %s ADD COLUMN %s INTEGER", table, name);
	return db_exec(db, sql, err);
}

/* One column a metric, or two for the extremes. */
static int add_metric(sqlite3 *db, const char *table, const struct metric *m, bool is_range,
                      struct err *err)
{
	char name[COLUMN_NAME_MAX];
	int r;

	column_name(m, name);
	if (!is_range)
		return add_column(db, table, name, "", err);
	r = add_column(db, table, name, "_min", err);
	return r < 0 ? r : add_column(db, table, name, "_max", err);
}

static int sync_process_columns(sqlite3 *db, struct err *err)
{
	struct columns all = columns_all();
	int r = 0;

	for (size_t i = 0; r == 0 && i < CELL_METRICS; i++) {
		const struct metric *m = &proc_metrics[all.cell[i]];

		r = add_metric(db, "sample_base", m, false, err);
		if (r == 0)
			r = add_metric(db, "sample_change", m, false, err);
		if (r == 0)
			r = add_metric(db, "sample_range", m, true, err);
	}
	for (size_t i = 0; r == 0 && i < DETAIL_METRICS; i++)
		r = add_metric(db, "sample_detail", &proc_metrics[all.detail[i]], false, err);
	for (size_t i = 0; r == 0 && i < TOTAL_METRICS; i++)
		r = add_metric(db, "process", &proc_metrics[all.total[i]], false, err);
	return r;
}

static int sync_columns(sqlite3 *db, struct err *err)
{
	int r = sync_process_columns(db, err);

	for (size_t i = 0; r == 0 && i < HOST_METRIC_COUNT; i++) {
		r = add_metric(db, "host", &host_metrics[i], false, err);
		if (r == 0 && host_metrics[i].kind == METRIC_GAUGE)
			r = add_metric(db, "host_range", &host_metrics[i], true, err);
	}
	for (size_t i = 0; r == 0 && i < CGROUP_METRIC_COUNT; i++)
		r = add_metric(db, "cgroup", &cgroup_metrics[i], false, err);
	for (size_t i = 0; r == 0 && i < GPU_METRIC_COUNT; i++) {
		r = add_metric(db, "gpu", &gpu_metrics[i], false, err);
		if (r == 0)
			r = add_metric(db, "gpu_range", &gpu_metrics[i], true, err);
	}
	for (size_t i = 0; r == 0 && i < GPU_USE_METRIC_COUNT; i++)
		r = add_metric(db, "gpu_use", &gpu_use_metrics[i], false, err);
	for (size_t i = JOB_COLUMN_ROOT_PID; r == 0 && i < JOB_COLUMN_COUNT; i++) {
		char name[COLUMN_NAME_MAX];

		r = add_column(db, "job", job_column_name(i, name), "", err);
	}
	return r;
}

/* 1 when the text in the database is this one. */
static int is_current(sqlite3 *db, const char *name, const char *sql, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db, "SELECT sql = ?2 FROM sqlite_schema WHERE name = ?1", &stmt, err);

	if (r < 0)
		return r;
	sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, sql, -1, SQLITE_STATIC);
	r = db_step(stmt, err);
	return r > 0 ? sqlite3_column_int(stmt, 0) : r;
}

static int sync_view(sqlite3 *db, const struct view *view, struct err *err)
{
	struct buf sql = { 0 };
	char drop[96];
	int r;

	view->put(&sql);
	r = is_current(db, view->name, sql.at, err);
	if (r == 0) {
		snprintf(drop, sizeof drop, "DROP VIEW IF EXISTS %s", view->name);
		r = db_exec(db, drop, err);
		if (r == 0)
			r = db_exec(db, sql.at, err);
	}
	buf_done(&sql);
	return MIN(r, 0);
}

static int stats_are_ours(sqlite3 *db, struct err *err)
{
	int64_t found = 0, all = 0;
	int r;

	if (!db_has_column(db, "sqlite_stat1", "stat"))
		return 0;
	r = db_int(db, "SELECT count(*) FROM sqlite_stat1", &all, err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(stats); i++) {
		char sql[256];
		int64_t n = 0;

		snprintf(
			sql, sizeof sql,
			"SELECT count(*) FROM sqlite_stat1 WHERE tbl='%s' AND ifnull(idx,'')='%s' AND stat='%s'",
			stats[i][0], stats[i][1] ? stats[i][1] : "", stats[i][2]);
		r = db_int(db, sql, &n, err);
		found += n;
	}
	return r < 0 ? r : found == (int64_t)ARRAY_LEN(stats) && all == found;
}

static int sync_stats(sqlite3 *db, struct err *err)
{
	int r = stats_are_ours(db, err);

	if (r != 0)
		return MIN(r, 0);
	r = db_exec(db, "ANALYZE sqlite_schema; DELETE FROM sqlite_stat1", err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(stats); i++) {
		char sql[256];

		snprintf(sql, sizeof sql,
		         "INSERT INTO sqlite_stat1 VALUES('%s',nullif('%s',''),'%s')", stats[i][0],
		         stats[i][1] ? stats[i][1] : "", stats[i][2]);
		r = db_exec(db, sql, err);
	}
	return r < 0 ? r : db_exec(db, "ANALYZE sqlite_schema", err);
}

static int migrate(sqlite3 *db, int64_t *ret_from, struct err *err)
{
	int64_t version;
	char pragma[64];
	int r = db_int(db, "PRAGMA user_version", &version, err);

	if (r < 0)
		return r;
	if (version > SCHEMA_VERSION)
		return err_set(err, EINVAL, "'%s' has schema version %lld, this proctor knows %d",
		               sqlite3_db_filename(db, "main"), (long long)version, SCHEMA_VERSION);
	*ret_from = version;
	if (version == SCHEMA_VERSION)
		return 0;
	for (; version < SCHEMA_VERSION; version++) {
		r = db_exec(db, steps[version], err);
		if (r < 0)
			return r;
	}
	snprintf(pragma, sizeof pragma, "PRAGMA user_version=%d", SCHEMA_VERSION);
	r = db_exec(db, pragma, err);
	snprintf(pragma, sizeof pragma, "PRAGMA application_id=%d", SCHEMA_APPLICATION_ID);
	return r < 0 ? r : db_exec(db, pragma, err);
}

/* With SQLite's own counter, which moves whenever anybody changes the schema. */
static int put_stamp(sqlite3 *db, char to[STAMP_MAX], struct err *err)
{
	int64_t cookie;
	int r = db_int(db, "PRAGMA schema_version", &cookie, err);

	if (r == 0)
		snprintf(to, STAMP_MAX, "%s %lld", SCHEMA_STAMP, (long long)cookie);
	return r;
}

/* 1 when nothing has to be done. */
static int has_stamp(sqlite3 *db, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	char stamp[STAMP_MAX];
	int64_t version;
	int r = db_int(db, "PRAGMA user_version", &version, err);

	if (r < 0 || version != SCHEMA_VERSION)
		return MIN(r, 0);
	r = put_stamp(db, stamp, err);
	if (r == 0)
		r = db_prepare(db, "SELECT value = ?1 FROM meta WHERE key = 'schema'", &stmt, err);
	if (r < 0)
		return r;
	sqlite3_bind_text(stmt, 1, stamp, -1, SQLITE_STATIC);
	r = db_step(stmt, err);
	return r > 0 ? sqlite3_column_int(stmt, 0) : r;
}

static int set_stamp(sqlite3 *db, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	char stamp[STAMP_MAX];
	int r = put_stamp(db, stamp, err);

	if (r == 0)
		r = db_prepare(db, "INSERT OR REPLACE INTO meta VALUES('schema', ?1)", &stmt, err);
	if (r < 0)
		return r;
	sqlite3_bind_text(stmt, 1, stamp, -1, SQLITE_STATIC);
	return db_run(stmt, err);
}

/* What a step says about columns which are made after it. The sums of version 1 are of those
 * processes that were known: at least so much. */
static int settle(sqlite3 *db, int64_t from, struct err *err)
{
	if (from != 1)
		return 0;
	return db_exec(db,
	               "UPDATE job SET processes_q = iif(processes IS NULL, NULL, 2),"
	               " cpu_us_q = iif(cpu_us IS NULL, NULL, 2),"
	               " peak_rss_kib_q = iif(peak_rss_kib IS NULL, NULL, 2)",
	               err);
}

static int apply(sqlite3 *db, struct err *err)
{
	int64_t from = 0;
	int r = migrate(db, &from, err);

	if (r == 0)
		r = sync_columns(db, err);
	if (r == 0)
		r = settle(db, from, err);
	for (size_t i = 0; r == 0 && i < VIEW_COUNT; i++)
		r = sync_view(db, &views[i], err);
	if (r == 0)
		r = sync_stats(db, err);
	return r < 0 ? r : set_stamp(db, err);
}

int schema_apply(sqlite3 *db, bool thorough, struct err *err)
{
	int r = has_stamp(db, err);

	if (r > 0 && thorough)
		r = stats_are_ours(db, err);
	if (r != 0)
		return MIN(r, 0);
	r = db_exec(db, "BEGIN IMMEDIATE", err);
	if (r < 0)
		return r;
	r = apply(db, err);
	if (r == 0)
		r = db_exec(db, "COMMIT", err);
	if (r < 0)
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}
