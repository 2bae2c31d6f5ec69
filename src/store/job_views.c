/* SPDX-License-Identifier: MIT */
#include "store/job_views.h"

#include <signal.h>
#include <stdio.h>

#include "sqlite/job_column.h"

/* How identities see a limit. */
static const struct {
	const char *end, *scale;
} limits[] = {
	[JOB_LIMIT_MEM] = { "_mb", "/1048576.0" },
	[JOB_LIMIT_CPU] = { "_cores", "/1000.0" },
	[JOB_LIMIT_PIDS] = { "", "" },
	[JOB_LIMIT_TIME] = { "_seconds", "/1e9" },
	[JOB_LIMIT_USER_PIDS] = { "", "" },
};
static_assert(ARRAY_LEN(limits) == JOB_LIMIT_COUNT, "one a limit");

static void put_status(struct buf *sql, const char *column)
{
	const char *names[JOB_STATUS_COUNT];

	for (enum job_status s = 0; s < JOB_STATUS_COUNT; s++)
		names[s] = job_status_name(s);
	view_put_case(sql, column, names, JOB_STATUS_COUNT);
}

/* Short, because SQLite parses every view whenever anybody opens the store. */
static void put_quality(struct buf *sql, const char *column)
{
	buf_printf(sql, "CASE %s", column);
	for (enum quality q = QUALITY_MISSING + 1; q < QUALITY_COUNT; q++)
		buf_printf(sql, " WHEN %d THEN '%s'", (int)q, quality_key(q));
	buf_printf(sql, " ELSE '%s' END", quality_key(QUALITY_MISSING));
}

static void put_figure(struct buf *sql, enum job_figure id)
{
	struct metric m = job_column_metric(id);
	char name[COLUMN_NAME_MAX], column[COLUMN_NAME_MAX + 8];

	column_name(&m, name);
	snprintf(column, sizeof column, "j.%s", name);
	buf_puts(sql, ", ");
	column_shown(sql, &m, column);
	buf_printf(sql, " AS %s", m.key);
}

static void put_figure_quality(struct buf *sql, enum job_figure id)
{
	char quality[COLUMN_NAME_MAX];

	job_column_name(JOB_COLUMN_FIGURES + 2 * (size_t)id + 1, quality);
	buf_puts(sql, ", ");
	put_quality(sql, quality);
	buf_printf(sql, " AS %s_quality", job_figures[id].key);
}

/* Those which the view had from its beginning, in their place. */
static bool is_old(enum job_figure id)
{
	return id == JOB_FIGURE_PROCESSES || id == JOB_FIGURE_CPU || id == JOB_FIGURE_PEAK_RSS;
}

/* As job_outcome() tells it. */
static void put_result(struct buf *sql)
{
	buf_printf(
		sql,
		", CASE j.status WHEN %d THEN 'running' WHEN %d THEN 'lost' WHEN %d THEN 'ok'"
		" ELSE CASE WHEN coalesce(j.oom_kills, j.limits_hit & %u AND j.signal = %d) THEN 'oom'"
		" WHEN j.limits_hit & ~%u THEN 'limit'"
		" WHEN j.signal THEN 'signal' ELSE 'failed' END END AS result",
		JOB_RUNNING, JOB_LOST, JOB_COMPLETED, 1U << JOB_LIMIT_MEM, SIGKILL,
		1U << JOB_LIMIT_CPU);
}

static void put_limits(struct buf *sql)
{
	for (enum job_limit l = 0; l < JOB_LIMIT_COUNT; l++)
		buf_printf(sql, ", j.limit_%s%s AS limit_%s%s", job_limit_name(l), limits[l].scale,
		           job_limit_name(l), limits[l].end);
	buf_puts(sql, ", trim(''");
	for (enum job_limit l = 0; l < JOB_LIMIT_COUNT; l++)
		buf_printf(sql, " || iif(j.limits_hit & %u, '%s ', '')", 1U << l,
		           job_limit_name(l));
	buf_puts(sql, ") AS limits_hit");
}

void view_put_jobs(struct buf *sql)
{
	buf_puts(sql, "CREATE VIEW jobs AS SELECT j.job_id AS job_id, j.type AS type, ");
	put_status(sql, "j.status");
	buf_puts(sql, " AS status, j.started AS started, j.ended AS ended,"
	              " coalesce(j.took_us/1e6, j.ended - j.started) AS duration_seconds,"
	              " j.exit_code AS exit_code, j.signal AS signal_num,"
	              " j.total_sheets AS total_sheets,"
	              " j.last_completed_sheet AS last_completed_sheet,"
	              " j.current_sheet AS current_sheet");
	put_figure(sql, JOB_FIGURE_PROCESSES);
	put_figure(sql, JOB_FIGURE_CPU);
	put_figure(sql, JOB_FIGURE_PEAK_RSS);
	buf_puts(sql, ", coalesce(j.tags, '{}') AS tags");
	put_result(sql);
	buf_puts(sql, ", j.command AS command, j.cwd AS cwd, j.uid AS uid, j.parent AS parent,"
	              " j.tier AS tier, j.interval_us/1e6 AS interval_seconds,"
	              " coalesce(j.core_dumped, 0) AS core_dumped,"
	              " j.hungriest_pid AS hungriest_pid, j.hungriest AS hungriest");
	put_limits(sql);
	for (enum job_figure id = 0; id < JOB_FIGURE_COUNT; id++) {
		if (!is_old(id))
			put_figure(sql, id);
		put_figure_quality(sql, id);
	}
	buf_puts(sql, ", j.recorder AS recorder FROM job j WHERE j.started IS NOT NULL");
}

void view_put_sheets(struct buf *sql)
{
	buf_puts(sql, "CREATE VIEW sheets AS SELECT j.job_id AS job_id, t.num AS sheet_num,"
	              " t.label AS label, ");
	put_status(sql, "t.status");
	buf_puts(sql, " AS status, t.started AS started, t.ended AS ended,"
	              " t.ended - t.started AS duration_seconds, t.exit_code AS exit_code,"
	              " t.signal AS signal_num, t.pid AS pid, t.processes AS processes,"
	              " t.cpu_time_us/1e6 AS cpu_seconds, ");
	put_quality(sql, "t.cpu_time_us_q");
	buf_puts(sql, " AS cpu_seconds_quality, t.peak_rss_kib/1024.0 AS peak_rss_mb, ");
	put_quality(sql, "t.peak_rss_kib_q");
	buf_puts(sql, " AS peak_rss_mb_quality, t.max_cpu/10.0 AS max_cpu_pct"
	              " FROM sheet t JOIN job j ON j.id = t.job");
}

void view_put_job_samples(struct buf *sql)
{
	buf_puts(sql,
	         "CREATE VIEW job_samples AS SELECT j.job_id AS job_id,"
	         " m.snapshot AS snapshot_id, s.time AS timestamp,"
	         " s.resolution AS resolution_seconds, m.procs AS processes,"
	         " m.rss_kib/1024.0 AS rss_mb, m.cpu/10.0 AS cpu_percent,"
	         " m.procs_min AS processes_min, m.procs_max AS processes_max,"
	         " m.rss_kib_min/1024.0 AS rss_mb_min, m.rss_kib_max/1024.0 AS rss_mb_max,"
	         " m.cpu_min/10.0 AS cpu_percent_min, m.cpu_max/10.0 AS cpu_percent_max"
	         " FROM job j JOIN job_sample m ON m.job = j.id AND m.snapshot >= j.first_snapshot"
	         " AND m.snapshot <= coalesce(j.last_snapshot, 9223372036854775807)"
	         " JOIN snapshot s ON s.id = m.snapshot");
}
