/* SPDX-License-Identifier: MIT */
#include "store/gpu_views.h"

#include <stdio.h>

#include "sqlite/column.h"

/* "t.power_w_milli/1000.0" */
static void put_shown(struct buf *sql, const struct metric *m, const char *table,
                      const char *suffix)
{
	char name[COLUMN_NAME_MAX], column[COLUMN_NAME_MAX + 16];

	column_name(m, name);
	snprintf(column, sizeof column, "%s.%s%s", table, name, suffix);
	column_shown(sql, m, column);
}

/* The rows come in the order of the key. SQLite's own JSON functions may not stand in a view where
 * schemas are not trusted, and we trust none. */
static void put_array(struct buf *sql, enum gpu_metric id, const char *name)
{
	buf_puts(sql, ", (SELECT '[' || coalesce(group_concat(coalesce(");
	put_shown(sql, &gpu_metrics[id], "g", "");
	buf_printf(sql, ", 'null')), '') || ']' FROM gpu g WHERE g.snapshot = s.id) AS %s", name);
}

void view_put_gpu_columns(struct buf *sql)
{
	buf_puts(sql, ", (SELECT count(*) FROM gpu g WHERE g.snapshot = s.id) AS gpu_count");
	put_array(sql, GPU_UTIL, "gpu_utilization_pct");
	put_array(sql, GPU_MEM_USED, "gpu_memory_used_mb");
	put_array(sql, GPU_TEMPERATURE, "gpu_temperature");
}

static void put_metrics(struct buf *sql, const struct metric *table, size_t n, const char *from,
                        const char *suffix)
{
	for (size_t i = 0; i < n; i++) {
		buf_puts(sql, ", ");
		put_shown(sql, &table[i], from, suffix);
		buf_printf(sql, " AS %s%s", table[i].key, suffix);
	}
}

void view_put_gpu_metrics(struct buf *sql)
{
	buf_puts(sql,
	         "CREATE VIEW gpu_metrics AS SELECT g.snapshot AS snapshot_id,"
	         " s.time AS timestamp, s.resolution AS resolution_seconds,"
	         " g.gpu AS gpu_index, nullif(d.name, '') AS name, nullif(d.uuid, '') AS uuid");
	put_metrics(sql, gpu_metrics, GPU_METRIC_COUNT, "g", "");
	put_metrics(sql, gpu_metrics, GPU_METRIC_COUNT, "r", "_min");
	put_metrics(sql, gpu_metrics, GPU_METRIC_COUNT, "r", "_max");
	buf_puts(sql, " FROM snapshot s JOIN gpu g ON g.snapshot = s.id"
	              " LEFT JOIN gpu_device d ON d.id = g.device"
	              " LEFT JOIN gpu_range r ON r.snapshot = g.snapshot AND r.gpu = g.gpu");
}

/* In a container the driver's pids may be the host's: then whose they are is not known. */
void view_put_gpu_processes(struct buf *sql)
{
	buf_puts(sql, "CREATE VIEW gpu_processes AS SELECT u.snapshot AS snapshot_id,"
	              " s.time AS timestamp, u.gpu AS gpu_index,"
	              " CASE WHEN u.is_foreign THEN NULL ELSE u.pid END AS pid,"
	              " CASE WHEN u.is_foreign THEN u.pid END AS host_pid");
	put_metrics(sql, gpu_use_metrics, GPU_USE_METRIC_COUNT, "u", "");
	buf_puts(sql, ", p.command AS command, p.job_id AS job_id, p.sheet AS sheet_num"
	              " FROM snapshot s JOIN gpu_use u ON u.snapshot = s.id"
	              " LEFT JOIN process p ON p.pid = u.pid AND p.start_ticks = u.start_ticks"
	              " AND p.recorder = s.recorder AND NOT u.is_foreign");
}
