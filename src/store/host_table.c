/* SPDX-License-Identifier: MIT */
/* Metrics of the machine at a snapshot. Beside the snapshot's row, because histories walk over the
 * snapshots and need none of this. */
#include <string.h>

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

static const struct metric_columns metrics[] = {
	{ "host", COLUMNS_HOST, "" },
	{ "host_range", COLUMNS_HOST_GAUGES, "_min" },
	{ "host_range", COLUMNS_HOST_GAUGES, "_max" },
	{ 0 },
};

#define OWN_COLUMNS                                                                                \
	"elapsed_us, processes, zombies, complete, pressure, running_jobs, active_sheets, cpu,"    \
	" iowait, steal, self_cpu"

static const struct statement statements[] = {
	{ "INSERT INTO host(id, " OWN_COLUMNS "{*}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?{?})",
	  COLUMNS_HOST },
	{ 0 },
};

#define MEAN STATEMENT_MEAN

/* clang-format off */
#define OWN_MEANS                                                                     \
	"sum(elapsed_us), " MEAN("processes") ", max(zombies), min(complete),"        \
	" max(pressure), max(running_jobs), max(active_sheets), " MEAN("cpu") ", "    \
	MEAN("iowait") ", " MEAN("steal") ", " MEAN("self_cpu")
/* clang-format on */

static const struct statement downsample[] = {
	{ STATEMENT_MINUTE_RANGE("host", "id", "cpu_min, cpu_max", "min(cpu), max(cpu)", ""),
	  COLUMNS_HOST_GAUGES },
	{ STATEMENT_MINUTE_MEAN("host", OWN_COLUMNS, OWN_MEANS), COLUMNS_HOST_GAUGES },
	{ 0 },
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
	struct snapshot_counts n = snapshot_scope_count(&snapshot_scope_ours, snap);

	return statement_run_readings(
		st, &statements[0],
		BINDS(bind_int(st->snapshots.next),
	              bind_int_if(snap->elapsed_ns, (int64_t)(snap->elapsed_ns / NS_PER_US)),
	              bind_int_if(snap->procs_complete || n.procs, (int64_t)n.procs),
	              bind_int((int64_t)n.zombies), bind_int(snap->procs_complete),
	              bind_or_null(pressure_code(snap->pressure_level)), bind_int(n.running_jobs),
	              bind_int(n.active_sheets), bind_or_null(column_ratio(snap->cpu_busy_ratio)),
	              bind_or_null(column_ratio(snap->cpu_iowait_ratio)),
	              bind_or_null(column_ratio(snap->cpu_steal_ratio)),
	              bind_or_null(column_ratio(snap->self_cpu_ratio))),
		snap->host.present, snap->host.value, err);
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

static const struct table_ids ids[] = {
	{ "host", { { "id", ID_SNAPSHOT } } },
	{ "host_range", { { "id", ID_SNAPSHOT } } },
	{ 0 },
};

const struct store_table host_table = {
	.name = "host",
	.migrations = migrations,
	.metrics = metrics,
	.statements = statements,
	.put = put,
	.downsample = downsample,
	.views = views,
	.ids = ids,
};
