/* SPDX-License-Identifier: MIT */
/* The sums over the processes of a job: one small row for each running job and snapshot. */
#include "schema/job_sample_column.h"
#include "store/store_schema.h"
#include "store/store_handle.h"

static const struct migration migrations[] = {
	{ 2,
	  "CREATE TABLE job_sample(snapshot INTEGER NOT NULL, job INTEGER NOT NULL, procs INTEGER,"
	  " rss_kib INTEGER, cpu INTEGER, procs_min INTEGER, procs_max INTEGER, rss_kib_min INTEGER,"
	  " rss_kib_max INTEGER, cpu_min INTEGER, cpu_max INTEGER, PRIMARY KEY(snapshot, job))"
	  " WITHOUT ROWID;",
	  NULL },
	{ 6,
	  "ALTER TABLE job_sample ADD COLUMN used_kib INTEGER;"
	  "ALTER TABLE job_sample ADD COLUMN used_kib_max INTEGER;"
	  "ALTER TABLE job_sample ADD COLUMN charged_kib INTEGER;"
	  "ALTER TABLE job_sample ADD COLUMN cpu_us INTEGER;"
	  "ALTER TABLE job_sample ADD COLUMN gpu_memory_kib INTEGER;"
	  "ALTER TABLE job_sample ADD COLUMN gpu_sm INTEGER;"
	  "ALTER TABLE job_sample ADD COLUMN gpu_device_memory_kib INTEGER;"
	  "ALTER TABLE job_sample ADD COLUMN gpu_util INTEGER;"
	  "ALTER TABLE job_sample ADD COLUMN read_bytes INTEGER;"
	  "ALTER TABLE job_sample ADD COLUMN written_bytes INTEGER;",
	  NULL },
	{ 0 },
};

static int add_columns(sqlite3 *db, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < job_sample_columns.n; i++)
		r = store_schema_add_column(db, "job_sample", job_sample_columns.at[i].key, "",
		                            err);
	return r;
}

#define NAME(column, ...) ", " column
#define PLACE(...) ", ?"
#define COLUMN_MINUTE(column, type, member, unit, kind, ...) ", " MINUTE_##kind(column)
#define MINUTE_GAUGE(column) STATEMENT_MEAN(column)
#define MINUTE_COUNTER(column) "max(" column ")"
#define EXTREME_MINUTE(column, minute, ...) ", " minute
#define NONE(...)
#define NAMES JOB_SAMPLE_COLUMNS(NAME, NONE)
#define PLACES JOB_SAMPLE_COLUMNS(PLACE, NONE)
#define MINUTE_NAMES JOB_SAMPLE_COLUMNS(NAME, NAME)
#define MINUTE_VALUES JOB_SAMPLE_COLUMNS(COLUMN_MINUTE, EXTREME_MINUTE)

enum { PUT, SET_FIRST, SET_LAST, LATEST, SET_CPU };

static const struct statement statements[] = {
	[PUT] = { "INSERT INTO job_sample(snapshot, job" NAMES ") VALUES(?1, ?2" PLACES ")" },
	/* One that goes on after a restart had a last one. */
	[SET_FIRST] = { "UPDATE job SET first_snapshot = coalesce(first_snapshot, ?2),"
	                " last_snapshot = NULL WHERE id = ?1" },
	[SET_LAST] = { "UPDATE job SET last_snapshot = ?2 WHERE id = ?1" },
	[LATEST] = { "SELECT m.snapshot, s.time, m.cpu_us, m.cpu FROM job j CROSS JOIN job_sample m"
	             " ON m.snapshot >= j.first_snapshot AND m.job = j.id"
	             " CROSS JOIN snapshot s ON s.id = m.snapshot WHERE j.id = ?1"
	             " ORDER BY m.snapshot DESC" },
	[SET_CPU] = { "UPDATE job_sample SET cpu_us = ?3, cpu = ?4 WHERE snapshot = ?1 AND job = ?2" },
	{ 0 },
};

static const struct statement downsample[] = {
	{ "INSERT OR REPLACE INTO job_sample(snapshot, job" MINUTE_NAMES
	  ") SELECT ?1, job" MINUTE_VALUES
	  " FROM job_sample" STATEMENT_MINUTE("snapshot") " GROUP BY job" },
	/* A job that began within the minute is in the snapshot that stands for it, too. */
	{ "UPDATE job SET first_snapshot = ?1 WHERE first_snapshot > ?1"
	  " AND id IN (SELECT job FROM job_sample WHERE snapshot = ?1)" },
	{ 0 },
};

static int put_sample(struct store *st, struct job_seen *seen, const struct job_sum *sum,
                      int64_t snapshot, struct err *err)
{
	sqlite3_stmt *stmt;
	int r = seen->is_sampled
	                ? 0
	                : statement_run(st, &statements[SET_FIRST],
	                                BINDS(bind_int(seen->row), bind_int(snapshot)), err);

	if (r < 0)
		return r;
	seen->is_sampled = true;
	stmt = statement_get(st, &statements[PUT], err);
	if (!stmt)
		return -err->code;
	db_bind(stmt, BINDS(bind_int(snapshot), bind_int(seen->row)));
	record_columns_bind(stmt, 3, &job_sample_columns, sum);
	return db_run(stmt, err);
}

static int put(struct store *st, const struct snapshot *snap, struct err *err)
{
	int64_t snapshot = st->snapshots.next;
	size_t n = MIN(snap->jobs.len, snap->sums.len);
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct job_seen *seen = job_table_seen(st, job_key_of(&snap->jobs.at[i]));

		if (snap->jobs.at[i].is_stored_by_other)
			continue;
		if (seen && seen->status == JOB_RUNNING)
			r = put_sample(st, seen, &snap->sums.at[i], snapshot, err);
		else if (seen && seen->has_ended && seen->is_sampled)
			r = statement_run(st, &statements[SET_LAST],
			                  BINDS(bind_int(seen->row), bind_int(snapshot)), err);
	}
	return r;
}

/* ---- at the end of a job --------------------------------------------------------------------- */

#define LATEST_MAX 64
#define SHORT_US 50000 /* the shortest interval; counters of /proc have steps of 10 ms */

/* A sample, or the begin or the end of the job. */
struct cpu_point {
	int64_t snapshot, at_us, cpu_us;
	int64_t share; /* thousandths of a core, COLUMN_ABSENT: not known */
};

struct cpu_points {
	struct cpu_point at[LATEST_MAX + 2]; /* the latest first */
	size_t len;
	int64_t cpus;     /* that the job could use at once … */
	int64_t allowed;  /* … and, if it had more tasks than were seen */
	int64_t short_us; /* no time that is shorter has a share of its own */
};

static int64_t time_us(double seconds)
{
	return (int64_t)(seconds * 1e6);
}

/* Thousandths of a core. */
static int64_t mean_share(const struct cpu_point *from, const struct cpu_point *to)
{
	int64_t elapsed_us = MAX(to->at_us - from->at_us, (int64_t)1);

	return ((to->cpu_us - from->cpu_us) * 1000 + elapsed_us / 2) / elapsed_us;
}

static bool is_possible(const struct cpu_points *points, const struct cpu_point *from)
{
	const struct cpu_point *end = points->at;

	return end->at_us - from->at_us >= points->short_us &&
	       mean_share(from, end) <= points->cpus * 1000;
}

/* Reads samples from the end backwards, up to one since which the CPU time is possible, or the start. */
static int read_latest(struct store *st, int64_t row, struct cpu_point start,
                       struct cpu_points *points, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, &statements[LATEST], err);
	bool is_found = false;
	int r = 0;

	if (!stmt)
		return -err->code;
	db_bind(stmt, BINDS(bind_int(row)));
	while (!is_found && points->len <= LATEST_MAX && (r = db_step(stmt, err)) > 0) {
		const struct cpu_point p = { .snapshot = sqlite3_column_int64(stmt, 0),
			                     .at_us = time_us(sqlite3_column_double(stmt, 1)),
			                     .cpu_us = db_column_or_absent(stmt, 2),
			                     .share = db_column_or_absent(stmt, 3) };

		if (p.cpu_us < 0)
			break;
		points->cpus = MAX(points->cpus,
		                   (p.share + 999) / 1000); /* it was allowed more since */
		is_found = is_possible(points, &p);
		points->at[points->len++] = p;
	}
	sqlite3_reset(stmt);
	if (r == 0 && !is_found)
		points->at[points->len++] = start;
	return MIN(r, 0);
}

/* Gives all of them the same share, from the earliest to the end. */
static int level(struct store *st, int64_t row, const struct cpu_points *points, struct err *err)
{
	const struct cpu_point *end = points->at, *from = &points->at[points->len - 1];
	int64_t share = MIN(mean_share(from, end), MAX(points->allowed, points->cpus) * 1000);
	int r = 0;

	if (end->at_us <= from->at_us || end->cpu_us < from->cpu_us)
		return 0;
	for (const struct cpu_point *p = end + 1; r == 0 && p < from; p++) {
		double part = (double)(p->at_us - from->at_us) / (double)(end->at_us - from->at_us);
		int64_t cpu_us = from->cpu_us +
		                 (int64_t)(part * (double)(end->cpu_us - from->cpu_us));

		r = statement_run(st, &statements[SET_CPU],
		                  BINDS(bind_int(p->snapshot), bind_int(row), bind_int(cpu_us),
		                        bind_or_null(p->share < 0 ? p->share : share)),
		                  err);
	}
	return r;
}

/* Counters may lag: a child counts once it was waited for, and /proc has steps of 10 ms. So what exceeds the CPUs
 * that the job could use since the last tick was used before that; when is not known. */
int job_sample_table_settle(struct store *st, const struct job *job, int64_t row, struct err *err)
{
	const struct figure *cpu = &job->figures[JOB_FIGURE_CPU];
	const struct cpu_point start = { .at_us = time_us(db_time(job->started_ns)) };
	struct cpu_points points = {
		.at[0] = { .at_us = time_us(db_time(job->ended_ns)),
		           .cpu_us = (int64_t)(cpu->value / 1000) },
		.len = 1,
		.cpus = job->allowed.cpus,
		.allowed = job->allowed.cpus,
		.short_us = MAX((int64_t)(job->interval_ns / 10000), (int64_t)SHORT_US),
	};
	int r;

	if (!points.cpus || !figure_is_known(*cpu))
		return 0;
	if (job->most_tasks)
		points.cpus = MIN(points.cpus, (int64_t)job->most_tasks);
	r = read_latest(st, row, start, &points, err);
	return r < 0 ? r : level(st, row, &points, err);
}

static void put_column(struct buf *sql, const char *stored, enum metric_unit unit, const char *key)
{
	buf_printf(sql, ", %s%s AS %s", stored, column_scale(&(struct metric){ .unit = unit }),
	           key);
}

/* The last row is the time between the last tick and the end, from the job's total: so the shares of
 * CPU add up to it. */
static void put_job_samples(struct buf *sql)
{
	buf_puts(sql, "CREATE VIEW job_samples AS SELECT j.job_id AS job_id,"
	              " m.snapshot AS snapshot_id, s.time AS timestamp,"
	              " s.resolution AS resolution_seconds");
#define COLUMN(column, type, member, unit, kind, key, ...)                                         \
	put_column(sql, "m." column, UNIT_##unit, key);
#define EXTREME(column, minute, stored, unit, key) put_column(sql, stored, UNIT_##unit, key);
	JOB_SAMPLE_COLUMNS(COLUMN, EXTREME)
	buf_puts(sql,
	         ", j.uid AS uid"
	         " FROM job j JOIN job_sample m ON m.job = j.id AND m.snapshot >= j.first_snapshot"
	         " AND m.snapshot <= coalesce(j.last_snapshot, 9223372036854775807)"
	         " JOIN snapshot s ON s.id = m.snapshot"
	         " UNION ALL SELECT job_id, NULL, ended, NULL");
#define COLUMN_LAST(column, type, member, unit, kind, key, last)                                   \
	put_column(sql, last, UNIT_##unit, key);
#define EXTREME_LAST(...) buf_puts(sql, ", NULL");
	JOB_SAMPLE_COLUMNS(COLUMN_LAST, EXTREME_LAST)
	buf_puts(sql, ", uid FROM (" SCHEMA_LAST_SAMPLES
	              ") WHERE ended > since AND rest_us IS NOT NULL");
}

static const struct view views[] = { { "job_samples", put_job_samples }, { 0 } };

static const struct table_ids ids[] = {
	{ "job_sample", { { "snapshot", ID_SNAPSHOT }, { "job", ID_JOB } } },
	{ 0 },
};

static const char *const remove_job[] = {
	"DELETE FROM job_sample WHERE job = ?1 AND snapshot BETWEEN"
	" (SELECT j.first_snapshot FROM job j WHERE j.id = ?1) AND"
	" (SELECT coalesce(j.last_snapshot, 9223372036854775807) FROM job j WHERE j.id = ?1)",
	NULL,
};

const struct store_table job_sample_table = {
	.name = "job_sample",
	.migrations = migrations,
	.add_columns = add_columns,
	.statements = statements,
	.put = put,
	.downsample = downsample,
	.views = views,
	.remove_job = remove_job,
	.ids = ids,
};
