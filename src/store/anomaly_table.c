/* SPDX-License-Identifier: MIT */
/* Anomalies: a row per episode, written when it begins and again when it changes. One whose beginning
 * could not be stored is stored whole with its end. */
#include <string.h>

#include "model/history_record.h"
#include "store/store_handle.h"

static const struct migration migrations[] = {
	{ 4,
	  "CREATE TABLE anomaly(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, severity INTEGER NOT NULL,"
	  " began REAL NOT NULL, ended REAL, pid INTEGER, start_ticks INTEGER, job INTEGER,"
	  " sheet INTEGER, value REAL, peak REAL, threshold REAL, description TEXT);"
	  "CREATE INDEX anomaly_job ON anomaly(job) WHERE job IS NOT NULL;",
	  NULL },
	{ 9, "ALTER TABLE anomaly ADD COLUMN runs INTEGER;", NULL },
	{ 0 },
};

static const struct statement statements[] = {
	{ "INSERT INTO anomaly(id, kind, severity, began, ended, pid, start_ticks,"
	  " job, sheet, value, peak, threshold, description, runs)"
	  " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
	  " ON CONFLICT DO UPDATE SET severity = ?3, ended = ?5, pid = ?6, start_ticks = ?7, job = ?8,"
	  " sheet = ?9, peak = ?11, description = ?13" },
	{ 0 },
};

static int put_one(struct store *st, const struct snapshot *snap, const struct anomaly *a,
                   struct buf *text, struct err *err)
{
	struct anomaly_record row = history_record_of_anomaly(a, snap, text);
	int64_t job = job_table_row(st, a->job);

	return statement_run(
		st, &statements[0],
		BINDS(bind_int(st->recorder << SCHEMA_EPISODE_BITS | (int64_t)a->seq),
	              bind_str(row.kind), bind_int(row.severity), bind_real(db_time(row.began_ns)),
	              bind_time(row.ended_ns), bind_nonzero(row.process.pid),
	              bind_int_if(row.process.pid, (int64_t)row.process.start_ticks),
	              bind_nonzero(job), bind_nonzero(job ? row.sheet : 0), bind_real(row.value),
	              bind_real(row.peak), bind_real(row.threshold),
	              bind_text(row.description, text->len), bind_nonzero(row.runs)),
		err);
}

static int put(struct store *st, const struct snapshot *snap, struct err *err)
{
	cleanup(buf_done) struct buf text = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < snap->anomalies.len; i++) {
		const struct anomaly *a = &snap->anomalies.at[i];

		if (a->news != ANOMALY_SAME &&
		    snapshot_scope_has_anomaly(&snapshot_scope_ours, snap, a))
			r = put_one(st, snap, a, &text, err);
	}
	return r;
}

static int retain(struct store *st, double before, struct err *err)
{
	return retention_delete_before(st,
	                               "DELETE FROM anomaly WHERE id IN (SELECT id FROM anomaly"
	                               " WHERE coalesce(ended, began) < ?1 LIMIT ?2)",
	                               before, err);
}

static void put_anomalies(struct buf *sql)
{
	const char *names[SEVERITY_COUNT];

	for (enum severity i = 0; i < SEVERITY_COUNT; i++)
		names[i] = anomaly_severity_name(i);
	buf_puts(sql, "CREATE VIEW anomalies AS SELECT a.id AS id, a.began AS timestamp,"
	              " a.kind AS anomaly_type, ");
	column_put_case(sql, "a.severity", names, SEVERITY_COUNT);
	buf_printf(
		sql,
		" AS severity, a.pid AS pid, j.job_id AS job_id, a.sheet AS sheet_num,"
		" a.description AS description, a.value AS metric_value, a.threshold AS threshold,"
		" a.peak AS peak, a.ended AS ended, a.id >> %d AS recorder, j.uid AS uid,"
		" iif(a.runs, 'history', 'threshold') AS basis, a.runs AS earlier_runs"
		" FROM anomaly a LEFT JOIN job j ON j.id = a.job",
		SCHEMA_EPISODE_BITS);
}

static const struct view views[] = { { "anomalies", put_anomalies }, { 0 } };

static const struct table_ids ids[] = {
	{ "anomaly", { { "id", ID_ANOMALY }, { "job", ID_JOB } } },
	{ 0 },
};

static const char *const remove_job[] = { "DELETE FROM anomaly WHERE job = ?1", NULL };

const struct store_table anomaly_table = {
	.name = "anomaly",
	.migrations = migrations,
	.statements = statements,
	.put = put,
	.on_flush = true,
	.retain = retain,
	.end_recorder = "UPDATE anomaly SET ended = max(began, (SELECT r.ended FROM recorder r"
			" WHERE r.id = ?1)) WHERE id BETWEEN ?1 << 32 AND (?1 + 1 << 32) - 1"
			" AND ended IS NULL",
	.views = views,
	.remove_job = remove_job,
	.ids = ids,
};
static_assert(SCHEMA_EPISODE_BITS == 32, "the number in the text above");
