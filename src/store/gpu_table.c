/* SPDX-License-Identifier: MIT */
/* GPUs of a snapshot: one row each, their names once, and a row for each process on them. */
#include "store/gpu_table.h"

#include <stdio.h>
#include <string.h>

#include "store/schema.h"
#include "store/store_handle.h"

/* With the columns of its day, because adding each one takes SQLite longer. */
static const struct migration migrations[] = {
	{ 3,
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
	  NULL },
	{ 0 },
};

static void build_put(struct buf *sql)
{
	buf_puts(sql, "INSERT OR REPLACE INTO gpu(snapshot, gpu, device");
	statement_put_columns(sql, gpu_metrics, NULL, GPU_METRIC_COUNT, "", "");
	statement_put_values(sql, 3 + GPU_METRIC_COUNT);
}

static void build_put_use(struct buf *sql)
{
	buf_puts(sql, "INSERT OR REPLACE INTO gpu_use(snapshot, gpu, pid, start_ticks, is_foreign");
	statement_put_columns(sql, gpu_use_metrics, NULL, GPU_USE_METRIC_COUNT, "", "");
	statement_put_values(sql, 5 + GPU_USE_METRIC_COUNT);
}

static void build_put_range(struct buf *sql)
{
	buf_puts(sql, "INSERT OR REPLACE INTO gpu_range(snapshot, gpu");
	statement_put_columns(sql, gpu_metrics, NULL, GPU_METRIC_COUNT, "", "_min");
	statement_put_columns(sql, gpu_metrics, NULL, GPU_METRIC_COUNT, "", "_max");
	buf_puts(sql, ") SELECT ?1, gpu");
	statement_put_columns(sql, gpu_metrics, NULL, GPU_METRIC_COUNT, "min(", ")");
	statement_put_columns(sql, gpu_metrics, NULL, GPU_METRIC_COUNT, "max(", ")");
	buf_puts(sql, " FROM gpu" STATEMENT_MINUTE("snapshot") " GROUP BY gpu");
}

static void put_means(struct buf *sql, const char *start, const char *keys,
                      const struct metric *table, size_t n, const char *end)
{
	buf_puts(sql, start);
	statement_put_columns(sql, table, NULL, n, "", "");
	buf_puts(sql, keys);
	statement_put_columns(sql, table, NULL, n, "CAST(round(avg(", ")) AS INTEGER)");
	buf_puts(sql, end);
}

static void build_set_means(struct buf *sql)
{
	put_means(sql, "INSERT OR REPLACE INTO gpu(snapshot, gpu, device",
	          ") SELECT ?1, gpu, max(device)", gpu_metrics, GPU_METRIC_COUNT,
	          " FROM gpu" STATEMENT_MINUTE("snapshot") " GROUP BY gpu");
}

static void build_set_use_means(struct buf *sql)
{
	put_means(sql, "INSERT OR REPLACE INTO gpu_use(snapshot, gpu, pid, start_ticks, is_foreign",
	          ") SELECT ?1, gpu, pid, max(start_ticks), is_foreign", gpu_use_metrics,
	          GPU_USE_METRIC_COUNT,
	          " FROM gpu_use" STATEMENT_MINUTE("snapshot") " GROUP BY gpu, is_foreign, pid");
}

enum { FIND_DEVICE, PUT_DEVICE, PUT, PUT_USE, PUT_RANGE, SET_MEANS, SET_USE_MEANS };

static const struct statement statements[] = {
	[FIND_DEVICE] = { "SELECT id FROM gpu_device WHERE uuid = ?1 AND name = ?2" },
	[PUT_DEVICE] = { "INSERT INTO gpu_device(uuid, name) VALUES(?1, ?2) RETURNING id" },
	[PUT] = { .build = build_put },
	[PUT_USE] = { .build = build_put_use },
	[PUT_RANGE] = { .build = build_put_range },
	[SET_MEANS] = { .build = build_set_means },
	[SET_USE_MEANS] = { .build = build_set_use_means },
};

static int64_t find_device(struct store *st, int statement, const struct gpu_sample *gpu,
                           struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, &statements[statement], err);
	int64_t id = 0;
	int r;

	if (!stmt)
		return -err->code;
	db_bind_text(stmt, 1, gpu->uuid, strlen(gpu->uuid));
	db_bind_text(stmt, 2, gpu->name, strlen(gpu->name));
	r = db_step(stmt, err);
	if (r > 0)
		id = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	return r < 0 ? r : id;
}

static int64_t device_of(struct store *st, const struct gpu_sample *gpu, struct err *err)
{
	int64_t id = find_device(st, FIND_DEVICE, gpu, err);

	return id ? id : find_device(st, PUT_DEVICE, gpu, err);
}

static int put_gpu(struct store *st, const struct gpu_sample *gpu, int64_t snapshot,
                   struct err *err)
{
	int64_t device = device_of(st, gpu, err);
	sqlite3_stmt *stmt = device < 0 ? NULL : statement_get(st, &statements[PUT], err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, snapshot);
	sqlite3_bind_int64(stmt, 2, gpu->index);
	sqlite3_bind_int64(stmt, 3, device);
	statement_bind_readings(stmt, 4, gpu_metrics, GPU_METRIC_COUNT, gpu->r.present,
	                        gpu->r.value);
	return db_run(stmt, err);
}

static int put_use(struct store *st, const struct gpu_use *use, uint32_t index, int64_t snapshot,
                   struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, &statements[PUT_USE], err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, snapshot);
	sqlite3_bind_int64(stmt, 2, index);
	sqlite3_bind_int64(stmt, 3, use->id.pid);
	sqlite3_bind_int64(stmt, 4, (int64_t)use->id.start_ticks);
	sqlite3_bind_int64(stmt, 5, use->is_foreign);
	statement_bind_readings(stmt, 6, gpu_use_metrics, GPU_USE_METRIC_COUNT, use->r.present,
	                        use->r.value);
	return db_run(stmt, err);
}

static int put(struct store *st, const struct snapshot *snap, struct err *err)
{
	int64_t snapshot = st->snapshots.next;
	int r = 0;

	for (size_t i = 0; r == 0 && i < snap->gpus.len; i++)
		r = put_gpu(st, &snap->gpus.at[i], snapshot, err);
	for (size_t i = 0; r == 0 && i < snap->gpu_uses.len; i++) {
		const struct gpu_use *use = &snap->gpu_uses.at[i];

		if (use->gpu < snap->gpus.len &&
		    snapshot_scope_has_gpu_use(&snapshot_scope_ours, snap, use))
			r = put_use(st, use, snap->gpus.at[use->gpu].index, snapshot, err);
	}
	return r;
}

static int downsample_minute(struct store *st, const struct minute *m, struct err *err)
{
	int r = 0;

	for (int i = PUT_RANGE; r == 0 && i <= SET_USE_MEANS; i++)
		r = statement_run_with(st, &statements[i], m->first, m->last, m->keyframe, err);
	return r;
}

static int add_columns(sqlite3 *db, struct err *err)
{
	int r = schema_add_metrics(db, "gpu", gpu_metrics, NULL, GPU_METRIC_COUNT, "", err);

	if (r == 0)
		r = schema_add_metrics(db, "gpu_range", gpu_metrics, NULL, GPU_METRIC_COUNT, "_min",
		                       err);
	if (r == 0)
		r = schema_add_metrics(db, "gpu_range", gpu_metrics, NULL, GPU_METRIC_COUNT, "_max",
		                       err);
	return r < 0 ? r
	             : schema_add_metrics(db, "gpu_use", gpu_use_metrics, NULL,
	                                  GPU_USE_METRIC_COUNT, "", err);
}

/* The rows come in the order of the key. SQLite's own JSON functions may not stand in a view where
 * schemas are not trusted, and we trust none. */
static void put_array(struct buf *sql, enum gpu_metric id, const char *name)
{
	buf_puts(sql, ", (SELECT '[' || coalesce(group_concat(coalesce(");
	column_put_shown(sql, &gpu_metrics[id], "g", "");
	buf_printf(sql, ", 'null')), '') || ']' FROM gpu g WHERE g.snapshot = s.id) AS %s", name);
}

void gpu_table_put_snapshot_columns(struct buf *sql)
{
	buf_puts(sql, ", (SELECT count(*) FROM gpu g WHERE g.snapshot = s.id) AS gpu_count");
	put_array(sql, GPU_UTIL, "gpu_utilization_pct");
	put_array(sql, GPU_MEM_USED, "gpu_memory_used_mb");
	put_array(sql, GPU_TEMPERATURE, "gpu_temperature");
}

static void put_metrics(struct buf *sql, const struct metric *table, size_t n, const char *from,
                        const char *suffix)
{
	for (size_t i = 0; i < n; i++)
		column_select(sql, &table[i], from, suffix);
}

static void put_gpu_metrics(struct buf *sql)
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

/* In a container the driver's pids may be the host's: then the process is not known. */
static void put_gpu_processes(struct buf *sql)
{
	buf_puts(sql, "CREATE VIEW gpu_processes AS SELECT u.snapshot AS snapshot_id,"
	              " s.time AS timestamp, u.gpu AS gpu_index,"
	              " CASE WHEN u.is_foreign THEN NULL ELSE u.pid END AS pid,"
	              " CASE WHEN u.is_foreign THEN u.pid END AS host_pid");
	put_metrics(sql, gpu_use_metrics, GPU_USE_METRIC_COUNT, "u", "");
	buf_puts(sql,
	         ", p.command AS command, j.job_id AS job_id, p.sheet AS sheet_num, j.uid AS uid"
	         " FROM snapshot s JOIN gpu_use u ON u.snapshot = s.id"
	         " LEFT JOIN process p ON p.pid = u.pid AND p.start_ticks = u.start_ticks"
	         " AND p.recorder = s.recorder AND NOT u.is_foreign"
	         " LEFT JOIN job j ON j.id = p.job");
}

static const struct view views[] = {
	{ "gpu_metrics", put_gpu_metrics },
	{ "gpu_processes", put_gpu_processes },
	{ 0 },
};

static const char *const delete_keyframe[] = {
	"DELETE FROM gpu WHERE snapshot IN " STATEMENT_SNAPSHOTS,
	"DELETE FROM gpu_range WHERE snapshot IN " STATEMENT_SNAPSHOTS,
	"DELETE FROM gpu_use WHERE snapshot IN " STATEMENT_SNAPSHOTS,
	NULL,
};

static const struct table_ids ids[] = {
	{ "gpu", { { "snapshot", ID_SNAPSHOT }, { "device", ID_DEVICE } } },
	{ "gpu_range", { { "snapshot", ID_SNAPSHOT } } },
	{ "gpu_use", { { "snapshot", ID_SNAPSHOT } } },
	{ 0 },
};

const struct store_table gpu_table = {
	.name = "gpu",
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
