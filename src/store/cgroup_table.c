/* SPDX-License-Identifier: MIT */
/* What the recorder's own control group showed at a snapshot. */
#include "store/schema.h"
#include "store/store_handle.h"

static const struct migration migrations[] = {
	{ 1, "CREATE TABLE cgroup(id INTEGER PRIMARY KEY);", NULL },
	{ 0 },
};

static void build_put(struct buf *sql)
{
	buf_puts(sql, "INSERT INTO cgroup(id");
	statement_put_columns(sql, cgroup_metrics, NULL, CGROUP_METRIC_COUNT, "", "");
	statement_put_values(sql, 1 + CGROUP_METRIC_COUNT);
}

static void build_set_means(struct buf *sql)
{
	statement_put_means(sql, "cgroup", cgroup_metrics, CGROUP_METRIC_COUNT, "id", "?1");
}

enum { PUT, SET_MEANS };

static const struct statement statements[] = {
	[PUT] = { .build = build_put },
	[SET_MEANS] = { .build = build_set_means },
};

static int put(struct store *st, const struct snapshot *snap, struct err *err)
{
	sqlite3_stmt *stmt;

	if (!snap->cgroup.present)
		return 0;
	stmt = statement_get(st, &statements[PUT], err);
	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, st->snapshots.next);
	statement_bind_readings(stmt, 2, cgroup_metrics, CGROUP_METRIC_COUNT, snap->cgroup.present,
	                        snap->cgroup.value);
	return db_run(stmt, err);
}

static int downsample_minute(struct store *st, const struct minute *m, struct err *err)
{
	return statement_run_with(st, &statements[SET_MEANS], m->first, m->last, m->keyframe, err);
}

static int add_columns(sqlite3 *db, struct err *err)
{
	return schema_add_metrics(db, "cgroup", cgroup_metrics, NULL, CGROUP_METRIC_COUNT, "", err);
}

static const char *const delete_keyframe[] = {
	"DELETE FROM cgroup WHERE id IN " STATEMENT_SNAPSHOTS,
	NULL,
};

static const struct table_ids ids[] = {
	{ "cgroup", { { "id", ID_SNAPSHOT } } },
	{ 0 },
};

const struct store_table cgroup_table = {
	.name = "cgroup",
	.migrations = migrations,
	.add_columns = add_columns,
	.statements = statements,
	.statement_count = ARRAY_LEN(statements),
	.put = put,
	.downsample = downsample_minute,
	.delete_keyframe = delete_keyframe,
	.ids = ids,
};
