/* SPDX-License-Identifier: MIT */
#include "store/sql_views.h"

#include <stdio.h>

#include "model/event.h"
#include "sqlite/column.h"
#include "store/schema.h"
#include "store/anomaly_view.h"
#include "store/gpu_views.h"
#include "store/job_views.h"

/* "s.rss_kib/1024.0 AS rss_mb" */
static void put_metric(struct buf *sql, const struct metric *m, const char *table)
{
	char name[COLUMN_NAME_MAX], column[COLUMN_NAME_MAX + 16];

	column_name(m, name);
	snprintf(column, sizeof column, "%s.%s", table, name);
	buf_puts(sql, ", ");
	column_shown(sql, m, column);
	buf_printf(sql, " AS %s", m->key);
}

#define CELL "coalesce(x.%s, w.%s, b.%s)"

/* A cell: what the change of this snapshot says, or the latest before, or else the keyframe's row.
 * -1 in a change is "absent". */
static void put_cell(struct buf *sql, const char *c, const char *shown, const char *key)
{
	buf_printf(sql, ", CASE " CELL " WHEN -1 THEN NULL ELSE " CELL "%s END AS %s", c, c, c, c,
	           c, c, shown, key);
}

static void put_cell_metric(struct buf *sql, enum proc_metric id)
{
	struct buf shown = { 0 };
	char name[COLUMN_NAME_MAX];

	column_name(&proc_metrics[id], name);
	column_shown(&shown, &proc_metrics[id], "");
	put_cell(sql, name, shown.at, proc_metrics[id].key);
	buf_done(&shown);
}

void view_put_case(struct buf *sql, const char *column, const char *const *names, size_t n)
{
	buf_printf(sql, "CASE %s", column);
	for (size_t i = 0; i < n; i++)
		buf_printf(sql, " WHEN %zu THEN '%s'", i, names[i]);
	buf_puts(sql, " END");
}

/* The outer join falls away for whoever asks for nothing of the host's. */
static void put_snapshots(struct buf *sql)
{
	buf_puts(sql, "CREATE VIEW snapshots AS SELECT s.id AS id, s.time AS timestamp,"
	              " (SELECT r.pid FROM recorder r WHERE r.id = s.recorder) AS daemon_pid");
	put_metric(sql, &host_metrics[HOST_MEM_TOTAL], "h");
	put_metric(sql, &host_metrics[HOST_MEM_AVAILABLE], "h");
	put_metric(sql, &host_metrics[HOST_MEM_USED], "h");
	put_metric(sql, &host_metrics[HOST_SELF_RSS], "h");
	buf_puts(sql, ", h.processes AS child_count, h.zombies AS zombie_count");
	put_metric(sql, &host_metrics[HOST_LOAD_1], "h");
	put_metric(sql, &host_metrics[HOST_LOAD_5], "h");
	put_metric(sql, &host_metrics[HOST_LOAD_15], "h");
	view_put_gpu_columns(sql);
	buf_puts(sql, ", ");
	view_put_case(sql, "h.pressure", schema_pressure_names, SCHEMA_PRESSURES);
	buf_puts(sql, " AS pressure_level, h.running_jobs AS running_jobs,"
	              " h.active_sheets AS active_sheets"
	              " FROM snapshot s LEFT JOIN host h ON h.id = s.id");
}

/* Both ways through the join must stay open to the planner: from a snapshot over its keyframe's
 * range of base rows to the processes, and from processes over their lives' snapshots to one base
 * row each.
 *
 * Changes are found by id. Most processes have none in a keyframe, and b.changed says so; those
 * that are busy have one at every snapshot (x), next to the one before, so that SQLite only steps
 * on; it searches (w) for the few in between. */
static void put_process_metrics(struct buf *sql)
{
	buf_printf(sql,
	           "CREATE VIEW process_metrics AS SELECT s.id << %d | (p.id & %lld) AS id,"
	           " s.id AS snapshot_id, p.pid AS pid, p.ppid AS ppid, p.command AS command,"
	           " substr('%s', coalesce(x.state, w.state, b.state) + 1, 1) AS state",
	           SCHEMA_SLOT_BITS, (long long)SCHEMA_SLOTS - 1, column_states);
	put_cell(sql, "cpu", "/10.0", "cpu_percent");
	put_cell_metric(sql, PROC_RSS);
	put_cell_metric(sql, PROC_VMS);
	put_cell_metric(sql, PROC_THREADS);
	put_cell_metric(sql, PROC_FDS);
	buf_printf(sql,
	           ", s.boot_us/1e6 - p.start_ticks/%d.0 AS age_seconds, p.job_id AS job_id,"
	           " p.sheet AS sheet_num, coalesce(p.syscall_counts, '{}') AS syscall_counts,"
	           " coalesce(p.syscall_time_pct, '{}') AS syscall_time_pct"
	           " FROM snapshot s JOIN sample_base b JOIN process p ON p.id = b.proc"
	           " AND b.id BETWEEN s.kf AND s.kf + %lld AND b.id = s.kf + (p.id & %lld)"
	           " AND p.first <= s.id AND s.id <= coalesce(p.last, 9223372036854775807)"
	           " LEFT JOIN sample_change x ON x.id ="
	           " CASE WHEN b.changed <= s.at THEN (b.id << %d) + s.at END"
	           " LEFT JOIN sample_change w ON w.id ="
	           " CASE WHEN x.id IS NULL AND b.changed <= s.at THEN"
	           " (SELECT y.id FROM sample_change y WHERE y.id >= b.id << %d"
	           " AND y.id < (b.id << %d) + s.at ORDER BY y.id DESC LIMIT 1) END",
	           TICKS_PER_S, (long long)SCHEMA_SLOTS - 1, (long long)SCHEMA_SLOTS - 1,
	           SCHEMA_AT_BITS, SCHEMA_AT_BITS, SCHEMA_AT_BITS);
}

static void put_event_kinds(struct buf *sql, bool in_view)
{
	buf_puts(sql, "CASE e.kind");
	for (enum event_kind kind = 0; kind < EVENT_KIND_COUNT; kind++)
		if (event_in_view(kind) == in_view)
			buf_printf(sql, " WHEN %d THEN '%s'", (int)kind, event_name(kind));
	buf_puts(sql, " END AS event_type");
}

static void put_kind_filter(struct buf *sql, bool in_view)
{
	const char *comma = "";

	buf_puts(sql, " WHERE e.kind IN (");
	for (enum event_kind kind = 0; kind < EVENT_KIND_COUNT; kind++) {
		if (event_in_view(kind) != in_view)
			continue;
		buf_printf(sql, "%s%d", comma, (int)kind);
		comma = ", ";
	}
	buf_puts(sql, ")");
}

static void put_process_events(struct buf *sql)
{
	buf_puts(sql, "CREATE VIEW process_events AS SELECT e.id AS id, e.time AS timestamp,"
	              " p.pid AS pid, ");
	put_event_kinds(sql, true);
	buf_puts(sql, ", e.exit_code AS exit_code, e.signal AS signal_num, p.job_id AS job_id,"
	              " p.sheet AS sheet_num, coalesce(e.details, '') AS details"
	              " FROM event e JOIN process p ON p.id = e.proc");
	put_kind_filter(sql, true);
}

static void put_recorder_events(struct buf *sql)
{
	buf_puts(sql, "CREATE VIEW recorder_events AS SELECT e.id AS id, e.time AS timestamp,"
	              " e.recorder AS recorder, ");
	put_event_kinds(sql, false);
	buf_puts(sql, ", (SELECT p.pid FROM process p WHERE p.id = e.proc) AS pid,"
	              " e.count AS count, coalesce(e.details, '') AS details, e.name AS name,"
	              " (SELECT j.job_id FROM job j WHERE j.id = e.job) AS job_id,"
	              " e.sheet AS sheet_num FROM event e");
	put_kind_filter(sql, false);
}

static void put_host_metrics(struct buf *sql)
{
	buf_puts(sql, "CREATE VIEW host_metrics AS SELECT s.id AS snapshot_id, s.time AS timestamp,"
	              " s.recorder AS recorder, s.resolution AS resolution_seconds,"
	              " h.cpu/10.0 AS cpu_percent, h.iowait/10.0 AS iowait_percent,"
	              " h.steal/10.0 AS steal_percent, h.self_cpu/10.0 AS recorder_cpu_percent");
	for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
		put_metric(sql, &host_metrics[i], "h");
	buf_puts(sql, " FROM snapshot s JOIN host h ON h.id = s.id");
}

static void put_extreme(struct buf *sql, const struct metric *m, const char *end)
{
	char name[COLUMN_NAME_MAX], column[COLUMN_NAME_MAX + 16];

	column_name(m, name);
	snprintf(column, sizeof column, "r.%s%s", name, end);
	buf_puts(sql, ", ");
	column_shown(sql, m, column);
	buf_printf(sql, " AS %s%s", m->key, end);
}

/* The extremes within a minute, of what was not the same all the time. */
static void put_process_ranges(struct buf *sql)
{
	struct columns all = columns_all();

	buf_printf(sql,
	           "CREATE VIEW process_ranges AS SELECT s.id << %d | (p.id & %lld) AS id,"
	           " s.id AS snapshot_id, s.time AS timestamp, p.pid AS pid, p.job_id AS job_id,"
	           " p.sheet AS sheet_num, r.cpu_min/10.0 AS cpu_percent_min,"
	           " r.cpu_max/10.0 AS cpu_percent_max",
	           SCHEMA_SLOT_BITS, (long long)SCHEMA_SLOTS - 1);
	for (size_t i = 0; i < CELL_METRICS; i++) {
		put_extreme(sql, &proc_metrics[all.cell[i]], "_min");
		put_extreme(sql, &proc_metrics[all.cell[i]], "_max");
	}
	buf_printf(
		sql,
		" FROM snapshot s JOIN sample_base b ON b.id BETWEEN s.kf AND s.kf + %lld"
		" JOIN process p ON p.id = b.proc"
		" JOIN sample_range r ON r.id = (b.id << %d) + s.at WHERE s.resolution IS NOT NULL",
		(long long)SCHEMA_SLOTS - 1, SCHEMA_AT_BITS);
}

const struct view views[] = {
	{ "snapshots", put_snapshots },
	{ "process_metrics", put_process_metrics },
	{ "process_events", put_process_events },
	{ "recorder_events", put_recorder_events },
	{ "host_metrics", put_host_metrics },
	{ "process_ranges", put_process_ranges },
	{ "jobs", view_put_jobs },
	{ "sheets", view_put_sheets },
	{ "job_samples", view_put_job_samples },
	{ "gpu_metrics", view_put_gpu_metrics },
	{ "gpu_processes", view_put_gpu_processes },
	{ "anomalies", anomaly_view_put },
};
static_assert(ARRAY_LEN(views) == VIEW_COUNT, "VIEW_COUNT is in the header");
