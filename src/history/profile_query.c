/* SPDX-License-Identifier: MIT */
/* A job's profile comes from the figures that its recorder gave; where there are none, from the
 * rows of its processes, whose totals are the kernel's; when those are gone, from what was summed
 * up at the job's end. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "history/history_handle.h"

/* The latest CPU time that was told of one that lives is in its details. The many that no snapshot
 * saw are not asked for it. */
#define PROCESSES                                                                                  \
	" FROM (SELECT p.*, max(coalesce(p.cpu_time_us, 0), coalesce(CASE"                         \
	" WHEN p.first IS NOT NULL AND p.last IS NULL THEN (SELECT d.cpu_time_us FROM keyframe k"  \
	" JOIN sample_detail d ON d.id BETWEEN (k.id + (p.id & 1048575)) << 12"                    \
	" AND ((k.id + (p.id & 1048575)) << 12) + 4095 WHERE k.recorder = p.recorder"              \
	" AND k.last IS NULL ORDER BY d.id DESC LIMIT 1) END, 0)) AS cpu_us FROM process p"        \
	" WHERE p.job_id = ?1)"

static int prepare(struct history *r, const char *sql, const char *job_id, sqlite3_stmt **ret,
                   struct err *err)
{
	int result = db_prepare(r->db, sql, ret, err);

	if (result == 0)
		sqlite3_bind_text(*ret, 1, job_id, -1, SQLITE_TRANSIENT);
	return result;
}

static int read_totals(struct history *r, struct profile *p, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int result = prepare(r,
	                     "SELECT count(DISTINCT pid << 42 | start_ticks),"
	                     " count(DISTINCT pid), sum(cpu_us),"
	                     " max(coalesce(peak_rss_kib, max_rss_kib)),"
	                     " min(ended IS NOT NULL AND cpu_time_us IS NOT NULL),"
	                     " min(peak_rss_kib IS NOT NULL)" PROCESSES,
	                     p->job_id, &stmt, err);

	if (result == 0)
		result = db_step(stmt, err);
	if (result <= 0)
		return result;
	p->spawns = (uint64_t)sqlite3_column_int64(stmt, 0);
	p->unique_pids = (uint64_t)sqlite3_column_int64(stmt, 1);
	p->cpu_time_ns = (uint64_t)sqlite3_column_int64(stmt, 2) * NS_PER_US;
	p->peak_rss_bytes = (uint64_t)sqlite3_column_int64(stmt, 3) << 10;
	p->cpu_is_exact = sqlite3_column_int(stmt, 4) != 0;
	p->peak_is_exact = sqlite3_column_int(stmt, 5) != 0;
	return 0;
}

static int read_sheets(struct history *r, struct profile *p, const char *sql, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int result = prepare(r, sql, p->job_id, &stmt, err);

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
		sheet->peak_rss_bytes = (uint64_t)sqlite3_column_int64(stmt, 1) << 10;
		sheet->max_cpu_ratio = column_ratio_inside(db_column_or_absent(stmt, 2));
	}
	return result;
}

/* What the recorder told, or the store summed up when it ended. */
static void use_figures(struct profile *p, const struct job *job)
{
	const struct figure *cpu = &job->figures[JOB_FIGURE_CPU];
	const struct figure *peak = &job->figures[JOB_FIGURE_PEAK_RSS];
	const struct figure *processes = &job->figures[JOB_FIGURE_PROCESSES];

	if (cpu->quality != QUALITY_MISSING) {
		p->cpu_time_ns = cpu->value;
		p->cpu_is_exact = cpu->quality == QUALITY_EXACT;
	}
	if (peak->quality != QUALITY_MISSING) {
		p->peak_rss_bytes = peak->value;
		p->peak_is_exact = peak->quality == QUALITY_EXACT;
	}
	if (processes->quality != QUALITY_MISSING)
		p->spawns = processes->value;
	if (!p->unique_pids)
		p->unique_pids = p->spawns;
}

static int read_profile(struct history *r, struct profile *p, struct err *err)
{
	struct job job;
	int result = read_totals(r, p, err);
	bool has_rows = p->spawns > 0;
	int found = result < 0 ? result : history_load_job(r, p->job_id, &job, err);

	if (found < 0)
		return found;
	if (!found && !has_rows)
		return err_set(err, ENOENT, "no job '%s'", p->job_id);
	if (found)
		use_figures(p, &job);
	if (!has_rows)
		return read_sheets(r, p,
		                   "SELECT t.num, t.peak_rss_kib, t.max_cpu FROM sheet t JOIN job j"
		                   " ON j.id = t.job WHERE j.job_id = ?1 ORDER BY t.num",
		                   err);
	return read_sheets(r, p,
	                   "SELECT sheet, max(coalesce(peak_rss_kib, max_rss_kib)), max(max_cpu)"
	                   " FROM process WHERE job_id = ?1 AND sheet IS NOT NULL"
	                   " GROUP BY sheet ORDER BY sheet",
	                   err);
}

int history_profile(struct history *r, const char *job_id, struct profile *ret, struct err *err)
{
	struct profile p = { 0 };
	int result;

	if (snprintf(p.job_id, sizeof p.job_id, "%s", job_id) >= (int)sizeof p.job_id)
		return err_set(err, ENOENT, "no job '%.64s…'", job_id);
	result = history_begin(r, err);
	if (result < 0)
		return result;
	result = read_profile(r, &p, err);
	history_end(r);
	if (result < 0)
		profile_done(&p);
	else
		*ret = p;
	return result;
}

void profile_done(struct profile *p)
{
	vec_done(&p->sheets);
}
