/* SPDX-License-Identifier: MIT */
/* The rows of jobs. The whole row is written when something about the job changed; from tick to tick
 * mostly its figures do, and then only those are written. */
#include "store/job_table.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "schema/job_column.h"
#include "store/store_schema.h"
#include "store/store_handle.h"

/* The single text that the statement selects, to be freed; NULL with an error. */
static char *select_text(sqlite3 *db, const char *sql, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db, sql, &stmt, err);

	if (r == 0)
		r = db_step(stmt, err);
	if (r > 0 && sqlite3_column_text(stmt, 0))
		return xstrdup((const char *)sqlite3_column_text(stmt, 0));
	if (r >= 0)
		err_set(err, EUCLEAN, "the table of jobs is not as any version made it");
	return NULL;
}

/* From a unique id to one per user. SQLite cannot drop the old constraint, so the table is made anew,
 * with the columns that it has. Processes of jobs without a row get one: their recorder died first. */
static int key_by_user(sqlite3 *db, struct err *err)
{
	cleanup(freep) char *create = select_text(
		db,
		"SELECT replace(replace(sql, 'job_id TEXT NOT NULL UNIQUE', 'job_id TEXT NOT NULL'),"
		" 'CREATE TABLE job(', 'CREATE TABLE new_job(') FROM sqlite_schema"
		" WHERE name = 'job' AND sql LIKE 'CREATE TABLE job(%job_id TEXT NOT NULL UNIQUE%'",
		err);
	cleanup(freep) char *columns = create ? select_text(db,
	                                                    "SELECT group_concat(name, ', ')"
	                                                    " FROM pragma_table_info('job')",
	                                                    err)
	                                      : NULL;
	cleanup(buf_done) struct buf sql = { 0 };

	if (!columns)
		return -err->code;
	buf_printf(&sql, "%s; INSERT INTO new_job(%s) SELECT %s FROM job; DROP TABLE job;", create,
	           columns, columns);
	buf_printf(&sql,
	           "ALTER TABLE new_job RENAME TO job;"
	           "CREATE INDEX job_started ON job(started, type) WHERE started IS NOT NULL;"
	           "CREATE INDEX job_running ON job(recorder) WHERE status = 0;"
	           "CREATE UNIQUE INDEX job_key ON job(job_id, uid);"
	           "INSERT INTO job(job_id, type, recorder, status, started, ended)"
	           " SELECT p.job_id, '', max(p.recorder), 3, min(p.started), max(p.ended)"
	           " FROM process p WHERE p.job_id IS NOT NULL"
	           " AND NOT EXISTS (SELECT 1 FROM job j WHERE j.job_id = p.job_id)"
	           " GROUP BY p.job_id;"
	           "UPDATE job SET uid = %u WHERE uid IS NULL",
	           (unsigned)geteuid());
	return db_exec(db, sql.at, err);
}

static const struct migration migrations[] = {
	{ 1,
	  "CREATE TABLE job(id INTEGER PRIMARY KEY, job_id TEXT NOT NULL UNIQUE, type TEXT NOT NULL,"
	  " recorder INTEGER, status INTEGER NOT NULL, started REAL, ended REAL, exit_code INTEGER,"
	  " signal INTEGER, total_sheets INTEGER, last_completed_sheet INTEGER, current_sheet INTEGER,"
	  " tags TEXT, processes INTEGER, cpu_time_us INTEGER, peak_rss_kib INTEGER);",
	  NULL },
	/* The sum of CPU time takes the name of the job's figure; the old one still works. The sums
	 * of version 1 are of the processes that were known: at least that much. */
	{ 2,
	  "ALTER TABLE job RENAME COLUMN cpu_time_us TO cpu_us;"
	  "ALTER TABLE job ADD COLUMN cpu_time_us INTEGER AS (cpu_us);"
	  "ALTER TABLE job ADD COLUMN type_given INTEGER;"
	  "ALTER TABLE job ADD COLUMN parent TEXT;"
	  "ALTER TABLE job ADD COLUMN command TEXT;"
	  "ALTER TABLE job ADD COLUMN cwd TEXT;"
	  "ALTER TABLE job ADD COLUMN uid INTEGER;"
	  "ALTER TABLE job ADD COLUMN tier TEXT;"
	  "ALTER TABLE job ADD COLUMN interval_us INTEGER;"
	  "ALTER TABLE job ADD COLUMN took_us INTEGER;"
	  "ALTER TABLE job ADD COLUMN core_dumped INTEGER;"
	  "ALTER TABLE job ADD COLUMN limits_hit INTEGER;"
	  "ALTER TABLE job ADD COLUMN hungriest_pid INTEGER;"
	  "ALTER TABLE job ADD COLUMN hungriest TEXT;"
	  "ALTER TABLE job ADD COLUMN first_snapshot INTEGER;"
	  "ALTER TABLE job ADD COLUMN last_snapshot INTEGER;"
	  "CREATE INDEX job_started ON job(started, type) WHERE started IS NOT NULL;"
	  "CREATE INDEX job_running ON job(recorder) WHERE status = 0;",
	  "UPDATE job SET processes_q = iif(processes IS NULL, NULL, 2),"
	  " cpu_us_q = iif(cpu_us IS NULL, NULL, 2),"
	  " peak_rss_kib_q = iif(peak_rss_kib IS NULL, NULL, 2)" },
	{ 5, .run = key_by_user },
	/* Why it died, and what it was allowed. */
	{ 6,
	  "ALTER TABLE job ADD COLUMN oom_group TEXT;"
	  "ALTER TABLE job ADD COLUMN allowed_source TEXT;"
	  "ALTER TABLE job ADD COLUMN sender_comm TEXT;"
	  "ALTER TABLE job ADD COLUMN latest TEXT;",
	  NULL },
	/* Whether another recorder stores it, too, and whose job it was started in: by then, one of the
	 * same user. */
	{ 10, "ALTER TABLE job ADD COLUMN recorded_as TEXT;",
	  "UPDATE job SET parent_uid = uid WHERE parent IS NOT NULL AND parent_uid IS NULL" },
	{ 0 },
};
static_assert(QUALITY_AT_LEAST == 2, "the number above");

/* ?1 is job.id; the columns follow from ?2 on. */
static void build_set(struct buf *sql, size_t first, size_t end)
{
	char name[COLUMN_NAME_MAX];

	for (size_t i = first; i < end; i++)
		buf_printf(sql, "%s %s = ?%zu", i > first ? "," : "", job_column_name(i, name),
		           i + 2);
}

static void build_set_row(struct buf *sql)
{
	buf_puts(sql, "UPDATE job SET");
	build_set(sql, 1, JOB_COLUMN_COUNT); /* the id never changes */
	buf_puts(sql, " WHERE id = ?1");
}

static void build_set_figures(struct buf *sql)
{
	buf_puts(sql, "UPDATE job SET");
	build_set(sql, JOB_COLUMN_LARGEST, JOB_COLUMN_LIMITS);
	buf_puts(sql, ",");
	build_set(sql, JOB_COLUMN_FIGURES, JOB_COLUMN_RECORDER);
	buf_puts(sql, " WHERE id = ?1");
}

enum { FIND, ADD, SET_ROW, SET_FIGURES, SET_LATEST, SUM };

static const struct table_stat stats[] = {
	{ "job", "job_key", "100000 1 1" },
	{ 0 },
};

static const struct statement statements[] = {
	[FIND] = { "SELECT id FROM job WHERE job_id = ?1 AND uid = ?2" },
	[ADD] = { "INSERT INTO job(id, job_id, uid, type, recorder, status) VALUES("
	          "max(coalesce((SELECT max(id) FROM job), 0),"
	          " coalesce((SELECT value FROM meta WHERE key = 'removed_job'), 0)) + 1,"
	          " ?1, ?2, '', ?3, 0)" },
	[SET_ROW] = { .build = build_set_row },
	[SET_FIGURES] = { .build = build_set_figures },
	[SET_LATEST] = { "UPDATE job SET latest = ?2 WHERE id = ?1" },
	[SUM] = { "UPDATE job SET"
	          " processes = iif(processes_q, processes, nullif(s.n, 0)),"
	          " processes_q = coalesce(processes_q, iif(s.n, 2, NULL)),"
	          " cpu_us = iif(cpu_us_q, cpu_us, s.cpu),"
	          " cpu_us_q = coalesce(cpu_us_q, s.cpu_q),"
	          " peak_rss_kib = iif(peak_rss_kib_q, peak_rss_kib, s.peak),"
	          " peak_rss_kib_q = coalesce(peak_rss_kib_q, s.peak_q)"
	          " FROM (" SCHEMA_SUMS ") s WHERE job.id = ?1" },
	{ 0 },
};

static uint64_t hash_facts(const struct job *job)
{
	const struct field_table facts = { job_columns, JOB_COLUMN_LARGEST };

	return record_columns_hash(hash_bytes(HASH_SEED, job->limit, sizeof job->limit), &facts,
	                           job);
}

static uint64_t hash_figures(const struct job *job)
{
	uint64_t h = hash_bytes(HASH_SEED ^ (uint64_t)job->largest_pid, job->largest_name,
	                        COMM_LEN);

	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++) {
		uint64_t figure[] = { job->figures[i].value, job->figures[i].quality };

		if (job->figures[i].quality != QUALITY_MISSING)
			h = hash_bytes(h + i, figure, sizeof figure);
	}
	return h;
}

static uint64_t hash_key(struct job_key key)
{
	return hash_bytes(HASH_SEED ^ key.uid, key.id, strnlen(key.id, JOB_ID_MAX));
}

static struct job_key key_of(const struct job_seen *seen)
{
	return (struct job_key){ seen->uid, seen->id };
}

/* Keys with the same hash stand at successive places: none is removed but with all others. */
struct job_seen *job_table_seen(const struct store *st, struct job_key key)
{
	uint64_t hash = hash_key(key), at;

	for (; map_get(&st->jobs.index, hash, &at); hash++)
		if (job_key_eq(key_of(&st->jobs.list.at[at]), key))
			return &st->jobs.list.at[at];
	return NULL;
}

static void index_seen(struct store *st, size_t at)
{
	uint64_t hash = hash_key(key_of(&st->jobs.list.at[at])), taken;

	while (map_get(&st->jobs.index, hash, &taken))
		hash++;
	map_put(&st->jobs.index, hash, at);
}

static struct job_seen *add_seen(struct store *st, struct job_key key, int64_t row)
{
	struct job_seen *seen = vec_push(&st->jobs.list, JOBS_MAX);

	if (!seen)
		return NULL;
	seen->uid = key.uid;
	snprintf(seen->id, sizeof seen->id, "%s", key.id);
	seen->row = row;
	index_seen(st, st->jobs.list.len - 1);
	return seen;
}

bool job_table_ends(const struct store *st, const struct snapshot *snap)
{
	vec_each(&snap->jobs, job) {
		const struct job_seen *seen = job_table_seen(st, job_key_of(job));

		if (!job->is_stored_by_other && job->status != (seen ? seen->status : JOB_RUNNING))
			return true;
	}
	return false;
}

bool job_table_has_volatile(const struct store *st)
{
	vec_each(&st->jobs.list, seen)
		if (!seen->is_durable)
			return true;
	return false;
}

void job_table_mark_durable(struct store *st)
{
	vec_each(&st->jobs.list, seen)
		seen->is_durable = true;
}

bool job_table_has_running(const struct store *st)
{
	vec_each(&st->jobs.list, seen)
		if (seen->status == JOB_RUNNING)
			return true;
	return st->jobs.is_unsure;
}

void job_table_roll_back(struct store *st)
{
	st->jobs.is_unsure = st->jobs.is_unsure || st->jobs.list.len;
	vec_reset(&st->jobs.list);
	map_reset(&st->jobs.index);
}

/* The parameter of a column is ?2 and its number. */
static void bind_figures(sqlite3_stmt *stmt, const struct job *job)
{
	const struct field_table largest = { job_columns + JOB_COLUMN_LARGEST, 2 };

	record_columns_bind(stmt, 2 + JOB_COLUMN_LARGEST, &largest, job);
	for (int i = 0; i < JOB_FIGURE_COUNT; i++) {
		const struct figure *f = &job->figures[i];
		bool has = f->quality != QUALITY_MISSING;
		int index = 2 + JOB_COLUMN_FIGURES + 2 * i;

		bind_value(stmt, index, bind_int_if(has, column_value(&job_figures[i], f->value)));
		bind_value(stmt, index + 1, bind_int_if(has, f->quality));
	}
}

static int put_row(struct store *st, const struct job *job, int64_t row, bool is_whole,
                   struct err *err)
{
	const struct field_table facts = { job_columns, JOB_COLUMN_LARGEST };
	sqlite3_stmt *stmt = statement_get(st, &statements[is_whole ? SET_ROW : SET_FIGURES], err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, row);
	bind_figures(stmt, job);
	if (is_whole) {
		record_columns_bind(stmt, 2, &facts, job);
		for (int i = 0; i < JOB_LIMIT_COUNT; i++)
			bind_value(stmt, 2 + JOB_COLUMN_LIMITS + i,
			           bind_nonzero((int64_t)MIN(job->limit[i], (uint64_t)INT64_MAX)));
		sqlite3_bind_int64(stmt, 2 + JOB_COLUMN_RECORDER, st->recorder);
	}
	return db_run(stmt, err);
}

int64_t job_table_find(struct store *st, struct job_key key, struct err *err)
{
	return statement_int(st, &statements[FIND],
	                     BINDS(bind_text(key.id, JOB_ID_MAX), bind_int(key.uid)), err);
}

int64_t job_table_add(struct store *st, struct job_key key, struct err *err)
{
	int64_t row;
	int r = statement_run(
		st, &statements[ADD],
		BINDS(bind_text(key.id, JOB_ID_MAX), bind_int(key.uid), bind_int(st->recorder)),
		err);

	if (r < 0)
		return r;
	row = sqlite3_last_insert_rowid(st->db);
	(void)add_seen(st, key, row);
	return row;
}

/* job.id, and what is remembered of it: NULL above the limit of 4096 jobs, and then its row is written
 * again each time. */
static int64_t get_row(struct store *st, struct job_key key, struct job_seen **ret, struct err *err)
{
	struct job_seen *seen = job_table_seen(st, key);
	int64_t row = seen ? seen->row : job_table_find(st, key, err);

	if (row > 0 && !seen)
		seen = add_seen(st, key, row);
	if (row == 0) {
		row = job_table_add(st, key, err);
		seen = job_table_seen(st, key);
	}
	*ret = seen;
	return row;
}

/* job.id, or -errno. */
static int64_t put_one(struct store *st, const struct job *job, struct err *err)
{
	uint64_t facts = hash_facts(job), figures = hash_figures(job);
	struct job_seen *seen;
	int64_t row = get_row(st, job_key_of(job), &seen, err);
	int r = 0;

	if (row < 0)
		return row;
	if (!seen || seen->facts != facts)
		r = put_row(st, job, row, true, err);
	else if (seen->figures != figures)
		r = put_row(st, job, row, false, err);
	if (r < 0 || !seen)
		return r < 0 ? r : row;
	seen->has_ended = job->status != JOB_RUNNING && seen->status == JOB_RUNNING;
	seen->facts = facts;
	seen->figures = figures;
	seen->status = job->status;
	return row;
}

int job_table_put_one(struct store *st, const struct job *job, struct err *err)
{
	return (int)MIN(put_one(st, job, err), (int64_t)0);
}

/* Jobs that are no longer in snapshots need not be remembered. */
static void forget_gone(struct store *st, const struct snapshot *snap)
{
	size_t kept = 0;

	if (st->jobs.list.len <= 2 * snap->jobs.len + 64)
		return;
	vec_each(&st->jobs.list, seen)
		vec_each(&snap->jobs, job)
			if (job_key_eq(key_of(seen), job_key_of(job))) {
				st->jobs.list.at[kept++] = *seen;
				break;
			}
	st->jobs.list.len = kept;
	map_reset(&st->jobs.index);
	for (size_t i = 0; i < kept; i++)
		index_seen(st, i);
}

static int put(struct store *st, const struct snapshot *snap, struct err *err)
{
	forget_gone(st, snap);
	vec_reset(&st->jobs.rows);
	vec_each(&snap->jobs, job) {
		int64_t row = job->is_stored_by_other ? 0 : put_one(st, job, err);
		int64_t *at = row < 0 ? NULL : vec_push(&st->jobs.rows, JOBS_MAX);

		if (!at)
			return (int)MIN(row, (int64_t)0);
		*at = row;
	}
	return 0;
}

bool job_table_is_running(const struct store *st, int64_t row)
{
	vec_each(&st->jobs.list, seen)
		if (seen->row == row)
			return seen->status == JOB_RUNNING;
	return false;
}

int64_t job_table_row(const struct store *st, int32_t job)
{
	return job >= 0 && (size_t)job < st->jobs.rows.len ? st->jobs.rows.at[job] : 0;
}

int job_table_put_latest(struct store *st, const struct job *job, const struct buf *text,
                         struct err *err)
{
	struct job_seen *seen = job->is_stored_by_other ? NULL
	                                                : job_table_seen(st, job_key_of(job));
	uint64_t hash = text->len ? hash_bytes(HASH_SEED, text->at, text->len) : 0;

	if (!seen || seen->latest == hash)
		return 0;
	seen->latest = hash;
	return statement_run(st, &statements[SET_LATEST],
	                     BINDS(bind_int(seen->row), bind_text_or_null(text->at, text->len)),
	                     err);
}

static bool lacks_sums(const struct job *job)
{
	return !job->figures[JOB_FIGURE_CPU].quality ||
	       !job->figures[JOB_FIGURE_PEAK_RSS].quality ||
	       !job->figures[JOB_FIGURE_PROCESSES].quality;
}

int job_table_sum(struct store *st, const struct job *job, const struct index_list *alive,
                  struct err *err)
{
	struct job_seen *seen = job_table_seen(st, job_key_of(job));
	int r = 0;

	if (!seen || !seen->has_ended)
		return 0;
	seen->has_ended = false;
	r = live_processes_flush_totals(st, alive, seen->row, err);
	if (r == 0)
		r = job_table_put_latest(st, job, &(const struct buf){ 0 }, err);
	if (r == 0 && lacks_sums(job))
		r = statement_run(st, &statements[SUM], BINDS(bind_int(seen->row)), err);
	if (r == 0 && job->total_sheets)
		r = sheet_table_sum_all(st, seen->row, err);
	if (r == 0 && seen->is_sampled)
		r = job_sample_table_settle(st, job, seen->row, err);
	return r;
}

static int finish(struct store *st, const struct snapshot *snap, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < snap->jobs.len; i++)
		if (!snap->jobs.at[i].is_stored_by_other)
			r = job_table_sum(st, &snap->jobs.at[i], live_processes_at(st, snap), err);
	return r;
}

static int add_columns(sqlite3 *db, struct err *err)
{
	char name[COLUMN_NAME_MAX];
	int r = 0;

	for (size_t i = 0; r == 0 && i < JOB_COLUMN_COUNT; i++)
		r = store_schema_add_column(db, "job", job_column_name(i, name), "", err);
	return r;
}

/* How a limit is shown. */
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

void job_table_put_status(struct buf *sql, const char *column)
{
	const char *names[JOB_STATUS_COUNT];

	for (enum job_status s = 0; s < JOB_STATUS_COUNT; s++)
		names[s] = job_status_name(s);
	column_put_case(sql, column, names, JOB_STATUS_COUNT);
}

/* Short, because SQLite parses every view each time that the store is opened. */
void job_table_put_quality(struct buf *sql, const char *column)
{
	buf_printf(sql, "CASE %s", column);
	for (enum quality q = QUALITY_MISSING + 1; q < QUALITY_COUNT; q++)
		buf_printf(sql, " WHEN %d THEN '%s'", (int)q, quality_key(q));
	buf_printf(sql, " ELSE '%s' END", quality_key(QUALITY_MISSING));
}

static void put_figure(struct buf *sql, enum job_figure id)
{
	const struct metric *m = &job_figures[id];

	column_select(sql, m, "j", "");
}

static void put_figure_quality(struct buf *sql, enum job_figure id)
{
	char quality[COLUMN_NAME_MAX];

	job_column_name(JOB_COLUMN_FIGURES + 2 * (size_t)id + 1, quality);
	buf_puts(sql, ", ");
	job_table_put_quality(sql, quality);
	buf_printf(sql, " AS %s_quality", job_figures[id].key);
}

/* Those that the first version of the view had keep their place. */
static bool is_old(enum job_figure id)
{
	return id == JOB_FIGURE_PROCESSES || id == JOB_FIGURE_CPU || id == JOB_FIGURE_PEAK_RSS;
}

/* The same words as job_outcome(). */
static void put_result(struct buf *sql)
{
	buf_printf(
		sql,
		", CASE j.status WHEN %d THEN 'running' WHEN %d THEN 'lost' WHEN %d THEN 'ok'"
		" ELSE CASE WHEN j.oom OR coalesce(j.oom_kills, j.limits_hit & %u AND j.signal = %d) THEN 'oom'"
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

static const char *any_proof(int i)
{
	return cause_proof_name((enum cause_proof)i);
}

static const char *any_source(int i)
{
	return cause_source_name((enum cause_source)i);
}

static const char *any_sender(int i)
{
	return cause_sender_name((enum cause_sender)i);
}

static void put_named(struct buf *sql, const char *column, const char *as,
                      const char *(*name)(int i), int count)
{
	buf_printf(sql, ", CASE j.%s", column);
	for (int i = 1; i < count; i++)
		buf_printf(sql, " WHEN %d THEN '%s'", i, name(i));
	buf_printf(sql, " END AS %s", as);
}

static void put_cause(struct buf *sql)
{
	put_named(sql, "oom", "oom", any_proof, CAUSE_PROOF_COUNT);
	put_named(sql, "oom_source", "oom_source", any_source, CAUSE_SOURCE_COUNT);
	buf_puts(sql, ", j.oom_limit/1048576.0 AS oom_limit_mb, j.oom_group AS oom_cgroup");
	put_named(sql, "sender", "signal_sender", any_sender, CAUSE_SENDER_COUNT);
	put_named(sql, "sender_source", "signal_sender_source", any_source, CAUSE_SOURCE_COUNT);
	buf_puts(sql, ", j.sender_pid AS signal_sender_pid,"
	              " iif(j.sender_pid, j.sender_uid, NULL) AS signal_sender_uid,"
	              " j.sender_comm AS signal_sender_command");
}

static void put_jobs(struct buf *sql)
{
	buf_puts(sql, "CREATE VIEW jobs AS SELECT j.job_id AS job_id, j.type AS type, ");
	job_table_put_status(sql, "j.status");
	buf_puts(sql, " AS status, j.started AS started, j.ended AS ended,"
	              " coalesce(j.took_us/1e6, j.ended - j.started) AS duration_seconds,"
	              " j.exit_code AS exit_code, j.signal AS signal_num,"
	              " nullif(j.total_sheets, 0) AS total_sheets,"
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
	put_cause(sql);
	buf_puts(sql, ", j.allowed_memory/1048576.0 AS allowed_memory_mb,"
	              " j.allowed_source AS allowed_memory_source,"
	              " j.allowed_cores/1000.0 AS allowed_cores,"
	              " j.allowed_time_us/1e6 AS allowed_seconds");
	syscall_table_put_columns(sql, "j");
	buf_puts(
		sql,
		", j.parent_uid AS parent_uid, j.recorded_as AS recorded_as,"
		" j.recorder AS recorder, j.recording AS recording,"
		" coalesce(j.type_given, 0) AS job_type_given FROM job j WHERE j.started IS NOT NULL");
}

static const struct view views[] = { { "jobs", put_jobs }, { 0 } };

static const struct table_ids ids[] = {
	{ "job",
	  { { "id", ID_JOB },
	    { "recorder", ID_RECORDER },
	    { "first_snapshot", ID_SNAPSHOT },
	    { "last_snapshot", ID_SNAPSHOT } } },
	{ 0 },
};

static const char *const remove_job[] = { "DELETE FROM job WHERE id = ?1", NULL };

const struct store_table job_table = {
	.name = "job",
	.migrations = migrations,
	.add_columns = add_columns,
	.statements = statements,
	.put = put,
	.on_flush = true,
	.finish = finish,
	.end_recorder =
		"UPDATE job SET status = 3, ended = max(started, (SELECT r.ended FROM recorder r"
		" WHERE r.id = ?1)), latest = NULL,"
		" last_snapshot = (SELECT max(k.last) FROM keyframe k WHERE k.recorder = ?1)"
		" WHERE recorder = ?1 AND status = 0",
	.views = views,
	.stats = stats,
	.remove_job = remove_job,
	.ids = ids,
};
static_assert(JOB_RUNNING == 0 && JOB_LOST == 3, "the numbers in the text above");
