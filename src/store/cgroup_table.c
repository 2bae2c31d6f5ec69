/* SPDX-License-Identifier: MIT */
/* Metrics of the recorder's own control group at a snapshot. */
#include "store/store_handle.h"

static const struct migration migrations[] = {
	{ 1, "CREATE TABLE cgroup(id INTEGER PRIMARY KEY);", NULL },
	{ 0 },
};

static const struct metric_columns metrics[] = { { "cgroup", COLUMNS_CGROUP, "" }, { 0 } };

static const struct statement statements[] = {
	{ "INSERT INTO cgroup(id{*}) VALUES(?{?})", COLUMNS_CGROUP },
	{ 0 },
};

static const struct statement downsample[] = {
	{ STATEMENT_MINUTE_MEAN("cgroup", "id", "?1"), COLUMNS_CGROUP_GAUGES },
	{ 0 },
};

static int put(struct store *st, const struct snapshot *snap, struct err *err)
{
	if (!snap->cgroup.present)
		return 0;
	return statement_run_readings(st, &statements[0], BINDS(bind_int(st->snapshots.next)),
	                              snap->cgroup.present, snap->cgroup.value, err);
}

static const struct table_ids ids[] = {
	{ "cgroup", { { "id", ID_SNAPSHOT } } },
	{ 0 },
};

const struct store_table cgroup_table = {
	.name = "cgroup",
	.migrations = migrations,
	.metrics = metrics,
	.statements = statements,
	.put = put,
	.downsample = downsample,
	.ids = ids,
};
