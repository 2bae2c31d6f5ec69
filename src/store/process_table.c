/* SPDX-License-Identifier: MIT */
#include "store/process_table.h"

#include "store/schema.h"
#include "store/store_handle.h"

static const struct migration migrations[] = {
	{ 1,
	  "CREATE TABLE process(id INTEGER PRIMARY KEY, recorder INTEGER NOT NULL,"
	  " pid INTEGER NOT NULL,"
	  " ppid INTEGER, start_ticks INTEGER, first INTEGER, last INTEGER, job_id TEXT,"
	  " sheet INTEGER,"
	  " started REAL, ended REAL, exit_code INTEGER, signal INTEGER, core_dumped INTEGER,"
	  " uid INTEGER, comm TEXT, command TEXT, syscall_counts TEXT, syscall_time_pct TEXT,"
	  " max_cpu INTEGER, max_rss_kib INTEGER);"
	  "CREATE INDEX process_pid ON process(pid, start_ticks);"
	  "CREATE INDEX process_job ON process(job_id) WHERE job_id IS NOT NULL;"
	  "CREATE INDEX process_alive ON process(recorder) WHERE last IS NULL AND first IS NOT"
	  " NULL;",
	  NULL },
	{ 2,
	  "ALTER TABLE process ADD COLUMN final INTEGER;"
	  "DROP INDEX process_job;"
	  "CREATE INDEX process_job ON process(job_id, sheet) WHERE job_id IS NOT NULL;",
	  NULL },
	/* The row of its job instead of the job's id, which two users may share. */
	{ 5,
	  "DROP INDEX process_job;"
	  "ALTER TABLE process ADD COLUMN job INTEGER;"
	  "UPDATE process SET job = (SELECT j.id FROM job j WHERE j.job_id = process.job_id)"
	  " WHERE job_id IS NOT NULL;"
	  "ALTER TABLE process DROP COLUMN job_id;"
	  "CREATE INDEX process_job ON process(job, sheet) WHERE job IS NOT NULL;",
	  NULL },
	{ 0 },
};

static const struct table_stat stats[] = {
	{ "process", "process_pid", "1000000 3 1" },
	{ "process", "process_job", "1000000 20 5" },
	{ 0 },
};

static void build_set_totals(struct buf *sql)
{
	struct columns all = columns_all();

	buf_puts(sql, "UPDATE process SET max_cpu = coalesce(max(max_cpu, ?2), max_cpu, ?2),"
	              " max_rss_kib = coalesce(max(max_rss_kib, ?3), max_rss_kib, ?3)");
	for (size_t i = 0; i < TOTAL_METRICS; i++) {
		char name[COLUMN_NAME_MAX];

		column_name(&proc_metrics[all.total[i]], name);
		buf_printf(sql, ", %s = coalesce(max(%s, ?%zu), %s, ?%zu)", name, name, i + 4, name,
		           i + 4);
	}
	buf_printf(sql, ", final = iif(?%d, coalesce(final, 0) | ?%d, final) WHERE id = ?1",
	           4 + TOTAL_METRICS, 4 + TOTAL_METRICS);
}

enum {
	NEXT_ID,
	ADD,
	FIND,
	FIND_UNSEEN,
	PARENT_STARTED,
	SET_SEEN,
	SET_FIRST,
	SET_LAST,
	SET_JOB,
	SET_COMMAND,
	SET_NAME,
	SET_BORN,
	SET_EXIT,
	SET_TOTALS,
};

static const struct statement statements[] = {
	[NEXT_ID] = { "SELECT coalesce(max(id), 0) + 1 FROM process" },
	[ADD] = { "INSERT INTO process(id, recorder, pid, ppid, start_ticks, first, job,"
	          " sheet, started, uid, comm, command, final)"
	          " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)" },
	[FIND] = { "SELECT id FROM process WHERE pid = ?1 AND start_ticks = ?2"
	           " AND recorder = ?3 ORDER BY id DESC LIMIT 1" },
	[FIND_UNSEEN] = { "SELECT id FROM process WHERE pid = ?1 AND start_ticks = ?2"
	                  " AND recorder = ?3 AND first IS NULL ORDER BY id DESC LIMIT 1" },
	[PARENT_STARTED] = { "SELECT max(started) FROM process WHERE pid = ?1 AND recorder = ?2"
	                     " AND started < ?3" },
	[SET_SEEN] = { "UPDATE process SET first = ?2, last = NULL WHERE id = ?1" },
	[SET_FIRST] = { "UPDATE process SET first = ?2 WHERE id = ?1" },
	[SET_LAST] = { "UPDATE process SET last = ?2, ended = coalesce(ended, ?3) WHERE id = ?1" },
	[SET_JOB] = { "UPDATE process SET job = ?2, sheet = ?3 WHERE id = ?1" },
	[SET_COMMAND] = { "UPDATE process SET uid = ?2, comm = ?3, command = ?4 WHERE id = ?1" },
	[SET_NAME] = { "UPDATE process SET uid = ?2, comm = ?3, command = ?4 WHERE id = ?1"
	               " AND (command IS NULL OR command = comm OR command LIKE '[%')" },
	[SET_BORN] = { "UPDATE process SET ppid = ?2, started = ?3,"
	               " final = coalesce(final, 0) | ?4 WHERE id = ?1" },
	[SET_EXIT] = { "UPDATE process SET ended = ?2, exit_code = ?3, signal = ?4,"
	               " core_dumped = ?5 WHERE id = ?1" },
	[SET_TOTALS] = { .build = build_set_totals },
};

static sqlite3_stmt *get(struct store *st, int statement, struct err *err)
{
	return statement_get(st, &statements[statement], err);
}

int64_t process_table_next_id(struct store *st, struct err *err)
{
	return statement_int(st, &statements[NEXT_ID], err);
}

static void bind_job(sqlite3_stmt *stmt, int index, int64_t job, uint32_t sheet)
{
	db_bind_or_null(stmt, index, job ? job : COLUMN_ABSENT);
	db_bind_or_null(stmt, index + 1, job && sheet ? (int64_t)sheet : COLUMN_ABSENT);
}

int64_t process_table_add(struct store *st, const struct process_row *row, struct err *err)
{
	sqlite3_stmt *stmt = get(st, ADD, err);
	int64_t id = live_processes_new_id(st, err);
	int r;

	if (!stmt || id < 0)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_int64(stmt, 2, st->recorder);
	sqlite3_bind_int64(stmt, 3, row->id.pid);
	db_bind_or_null(stmt, 4, row->ppid);
	sqlite3_bind_int64(stmt, 5, (int64_t)row->id.start_ticks);
	db_bind_or_null(stmt, 6, row->first ? row->first : COLUMN_ABSENT);
	bind_job(stmt, 7, row->job, row->sheet);
	sqlite3_bind_double(stmt, 9, row->started);
	sqlite3_bind_int64(stmt, 10, row->uid);
	db_bind_text(stmt, 11, row->comm, COMM_LEN);
	db_bind_text(stmt, 12, row->command, row->command_len);
	db_bind_or_null(stmt, 13, row->is_start_exact ? FINAL_START : COLUMN_ABSENT);
	r = db_run(stmt, err);
	return r < 0 ? r : id;
}

int64_t process_table_find(struct store *st, struct proc_id id, bool unseen, struct err *err)
{
	sqlite3_stmt *stmt = get(st, unseen ? FIND_UNSEEN : FIND, err);
	int64_t found = 0;
	int r;

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, id.pid);
	sqlite3_bind_int64(stmt, 2, (int64_t)id.start_ticks);
	sqlite3_bind_int64(stmt, 3, st->recorder);
	r = db_step(stmt, err);
	if (r > 0)
		found = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	return r < 0 ? r : found;
}

double process_table_parent_started(struct store *st, pid_t ppid, double before)
{
	struct err ignored;
	sqlite3_stmt *stmt = get(st, PARENT_STARTED, &ignored);
	double started = 0;

	if (!stmt)
		return 0;
	sqlite3_bind_int64(stmt, 1, ppid);
	sqlite3_bind_int64(stmt, 2, st->recorder);
	sqlite3_bind_double(stmt, 3, before);
	if (db_step(stmt, &ignored) > 0)
		started = sqlite3_column_double(stmt, 0);
	sqlite3_reset(stmt);
	return started;
}

static int set_snapshot(struct store *st, int statement, int64_t proc, int64_t snapshot,
                        struct err *err)
{
	sqlite3_stmt *stmt = get(st, statement, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, proc);
	sqlite3_bind_int64(stmt, 2, snapshot);
	return db_run(stmt, err);
}

int process_table_set_seen(struct store *st, int64_t proc, int64_t snapshot, struct err *err)
{
	return set_snapshot(st, SET_SEEN, proc, snapshot, err);
}

int process_table_set_first(struct store *st, int64_t proc, int64_t snapshot, struct err *err)
{
	return set_snapshot(st, SET_FIRST, proc, snapshot, err);
}

int process_table_set_last(struct store *st, int64_t proc, int64_t snapshot, double ended,
                           struct err *err)
{
	sqlite3_stmt *stmt = get(st, SET_LAST, err);

	if (!stmt)
		return -err->code;
	if (ended > 0)
		sqlite3_bind_double(stmt, 3, ended);
	else
		sqlite3_bind_null(stmt, 3);
	return set_snapshot(st, SET_LAST, proc, snapshot, err);
}

int process_table_set_job(struct store *st, int64_t proc, int64_t job, uint32_t sheet,
                          struct err *err)
{
	sqlite3_stmt *stmt = get(st, SET_JOB, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, proc);
	bind_job(stmt, 2, job, sheet);
	return db_run(stmt, err);
}

int process_table_set_command(struct store *st, int64_t proc, uint32_t uid, const char *comm,
                              const char *command, size_t len, bool is_name, struct err *err)
{
	sqlite3_stmt *stmt = get(st, is_name ? SET_NAME : SET_COMMAND, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, proc);
	sqlite3_bind_int64(stmt, 2, uid);
	db_bind_text(stmt, 3, comm, COMM_LEN);
	db_bind_text(stmt, 4, command, MIN(len, (size_t)COMMAND_MAX));
	return db_run(stmt, err);
}

int process_table_set_born(struct store *st, int64_t proc, const struct event *e, struct err *err)
{
	sqlite3_stmt *stmt = get(st, SET_BORN, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, proc);
	sqlite3_bind_int64(stmt, 2, e->ppid);
	sqlite3_bind_double(stmt, 3, db_time(e->wall_ns));
	sqlite3_bind_int64(stmt, 4, FINAL_START);
	return db_run(stmt, err);
}

int process_table_set_exit(struct store *st, int64_t proc, const struct event *e, struct err *err)
{
	sqlite3_stmt *stmt = get(st, SET_EXIT, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, proc);
	sqlite3_bind_double(stmt, 2, db_time(e->wall_ns));
	if (e->has_exit_code)
		sqlite3_bind_int64(stmt, 3, e->exit_code);
	else
		sqlite3_bind_null(stmt, 3);
	db_bind_or_null(stmt, 4, e->signal ? e->signal : COLUMN_ABSENT);
	db_bind_or_null(stmt, 5, e->core_dumped ? 1 : COLUMN_ABSENT);
	return db_run(stmt, err);
}

int process_table_set_totals(struct store *st, int64_t proc, const struct process_totals *t,
                             struct err *err)
{
	sqlite3_stmt *stmt = get(st, SET_TOTALS, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, proc);
	db_bind_or_null(stmt, 2, t->max_cpu);
	db_bind_or_null(stmt, 3, t->max_rss_kib);
	for (int i = 0; i < (int)TOTAL_METRICS; i++)
		db_bind_or_null(stmt, 4 + i, t->total[i]);
	sqlite3_bind_int64(stmt, 4 + TOTAL_METRICS, t->final);
	return db_run(stmt, err);
}

static int add_columns(sqlite3 *db, struct err *err)
{
	struct columns all = columns_all();

	return schema_add_metrics(db, "process", proc_metrics, all.total, TOTAL_METRICS, "", err);
}

/* Dead processes of which nothing else is left; those of jobs stay as long as events do. */
static int retain(struct store *st, double before, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *next = NULL, *stmt = NULL;
	int64_t from = st->retention.cursor;
	int r = db_prepare(st->db,
	                   "SELECT max(id) FROM (SELECT id FROM process WHERE id > ?1 ORDER BY id"
	                   " LIMIT ?2)",
	                   &next, err);

	if (r == 0)
		r = db_prepare(
			st->db,
			"DELETE FROM process AS p WHERE p.id > ?1 AND p.id <= ?2"
			" AND (p.first IS NULL OR p.last IS NOT NULL)"
			" AND (p.job IS NULL OR coalesce(p.ended, p.started) < ?3)"
			" AND NOT EXISTS (SELECT 1 FROM event e WHERE e.proc = p.id)"
			" AND NOT EXISTS (SELECT 1 FROM snapshot s WHERE s.recorder = p.recorder"
			" AND s.id BETWEEN p.first AND p.last)",
			&stmt, err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(next, 1, from);
	sqlite3_bind_int(next, 2, RETENTION_ROWS);
	r = db_step(next, err);
	if (r <= 0 || sqlite3_column_type(next, 0) == SQLITE_NULL)
		return MIN(r, 0);
	st->retention.cursor = sqlite3_column_int64(next, 0);
	sqlite3_bind_int64(stmt, 1, from);
	sqlite3_bind_int64(stmt, 2, st->retention.cursor);
	sqlite3_bind_double(stmt, 3, before);
	r = db_run(stmt, err);
	return r < 0 ? r : 1;
}

static const struct table_ids ids[] = {
	{ "process",
	  { { "id", ID_PROCESS },
	    { "recorder", ID_RECORDER },
	    { "first", ID_SNAPSHOT },
	    { "last", ID_SNAPSHOT },
	    { "job", ID_JOB } } },
	{ 0 },
};

const struct store_table process_table = {
	.name = "process",
	.migrations = migrations,
	.add_columns = add_columns,
	.statements = statements,
	.statement_count = ARRAY_LEN(statements),
	.put = live_processes_put,
	.retain = retain,
	.end_recorder = "UPDATE process SET last = coalesce((SELECT max(k.last) FROM keyframe k"
			" WHERE k.recorder = ?1), first) WHERE recorder = ?1 AND last IS NULL"
			" AND first IS NOT NULL",
	.stats = stats,
	.ids = ids,
};
