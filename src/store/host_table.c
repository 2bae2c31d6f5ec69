/* SPDX-License-Identifier: MIT */
/* What the machine showed at a snapshot. Beside the snapshot's row, because histories walk over the
 * snapshots and need none of this. */
#include <string.h>

#include "store/schema.h"
#include "store/store_handle.h"

static const struct migration migrations[] = {
	{ 1,
	  "CREATE TABLE host(id INTEGER PRIMARY KEY, elapsed_us INTEGER, processes INTEGER,"
	  " zombies INTEGER, complete INTEGER, pressure INTEGER, running_jobs INTEGER,"
	  " active_sheets INTEGER, cpu INTEGER, iowait INTEGER, steal INTEGER, self_cpu INTEGER);"
	  "CREATE TABLE host_range(id INTEGER PRIMARY KEY, cpu_min INTEGER, cpu_max INTEGER);",
	  NULL },
	{ 0 },
};

static void build_put(struct buf *sql)
{
	buf_puts(sql, "INSERT INTO host(id, elapsed_us, processes, zombies, complete,"
	              " pressure, running_jobs, active_sheets, cpu, iowait, steal, self_cpu");
	statement_put_columns(sql, host_metrics, NULL, HOST_METRIC_COUNT, "", "");
	statement_put_values(sql, 12 + HOST_METRIC_COUNT);
}

static void build_put_range(struct buf *sql)
{
	uint8_t ids[64];
	size_t n = statement_gauges(host_metrics, HOST_METRIC_COUNT, ids);

	buf_puts(sql, "INSERT INTO host_range(id, cpu_min, cpu_max");
	statement_put_columns(sql, host_metrics, ids, n, "", "_min");
	statement_put_columns(sql, host_metrics, ids, n, "", "_max");
	buf_puts(sql, ") SELECT ?1, min(cpu), max(cpu)");
	statement_put_columns(sql, host_metrics, ids, n, "min(", ")");
	statement_put_columns(sql, host_metrics, ids, n, "max(", ")");
	buf_puts(sql, " FROM host" STATEMENT_MINUTE("id"));
}

static void build_set_means(struct buf *sql)
{
	statement_put_means(
		sql, "host", host_metrics, HOST_METRIC_COUNT,
		"elapsed_us, processes, zombies, complete, pressure, running_jobs,"
		" active_sheets, cpu, iowait, steal, self_cpu",
		"sum(elapsed_us), " STATEMENT_MEAN(
			"processes") ", max(zombies),"
				     " min(complete), max(pressure), max(running_jobs), max(active_sheets), " STATEMENT_MEAN(
					     "cpu") ", " STATEMENT_MEAN("iowait") ", " STATEMENT_MEAN("steal") ", " STATEMENT_MEAN("self_cpu"));
}

enum { PUT, PUT_RANGE, SET_MEANS };

static const struct statement statements[] = {
	[PUT] = { .build = build_put },
	[PUT_RANGE] = { .build = build_put_range },
	[SET_MEANS] = { .build = build_set_means },
};

static int64_t pressure_code(const char *level)
{
	for (int i = 0; level && i < SCHEMA_PRESSURES; i++)
		if (!strcmp(level, schema_pressure_names[i]))
			return i;
	return COLUMN_ABSENT;
}

static int put(struct store *st, const struct snapshot *snap, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, &statements[PUT], err);
	struct snapshot_counts n = snapshot_scope_count(&snapshot_scope_ours, snap);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, st->snapshots.next);
	db_bind_or_null(stmt, 2,
	                snap->elapsed_ns ? (int64_t)(snap->elapsed_ns / NS_PER_US) : COLUMN_ABSENT);
	db_bind_or_null(stmt, 3,
	                snap->procs_complete || n.procs ? (int64_t)n.procs : COLUMN_ABSENT);
	sqlite3_bind_int64(stmt, 4, (int64_t)n.zombies);
	sqlite3_bind_int64(stmt, 5, snap->procs_complete);
	db_bind_or_null(stmt, 6, pressure_code(snap->pressure_level));
	sqlite3_bind_int64(stmt, 7, n.running_jobs);
	sqlite3_bind_int64(stmt, 8, n.active_sheets);
	db_bind_or_null(stmt, 9, column_ratio(snap->cpu_busy_ratio));
	db_bind_or_null(stmt, 10, column_ratio(snap->cpu_iowait_ratio));
	db_bind_or_null(stmt, 11, column_ratio(snap->cpu_steal_ratio));
	db_bind_or_null(stmt, 12, column_ratio(snap->self_cpu_ratio));
	statement_bind_readings(stmt, 13, host_metrics, HOST_METRIC_COUNT, snap->host.present,
	                        snap->host.value);
	return db_run(stmt, err);
}

static int downsample_minute(struct store *st, const struct minute *m, struct err *err)
{
	int r = statement_run_with(st, &statements[PUT_RANGE], m->first, m->last, m->keyframe, err);

	return r < 0 ? r
	             : statement_run_with(st, &statements[SET_MEANS], m->first, m->last,
	                                  m->keyframe, err);
}

static int add_columns(sqlite3 *db, struct err *err)
{
	uint8_t ids[64];
	size_t n = statement_gauges(host_metrics, HOST_METRIC_COUNT, ids);
	int r = schema_add_metrics(db, "host", host_metrics, NULL, HOST_METRIC_COUNT, "", err);

	if (r == 0)
		r = schema_add_metrics(db, "host_range", host_metrics, ids, n, "_min", err);
	return r < 0 ? r : schema_add_metrics(db, "host_range", host_metrics, ids, n, "_max", err);
}

static void put_host_metrics(struct buf *sql)
{
	buf_puts(sql, "CREATE VIEW host_metrics AS SELECT s.id AS snapshot_id, s.time AS timestamp,"
	              " s.recorder AS recorder, s.resolution AS resolution_seconds,"
	              " h.cpu/10.0 AS cpu_percent, h.iowait/10.0 AS iowait_percent,"
	              " h.steal/10.0 AS steal_percent, h.self_cpu/10.0 AS recorder_cpu_percent");
	for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
		column_select(sql, &host_metrics[i], "h", "");
	buf_puts(sql, " FROM snapshot s JOIN host h ON h.id = s.id");
}

static const struct view views[] = { { "host_metrics", put_host_metrics }, { 0 } };

static const char *const delete_keyframe[] = {
	"DELETE FROM host WHERE id IN " STATEMENT_SNAPSHOTS,
	"DELETE FROM host_range WHERE id IN " STATEMENT_SNAPSHOTS,
	NULL,
};

static const struct table_ids ids[] = {
	{ "host", { { "id", ID_SNAPSHOT } } },
	{ "host_range", { { "id", ID_SNAPSHOT } } },
	{ 0 },
};

const struct store_table host_table = {
	.name = "host",
	.migrations = migrations,
	.add_columns = add_columns,
	.statements = statements,
	.statement_count = ARRAY_LEN(statements),
	.put = put,
	.downsample = downsample_minute,
	.delete_keyframe = delete_keyframe,
	.views = views,
	.ids = ids,
};
