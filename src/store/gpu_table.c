/* SPDX-License-Identifier: MIT */
/* GPUs of a snapshot: one row each, their names once, and a row for each process on them. */
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

static const struct metric_columns metrics[] = {
	{ "gpu", COLUMNS_GPU, "" },
	{ "gpu_range", COLUMNS_GPU, "_min" },
	{ "gpu_range", COLUMNS_GPU, "_max" },
	{ "gpu_use", COLUMNS_GPU_USE, "" },
	{ 0 },
};

enum { FIND_DEVICE, PUT_DEVICE, PUT, PUT_USE };

static const struct statement statements[] = {
	[FIND_DEVICE] = { "SELECT id FROM gpu_device WHERE uuid = ?1 AND name = ?2" },
	[PUT_DEVICE] = { "INSERT INTO gpu_device(uuid, name) VALUES(?1, ?2) RETURNING id" },
	[PUT] = { "INSERT OR REPLACE INTO gpu(snapshot, gpu, device{*}) VALUES(?, ?, ?{?})",
	          COLUMNS_GPU },
	[PUT_USE] = { "INSERT OR REPLACE INTO gpu_use(snapshot, gpu, pid, start_ticks,"
	              " is_foreign{*}) VALUES(?, ?, ?, ?, ?{?})",
	              COLUMNS_GPU_USE },
	{ 0 },
};

static const struct statement downsample[] = {
	{ STATEMENT_MINUTE_RANGE("gpu", "snapshot", "gpu", "gpu", " GROUP BY gpu"), COLUMNS_GPU },
	{ STATEMENT_MINUTE_MEANS("gpu", "gpu", "gpu, device", "gpu, max(device)"), COLUMNS_GPU },
	{ STATEMENT_MINUTE_MEANS("gpu_use", "gpu, is_foreign, pid",
	                         "gpu, pid, start_ticks, is_foreign",
	                         "gpu, pid, max(start_ticks), is_foreign"),
	  COLUMNS_GPU_USE },
	{ 0 },
};

static int put_gpu(struct store *st, const struct gpu_sample *gpu, int64_t snapshot,
                   struct err *err)
{
	const struct bind names[] = { bind_text(gpu->uuid, sizeof gpu->uuid),
		                      bind_text(gpu->name, sizeof gpu->name) };
	int64_t device = statement_int(st, &statements[FIND_DEVICE], names, 2, err);

	if (device == 0)
		device = statement_int(st, &statements[PUT_DEVICE], names, 2, err);
	if (device < 0)
		return (int)device;
	return statement_run_readings(
		st, &statements[PUT],
		BINDS(bind_int(snapshot), bind_int(gpu->index), bind_int(device)), gpu->r.present,
		gpu->r.value, err);
}

static int put_use(struct store *st, const struct gpu_use *use, uint32_t index, int64_t snapshot,
                   struct err *err)
{
	return statement_run_readings(
		st, &statements[PUT_USE],
		BINDS(bind_int(snapshot), bind_int(index), bind_int(use->id.pid),
	              bind_int((int64_t)use->id.start_ticks), bind_int(use->has_host_pid)),
		use->r.present, use->r.value, err);
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

static const struct table_ids ids[] = {
	{ "gpu", { { "snapshot", ID_SNAPSHOT }, { "device", ID_DEVICE } } },
	{ "gpu_range", { { "snapshot", ID_SNAPSHOT } } },
	{ "gpu_use", { { "snapshot", ID_SNAPSHOT } } },
	{ 0 },
};

static const struct table_import imports[] = {
	{ "gpu_device", "INSERT OR IGNORE INTO main.gpu_device(uuid, name)"
	                " SELECT uuid, name FROM side.gpu_device" },
	{ 0 },
};

static const char *const remove_job[] = {
	"DELETE FROM gpu_use WHERE snapshot >= (SELECT j.first_snapshot FROM job j WHERE j.id = ?1)"
	" AND snapshot <= (SELECT coalesce(j.last_snapshot, 9223372036854775807) FROM job j"
	" WHERE j.id = ?1) AND is_foreign IS NOT 1 AND EXISTS (SELECT 1 FROM process p"
	" WHERE p.job = ?1 AND p.pid = gpu_use.pid AND p.start_ticks = gpu_use.start_ticks)",
	NULL,
};

const struct store_table gpu_table = {
	.name = "gpu",
	.migrations = migrations,
	.metrics = metrics,
	.statements = statements,
	.put = put,
	.downsample = downsample,
	.views = views,
	.remove_job = remove_job,
	.ids = ids,
	.imports = imports,
};
