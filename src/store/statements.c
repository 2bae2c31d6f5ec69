/* SPDX-License-Identifier: MIT */
#include "store/statements.h"

#include <errno.h>

#include "store/store_handle.h"
#include "store/gpu_statements.h"
#include "sqlite/job_column.h"

static const char *const texts[] = {
#define X(id, text) [Q_##id] = (text),
	QUERIES(X)
#undef X
};

/* ", rss_kib" */
static void put_names(struct buf *sql, const struct metric *table, const uint8_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char name[COLUMN_NAME_MAX];

		column_name(&table[ids ? ids[i] : i], name);
		buf_printf(sql, ", %s", name);
	}
}

/* ", rss_kib_min, rss_kib_max" */
static void put_extremes(struct buf *sql, const struct columns *all)
{
	for (size_t i = 0; i < CELL_METRICS; i++) {
		char name[COLUMN_NAME_MAX];

		column_name(&proc_metrics[all->cell[i]], name);
		buf_printf(sql, ", %s_min, %s_max", name, name);
	}
}

static void put_values(struct buf *sql, size_t n)
{
	buf_puts(sql, ") VALUES(");
	for (size_t i = 1; i <= n; i++)
		buf_printf(sql, "%s?%zu", i > 1 ? ", " : "", i);
	buf_puts(sql, ")");
}

static void put_set_totals(struct buf *sql, const struct columns *all)
{
	buf_puts(sql, "UPDATE process SET max_cpu = coalesce(max(max_cpu, ?2), max_cpu, ?2),"
	              " max_rss_kib = coalesce(max(max_rss_kib, ?3), max_rss_kib, ?3)");
	for (size_t i = 0; i < TOTAL_METRICS; i++) {
		char name[COLUMN_NAME_MAX];

		column_name(&proc_metrics[all->total[i]], name);
		buf_printf(sql, ", %s = coalesce(max(%s, ?%zu), %s, ?%zu)", name, name, i + 4, name,
		           i + 4);
	}
	buf_printf(sql, ", final = iif(?%d, coalesce(final, 0) | ?%d, final) WHERE id = ?1",
	           4 + TOTAL_METRICS, 4 + TOTAL_METRICS);
}

/* ?1 is job.id; the columns follow from ?2 on, all but the name, which never changes. */
static void put_job(struct buf *sql)
{
	char name[COLUMN_NAME_MAX];

	static_assert(JOB_COLUMN_ID == 0, "the first is left out");
	buf_puts(sql, "UPDATE job SET");
	for (size_t i = 1; i < JOB_COLUMN_COUNT; i++)
		buf_printf(sql, "%s %s = ?%zu", i > 1 ? "," : "", job_column_name(i, name), i + 1);
	buf_puts(sql, " WHERE id = ?1");
}

static void put_figures(struct buf *sql)
{
	char name[COLUMN_NAME_MAX];

	buf_puts(sql, "UPDATE job SET hungriest_pid = ?2, hungriest = ?3");
	for (size_t i = JOB_COLUMN_FIGURES; i < JOB_COLUMN_COUNT; i++)
		buf_printf(sql, ", %s = ?%zu", job_column_name(i, name),
		           i - JOB_COLUMN_FIGURES + 4);
	buf_puts(sql, " WHERE id = ?1");
}

/* The snapshots of one minute: ?1 is the first, ?2 the last, ?3 their keyframe. */
#define THE_MINUTE                                                                                 \
	" WHERE id IN (SELECT s.id FROM snapshot s WHERE s.id BETWEEN ?1 AND ?2 AND s.kf = ?3)"

static void put_host_range(struct buf *sql)
{
	char name[COLUMN_NAME_MAX];

	buf_puts(sql, "INSERT INTO host_range(id, cpu_min, cpu_max");
	for (size_t i = 0; i < HOST_METRIC_COUNT; i++) {
		column_name(&host_metrics[i], name);
		if (host_metrics[i].kind == METRIC_GAUGE)
			buf_printf(sql, ", %s_min, %s_max", name, name);
	}
	buf_puts(sql, ") SELECT ?1, min(cpu), max(cpu)");
	for (size_t i = 0; i < HOST_METRIC_COUNT; i++) {
		column_name(&host_metrics[i], name);
		if (host_metrics[i].kind == METRIC_GAUGE)
			buf_printf(sql, ", min(%s), max(%s)", name, name);
	}
	buf_puts(sql, " FROM host" THE_MINUTE);
}

/* Means of the gauges; a counter stays what it was when the minute began. */
static void put_means(struct buf *sql, const char *table, const struct metric *metrics, size_t n,
                      const char *names, const char *values)
{
	char name[COLUMN_NAME_MAX];

	buf_printf(sql, "UPDATE %s SET (%s", table, names);
	for (size_t i = 0; i < n; i++) {
		column_name(&metrics[i], name);
		if (metrics[i].kind == METRIC_GAUGE)
			buf_printf(sql, ", %s", name);
	}
	buf_printf(sql, ") = (SELECT %s", values);
	for (size_t i = 0; i < n; i++) {
		column_name(&metrics[i], name);
		if (metrics[i].kind == METRIC_GAUGE)
			buf_printf(sql, ", CAST(round(avg(%s)) AS INTEGER)", name);
	}
	buf_printf(sql, " FROM %s" THE_MINUTE ") WHERE id = ?1", table);
}

static void put_host_means(struct buf *sql)
{
	put_means(
		sql, "host", host_metrics, HOST_METRIC_COUNT,
		"elapsed_us, processes, zombies, complete, pressure, running_jobs, active_sheets,"
		" cpu, iowait, steal, self_cpu",
		"sum(elapsed_us), " STATEMENT_MEAN(
			"processes") ", max(zombies), min(complete),"
				     " max(pressure), max(running_jobs), max(active_sheets), " STATEMENT_MEAN("cpu") ", " STATEMENT_MEAN(
					     "iowait") ", " STATEMENT_MEAN("steal") ", " STATEMENT_MEAN("self_cpu"));
}

static void put_built(struct buf *sql, enum statement q, const struct columns *all)
{
	if (statement_put_gpu(sql, q))
		return;
	if (q == Q_PUT_HOST) {
		buf_puts(sql,
		         "INSERT INTO host(id, elapsed_us, processes, zombies, complete,"
		         " pressure, running_jobs, active_sheets, cpu, iowait, steal, self_cpu");
		put_names(sql, host_metrics, NULL, HOST_METRIC_COUNT);
		put_values(sql, 12 + HOST_METRIC_COUNT);
	} else if (q == Q_PUT_CGROUP) {
		buf_puts(sql, "INSERT INTO cgroup(id");
		put_names(sql, cgroup_metrics, NULL, CGROUP_METRIC_COUNT);
		put_values(sql, 1 + CGROUP_METRIC_COUNT);
	} else if (q == Q_PUT_BASE) {
		buf_puts(sql, "INSERT INTO sample_base(id, proc, state, cpu");
		put_names(sql, proc_metrics, all->cell, CELL_METRICS);
		put_values(sql, 2 + CELL_COUNT);
	} else if (q == Q_PUT_CHANGE) {
		buf_puts(sql, "INSERT INTO sample_change(id, state, cpu");
		put_names(sql, proc_metrics, all->cell, CELL_METRICS);
		put_values(sql, 1 + CELL_COUNT);
	} else if (q == Q_PUT_DETAIL) {
		buf_puts(sql, "INSERT INTO sample_detail(id");
		put_names(sql, proc_metrics, all->detail, DETAIL_METRICS);
		put_values(sql, 1 + DETAIL_METRICS);
	} else if (q == Q_PUT_HOST_RANGE) {
		put_host_range(sql);
	} else if (q == Q_SET_HOST_MEANS) {
		put_host_means(sql);
	} else if (q == Q_SET_CGROUP_MEANS) {
		put_means(sql, "cgroup", cgroup_metrics, CGROUP_METRIC_COUNT, "id", "?1");
	} else if (q == Q_PUT_RANGE) {
		buf_puts(sql, "INSERT INTO sample_range(id, cpu_min, cpu_max");
		put_extremes(sql, all);
		put_values(sql, 1 + 2 * (CELL_COUNT - CELL_CPU));
	} else if (q == Q_SET_TOTALS) {
		put_set_totals(sql, all);
	} else if (q == Q_SET_JOB_ROW) {
		put_job(sql);
	} else if (q == Q_SET_FIGURES) {
		put_figures(sql);
	}
}

static int prepare(struct store *st, enum statement q, struct err *err)
{
	struct buf sql = { 0 };
	int r;

	if (texts[q])
		return db_prepare(st->db, texts[q], &st->query[q], err);
	put_built(&sql, q, &st->columns);
	r = db_prepare(st->db, sql.at, &st->query[q], err);
	buf_done(&sql);
	return r;
}

sqlite3_stmt *statement_get(struct store *st, enum statement q, struct err *err)
{
	if (!st->query[q] && prepare(st, q, err) < 0)
		return NULL;
	return st->query[q];
}

int statement_run(struct store *st, enum statement q, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, q, err);

	return stmt ? db_run(stmt, err) : -err->code;
}

int64_t statement_int(struct store *st, enum statement q, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, q, err);
	int64_t value = -EUCLEAN;
	int r = stmt ? db_step(stmt, err) : -err->code;

	if (r < 0)
		return r;
	if (r > 0)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	return value;
}

void statements_done(struct store *st)
{
	for (size_t i = 0; i < STATEMENT_COUNT; i++) {
		sqlite3_finalize(st->query[i]);
		st->query[i] = NULL;
	}
}
