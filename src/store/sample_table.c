/* SPDX-License-Identifier: MIT */
#include "store/sample_table.h"

#include "store/store_handle.h"

static const struct migration migrations[] = {
	{ 1,
	  "CREATE TABLE sample_base(id INTEGER PRIMARY KEY, proc INTEGER NOT NULL, changed INTEGER,"
	  " state INTEGER,"
	  " cpu INTEGER);"
	  "CREATE TABLE sample_change(id INTEGER PRIMARY KEY, state INTEGER, cpu INTEGER);"
	  "CREATE TABLE sample_detail(id INTEGER PRIMARY KEY);"
	  "CREATE TABLE sample_range(id INTEGER PRIMARY KEY, cpu_min INTEGER, cpu_max INTEGER);",
	  NULL },
	/* The sheet at that time: a process may open one after the other. */
	{ 6,
	  "ALTER TABLE sample_base ADD COLUMN sheet INTEGER;"
	  "ALTER TABLE sample_change ADD COLUMN sheet INTEGER;",
	  NULL },
	{ 0 },
};

static const struct table_stat stats[] = {
	{ "sample_base", NULL, "5000" },
	{ "sample_change", NULL, "100000" },
	{ 0 },
};

static const struct metric_columns metrics[] = {
	{ "sample_detail", COLUMNS_DETAILS, "" },  { "sample_base", COLUMNS_CELLS, "" },
	{ "sample_change", COLUMNS_CELLS, "" },    { "sample_range", COLUMNS_CELLS, "_min" },
	{ "sample_range", COLUMNS_CELLS, "_max" }, { 0 },
};

enum { PUT_BASE, PUT_CHANGE, SET_CHANGED, PUT_DETAIL, PUT_RANGE };

static const struct statement statements[] = {
	[PUT_BASE] = { "INSERT INTO sample_base(id, proc, state, sheet, cpu{*}) VALUES(?, ?, ?, ?, ?{?})",
	               COLUMNS_CELLS },
	[PUT_CHANGE] = { "INSERT INTO sample_change(id, state, sheet, cpu{*}) VALUES(?, ?, ?, ?{?})",
	                 COLUMNS_CELLS },
	[SET_CHANGED] = { "UPDATE sample_base SET changed = ?2 WHERE id = ?1" },
	[PUT_DETAIL] = { "INSERT INTO sample_detail(id{*}) VALUES(?{?})", COLUMNS_DETAILS },
	[PUT_RANGE] = { "INSERT INTO sample_range(id, cpu_min{*_min}, cpu_max{*_max})"
	                " VALUES(?, ?{?}, ?{?})",
	                COLUMNS_CELLS },
	{ 0 },
};

int64_t sample_table_id(int64_t keyframe, int64_t proc, int64_t at)
{
	return (keyframe + proc % SCHEMA_SLOTS) << SCHEMA_AT_BITS | at;
}

int sample_table_put_base(struct store *st, int64_t keyframe, int64_t proc,
                          const int64_t cells[CELL_COUNT], struct err *err)
{
	return statement_run_ints(st, &statements[PUT_BASE],
	                          BINDS(bind_int(keyframe + proc % SCHEMA_SLOTS), bind_int(proc)),
	                          cells, CELL_COUNT, err);
}

/* NULL: the cell equals the one in the keyframe's row; -1: it is absent now. */
int sample_table_put_change(struct store *st, int64_t id, const int64_t base[CELL_COUNT],
                            const int64_t cells[CELL_COUNT], struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, &statements[PUT_CHANGE], err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, id);
	for (int i = 0; i < CELL_COUNT; i++) {
		if (cells[i] == base[i])
			sqlite3_bind_null(stmt, 2 + i);
		else
			sqlite3_bind_int64(stmt, 2 + i, cells[i]);
	}
	return db_run(stmt, err);
}

int sample_table_set_changed(struct store *st, int64_t keyframe, int64_t proc, int64_t at,
                             struct err *err)
{
	return statement_run(st, &statements[SET_CHANGED],
	                     BINDS(bind_int(keyframe + proc % SCHEMA_SLOTS), bind_int(at)), err);
}

int sample_table_put_detail(struct store *st, int64_t id, const int64_t values[DETAIL_METRICS],
                            struct err *err)
{
	return statement_run_ints(st, &statements[PUT_DETAIL], BINDS(bind_int(id)), values,
	                          DETAIL_METRICS, err);
}

/* Extremes of values that stayed the same are left out. */
int sample_table_put_range(struct store *st, int64_t id, const int64_t min[CELL_COUNT],
                           const int64_t max[CELL_COUNT], struct err *err)
{
	enum { N = CELL_COUNT - CELL_CPU };
	int64_t values[2 * N];

	for (int i = 0; i < N; i++) {
		bool differ = min[CELL_CPU + i] < max[CELL_CPU + i];

		values[i] = differ ? min[CELL_CPU + i] : COLUMN_ABSENT;
		values[N + i] = differ ? max[CELL_CPU + i] : COLUMN_ABSENT;
	}
	return statement_run_ints(st, &statements[PUT_RANGE], BINDS(bind_int(id)), values, 2 * N,
	                          err);
}

#define CELL "coalesce(x.%s, w.%s, b.%s)"

/* A cell: that of the change at this snapshot, or of the latest before, or else the keyframe's row.
 * -1 in a change is "absent". */
static void put_cell(struct buf *sql, const char *c, const char *shown, const char *key)
{
	buf_printf(sql, ", CASE " CELL " WHEN -1 THEN NULL ELSE " CELL "%s END AS %s", c, c, c, c,
	           c, c, shown, key);
}

static void put_cell_metric(struct buf *sql, enum proc_metric id)
{
	char name[COLUMN_NAME_MAX];

	column_name(&proc_metrics[id], name);
	put_cell(sql, name, column_scale(&proc_metrics[id]), proc_metrics[id].key);
}

/* Both ways through the join must stay open to the planner: from a snapshot over its keyframe's
 * range of base rows to the processes, and from processes over their lives' snapshots to one base
 * row each.
 *
 * Changes are found by id. Most processes have none in a keyframe, which b.changed shows; busy ones
 * have one at every snapshot (x), next to the one before, so that SQLite only steps forward; it
 * searches (w) for the few in between. */
static void put_process_metrics(struct buf *sql)
{
	struct column_set cells = column_set(COLUMNS_CELLS);

	buf_printf(sql,
	           "CREATE VIEW process_metrics AS SELECT s.id << %d | (p.id & %lld) AS id,"
	           " s.id AS snapshot_id, p.pid AS pid, p.ppid AS ppid, p.command AS command,"
	           " substr('%s', coalesce(x.state, w.state, b.state) + 1, 1) AS state",
	           SCHEMA_SLOT_BITS, (long long)SCHEMA_SLOTS - 1, column_states);
	put_cell(sql, "cpu", "/10.0", "cpu_percent");
	for (size_t i = 0; i < CELL_METRICS; i++)
		put_cell_metric(sql, cells.id[i]);
	buf_printf(
		sql,
		", max(0.0, s.boot_us/1e6 - p.start_ticks/%d.0) AS age_seconds, j.job_id AS job_id,"
		" nullif(coalesce(x.sheet, w.sheet, b.sheet, p.sheet), 0) AS sheet_num",
		TICKS_PER_S);
	syscall_table_put_columns(sql, "p");
	buf_printf(sql,
	           ", j.uid AS uid, p.start_ticks AS start_ticks"
	           " FROM snapshot s JOIN sample_base b JOIN process p ON p.id = b.proc"
	           " AND b.id BETWEEN s.kf AND s.kf + %lld AND b.id = s.kf + (p.id & %lld)"
	           " AND p.first <= s.id AND s.id <= coalesce(p.last, 9223372036854775807)"
	           " LEFT JOIN job j ON j.id = p.job"
	           " LEFT JOIN sample_change x ON x.id ="
	           " CASE WHEN b.changed <= s.at THEN (b.id << %d) + s.at END"
	           " LEFT JOIN sample_change w ON w.id ="
	           " CASE WHEN x.id IS NULL AND b.changed <= s.at THEN"
	           " (SELECT y.id FROM sample_change y WHERE y.id >= b.id << %d"
	           " AND y.id < (b.id << %d) + s.at ORDER BY y.id DESC LIMIT 1) END",
	           (long long)SCHEMA_SLOTS - 1, (long long)SCHEMA_SLOTS - 1, SCHEMA_AT_BITS,
	           SCHEMA_AT_BITS, SCHEMA_AT_BITS);
}

/* The extremes within a minute, of values that changed in it. */
static void put_process_ranges(struct buf *sql)
{
	struct column_set cells = column_set(COLUMNS_CELLS);

	buf_printf(sql,
	           "CREATE VIEW process_ranges AS SELECT s.id << %d | (p.id & %lld) AS id,"
	           " s.id AS snapshot_id, s.time AS timestamp, p.pid AS pid, j.job_id AS job_id,"
	           " p.sheet AS sheet_num, r.cpu_min/10.0 AS cpu_percent_min,"
	           " r.cpu_max/10.0 AS cpu_percent_max",
	           SCHEMA_SLOT_BITS, (long long)SCHEMA_SLOTS - 1);
	for (size_t i = 0; i < CELL_METRICS; i++) {
		column_select(sql, &proc_metrics[cells.id[i]], "r", "_min");
		column_select(sql, &proc_metrics[cells.id[i]], "r", "_max");
	}
	buf_printf(
		sql,
		", j.uid AS uid FROM snapshot s JOIN sample_base b ON b.id BETWEEN s.kf AND s.kf + %lld"
		" JOIN process p ON p.id = b.proc"
		" JOIN sample_range r ON r.id = (b.id << %d) + s.at LEFT JOIN job j ON j.id = p.job WHERE s.resolution IS NOT NULL",
		(long long)SCHEMA_SLOTS - 1, SCHEMA_AT_BITS);
}

static const struct view views[] = {
	{ "process_metrics", put_process_metrics },
	{ "process_ranges", put_process_ranges },
	{ 0 },
};

static const struct table_ids ids[] = {
	{ "sample_base", { { "id", ID_KEYFRAME }, { "proc", ID_PROCESS } } },
	{ "sample_change", { { "id", ID_SAMPLE } } },
	{ "sample_detail", { { "id", ID_SAMPLE } } },
	{ "sample_range", { { "id", ID_SAMPLE } } },
	{ 0 },
};

/* Its processes in the keyframes of their recorder: as many lookups as there may be rows, because nothing
 * leads from a process to its samples. */
#define ITS_ROWS                                                                                   \
	"WITH k AS MATERIALIZED (SELECT id, recorder, first, last FROM keyframe WHERE recorder IN" \
	" (SELECT p.recorder FROM process p WHERE p.job = ?1)), its(id) AS MATERIALIZED"           \
	" (SELECT b.id FROM process p JOIN k ON k.recorder = p.recorder AND k.first <= p.last"     \
	" AND coalesce(k.last, 9223372036854775807) >= p.first CROSS JOIN sample_base b"           \
	" ON b.id = k.id + (p.id & 1048575) AND b.proc = p.id WHERE p.job = ?1) "
static_assert(SCHEMA_SLOTS == 1048576 && SCHEMA_AT_BITS == 12, "the numbers here");
#define REMOVE_FROM(table)                                                                         \
	ITS_ROWS "DELETE FROM " table " WHERE id IN (SELECT c.id FROM its CROSS JOIN " table       \
		 " c ON c.id BETWEEN its.id << 12 AND (its.id << 12) + 4095)"

static const char *const remove_job[] = {
	REMOVE_FROM("sample_change"),
	REMOVE_FROM("sample_detail"),
	REMOVE_FROM("sample_range"),
	ITS_ROWS "DELETE FROM sample_base WHERE id IN (SELECT id FROM its)",
	NULL,
};

/* The usage of the living processes of its jobs since their rows were written. */
#define LATER(column) SCHEMA_LATER("process." column, "v." column)
/* clang-format off */
static const char end_recorder[] =
	"UPDATE process SET max_cpu = " LATER("max_cpu") ", max_rss_kib = " LATER("max_rss_kib") ","
	" cpu_time_us = " LATER("cpu_time_us") ","
	/* The mark may have been read before the memory grew. */
	" peak_rss_kib = coalesce(max(" LATER("peak_rss_kib") ", v.max_rss_kib), " LATER("peak_rss_kib") "),"
	" read_bytes = " LATER("read_bytes") ", write_bytes = " LATER("write_bytes")
	" FROM (" SCHEMA_LATEST("j.recorder = ?1 AND j.status = 0") ") v"
	" WHERE process.pid = v.pid AND process.start_ticks = v.start_ticks AND process.recorder = ?1";
/* clang-format on */

/* Its rows are put by live_processes.c and downsampled by downsample.c. */
const struct store_table sample_table = {
	.name = "sample",
	.migrations = migrations,
	.metrics = metrics,
	.statements = statements,
	.end_recorder = end_recorder,
	.views = views,
	.stats = stats,
	.remove_job = remove_job,
	.ids = ids,
};
