/* SPDX-License-Identifier: MIT */
/* A job's profile comes from the figures that its recorder gave; where there are none, from the
 * rows of its processes, whose totals are the kernel's; when those are gone, from what was summed
 * up at the job's end. */
#include <errno.h>
#include <stdio.h>

#include "history/history_handle.h"

/* The latest CPU time that was recorded of one that lives is in its details. The many that no snapshot
 * saw have none. */
#define PROCESSES                                                                                  \
	" FROM (SELECT p.*, max(coalesce(p.cpu_time_us, 0), coalesce(CASE"                         \
	" WHEN p.first IS NOT NULL AND p.last IS NULL THEN (SELECT d.cpu_time_us FROM keyframe k"  \
	" JOIN sample_detail d ON d.id BETWEEN (k.id + (p.id & 1048575)) << 12"                    \
	" AND ((k.id + (p.id & 1048575)) << 12) + 4095 WHERE k.recorder = p.recorder"              \
	" AND k.last IS NULL ORDER BY d.id DESC LIMIT 1) END, 0)) AS cpu_us FROM process p"        \
	" WHERE %s)"

static struct figure at_least(uint64_t value, bool is_exact)
{
	return (struct figure){ value, is_exact ? QUALITY_EXACT : QUALITY_AT_LEAST };
}

static int read_totals(struct history *r, struct job_key key, struct job_profile *p,
                       struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int result;

	buf_printf(&sql,
	           "SELECT count(DISTINCT pid << 42 | start_ticks),"
	           " count(DISTINCT pid), sum(cpu_us),"
	           " max(coalesce(peak_rss_kib, max_rss_kib)),"
	           " min(ended IS NOT NULL AND cpu_time_us IS NOT NULL),"
	           " min(peak_rss_kib IS NOT NULL)" PROCESSES,
	           history_is_member(r));
	result = history_prepare_for_job(r, sql.at, key, &stmt, err);
	if (result == 0)
		result = db_step(stmt, err);
	if (result <= 0)
		return result;
	p->spawns = at_least((uint64_t)sqlite3_column_int64(stmt, 0), false);
	p->unique_pids = (uint64_t)sqlite3_column_int64(stmt, 1);
	p->cpu_time_ns = at_least((uint64_t)sqlite3_column_int64(stmt, 2) * NS_PER_US,
	                          sqlite3_column_int(stmt, 4) != 0);
	p->peak_rss_bytes = at_least((uint64_t)sqlite3_column_int64(stmt, 3) << 10,
	                             sqlite3_column_int(stmt, 5) != 0);
	return 0;
}

static int read_sheets(struct history *r, struct job_key key, struct job_profile *p,
                       const char *sql, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int result = history_prepare_for_job(r, sql, key, &stmt, err);

	while (result == 0) {
		struct profile_sheet *sheet;

		result = db_step(stmt, err);
		if (result <= 0)
			break;
		result = 0;
		sheet = vec_push(&p->sheets, PROFILE_SHEETS_MAX);
		if (!sheet)
			break;
		sheet->num = (uint32_t)sqlite3_column_int64(stmt, 0);
		sheet->peak_rss_bytes = at_least((uint64_t)sqlite3_column_int64(stmt, 1) << 10,
		                                 false);
		sheet->max_cpu_ratio = column_ratio_inside(db_column_or_absent(stmt, 2));
	}
	return result;
}

static void use_figure(struct figure *to, const struct figure *from)
{
	if (figure_is_known(*from))
		*to = *from;
}

/* What the recorder reported, or the store summed up when it ended. */
static void use_figures(struct job_profile *p, const struct job *job)
{
	use_figure(&p->cpu_time_ns, &job->figures[JOB_FIGURE_CPU]);
	use_figure(&p->peak_rss_bytes, &job->figures[JOB_FIGURE_PEAK_RSS]);
	use_figure(&p->spawns, &job->figures[JOB_FIGURE_PROCESSES]);
	if (!p->unique_pids)
		p->unique_pids = p->spawns.value;
}

static int read_profile(struct history *r, struct job_key key, struct job_profile *p,
                        struct err *err)
{
	cleanup(buf_done) struct buf sql = { 0 };
	struct job job;
	int result = history_load_job(r, key, &job, err);

	if (result == 0)
		return err_set(err, ENOENT, "no job '%.128s'", key.id);
	if (result > 0)
		result = read_totals(r, key, p, err);
	if (result < 0)
		return result;
	snprintf(p->job_id, sizeof p->job_id, "%s", job.id);
	if (p->spawns.value)
		buf_printf(&sql,
		           "SELECT p.sheet, max(coalesce(p.peak_rss_kib, p.max_rss_kib)),"
		           " max(p.max_cpu) FROM process p WHERE %s AND p.sheet IS NOT NULL"
		           " GROUP BY p.sheet ORDER BY p.sheet",
		           history_is_member(r));
	else
		buf_puts(&sql, "SELECT t.num, t.peak_rss_kib, t.max_cpu FROM sheet t"
		               " WHERE t.job = ?1 ORDER BY t.num");
	use_figures(p, &job);
	return read_sheets(r, key, p, sql.at, err);
}

int history_profile(struct history *r, struct job_key key, struct job_profile *ret, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	struct job_profile p = { 0 };
	int result = history_begin(r, &scope, err);

	if (result == 0)
		result = read_profile(r, key, &p, err);
	if (result < 0)
		job_profile_done(&p);
	else
		*ret = p;
	return result;
}
