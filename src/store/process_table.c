/* SPDX-License-Identifier: MIT */
#include "store/process_table.h"

#include "store/job_table.h"
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

static const struct metric_columns metrics[] = { { "process", COLUMNS_TOTALS, "" }, { 0 } };

static void build_set_totals(struct buf *sql)
{
	struct column_set totals = column_set(COLUMNS_TOTALS);

	buf_puts(sql, "UPDATE process SET final = iif(?2, coalesce(final, 0) | ?2, final),"
	              " max_cpu = coalesce(max(max_cpu, ?3), max_cpu, ?3),"
	              " max_rss_kib = coalesce(max(max_rss_kib, ?4), max_rss_kib, ?4)");
	for (size_t i = 0; i < totals.n; i++) {
		char name[COLUMN_NAME_MAX];

		column_name(&totals.metrics[totals.id[i]], name);
		buf_printf(sql, ", %s = coalesce(max(%s, ?%zu), %s, ?%zu)", name, name, i + 5, name,
		           i + 5);
	}
	buf_puts(sql, " WHERE id = ?1");
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
	SET_EXEC,
	SET_BORN,
	SET_EXIT,
	SET_TOTALS,
};

static const struct statement statements[] = {
	[NEXT_ID] = { "SELECT max(coalesce((SELECT max(id) FROM process), 0),"
	              " coalesce((SELECT value FROM meta WHERE key = 'removed_process'), 0)) + 1" },
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
	[SET_JOB] = { "UPDATE process SET job = ?2,"
	              " final = iif(job IS ?2 AND sheet, final, nullif((coalesce(final, 0) & ~?5) | ?4, 0)),"
	              " sheet = iif(job IS ?2, coalesce(sheet, ?3), ?3) WHERE id = ?1" },
	[SET_COMMAND] = { "UPDATE process SET uid = ?2, comm = ?3, command = ?4 WHERE id = ?1" },
	[SET_NAME] = { "UPDATE process SET uid = ?2, comm = ?3, command = ?4 WHERE id = ?1"
	               " AND (command IS NULL OR command = comm OR command LIKE '[%')" },
	/* The latest record wins: a process that has ended may be sampled until its memory is
	 * released. */
	[SET_EXEC] = { "UPDATE process SET max_rss_kib = NULL,"
	               " peak_rss_kib = iif(final & ?2, peak_rss_kib, NULL) WHERE id = ?1" },
	[SET_BORN] = { "UPDATE process SET ppid = ?2, started = ?3,"
	               " final = coalesce(final, 0) | ?4 WHERE id = ?1" },
	/* It may have joined its job after its birth was stored, and before a tick. */
	[SET_EXIT] = { "UPDATE process SET ended = ?2, exit_code = ?3, signal = ?4,"
	               " core_dumped = ?5, sheet = iif(job IS NULL, ?7, sheet),"
	               " final = iif(job IS NULL AND ?8, coalesce(final, 0) | ?8, final),"
	               " job = coalesce(job, ?6) WHERE id = ?1" },
	[SET_TOTALS] = { .build = build_set_totals },
	{ 0 },
};

int64_t process_table_next_id(struct store *st, struct err *err)
{
	return statement_int(st, &statements[NEXT_ID], NULL, 0, err);
}

int64_t process_table_add(struct store *st, const struct process_row *row, struct err *err)
{
	int64_t id = live_processes_new_id(st, err);
	int r;

	if (id < 0)
		return id;
	r = statement_run(st, &statements[ADD],
	                  BINDS(bind_int(id), bind_int(st->recorder), bind_int(row->id.pid),
	                        bind_or_null(row->ppid), bind_int((int64_t)row->id.start_ticks),
	                        bind_nonzero(row->first), bind_nonzero(row->job),
	                        bind_nonzero(row->job ? row->sheet : 0), bind_real(row->started),
	                        bind_int(row->uid), bind_text_or_null(row->comm, COMM_LEN),
	                        bind_text_or_null(row->command, row->command_len),
	                        bind_nonzero((row->is_start_exact ? FINAL_START : 0) |
	                                     (row->is_joined ? FINAL_JOINED : 0))),
	                  err);
	return r < 0 ? r : id;
}

int64_t process_table_find(struct store *st, struct proc_id id, bool unseen, struct err *err)
{
	return statement_int(
		st, &statements[unseen ? FIND_UNSEEN : FIND],
		BINDS(bind_int(id.pid), bind_int((int64_t)id.start_ticks), bind_int(st->recorder)),
		err);
}

int64_t process_table_row(struct store *st, struct proc_id id, struct err *err)
{
	uint64_t known;

	if (map_get(&st->processes.known, proc_key(id), &known))
		return (int64_t)known;
	return process_table_find(st, id, false, err);
}

double process_table_parent_started(struct store *st, pid_t ppid, double before)
{
	struct err ignored;
	sqlite3_stmt *stmt = statement_get(st, &statements[PARENT_STARTED], &ignored);
	double started = 0;

	if (!stmt)
		return 0;
	db_bind(stmt, BINDS(bind_int(ppid), bind_int(st->recorder), bind_real(before)));
	if (db_step(stmt, &ignored) > 0)
		started = sqlite3_column_double(stmt, 0);
	sqlite3_reset(stmt);
	return started;
}

int process_table_set_seen(struct store *st, int64_t proc, int64_t snapshot, struct err *err)
{
	return statement_run(st, &statements[SET_SEEN], BINDS(bind_int(proc), bind_int(snapshot)),
	                     err);
}

int process_table_set_first(struct store *st, int64_t proc, int64_t snapshot, struct err *err)
{
	return statement_run(st, &statements[SET_FIRST], BINDS(bind_int(proc), bind_int(snapshot)),
	                     err);
}

int process_table_set_last(struct store *st, int64_t proc, int64_t snapshot, uint64_t ended_ns,
                           struct err *err)
{
	return statement_run(st, &statements[SET_LAST],
	                     BINDS(bind_int(proc), bind_int(snapshot), bind_time(ended_ns)), err);
}

int process_table_set_job(struct store *st, int64_t proc, int64_t job, const struct proc_snap *p,
                          struct err *err)
{
	return statement_run(st, &statements[SET_JOB],
	                     BINDS(bind_int(proc), bind_int(job), bind_nonzero(p->sheet),
	                           bind_int(p->is_joined ? FINAL_JOINED : 0),
	                           bind_int(FINAL_JOINED)),
	                     err);
}

int process_table_set_command(struct store *st, int64_t proc, uint32_t uid, const char *comm,
                              const char *command, size_t len, bool is_name, struct err *err)
{
	return statement_run(st, &statements[is_name ? SET_NAME : SET_COMMAND],
	                     BINDS(bind_int(proc), bind_int(uid), bind_text_or_null(comm, COMM_LEN),
	                           bind_text_or_null(command, MIN(len, (size_t)COMMAND_MAX))),
	                     err);
}

int process_table_set_exec(struct store *st, int64_t proc, struct err *err)
{
	return statement_run(st, &statements[SET_EXEC], BINDS(bind_int(proc), bind_int(FINAL_PEAK)),
	                     err);
}

int process_table_set_born(struct store *st, int64_t proc, const struct event *e, struct err *err)
{
	return statement_run(st, &statements[SET_BORN],
	                     BINDS(bind_int(proc), bind_int(e->ppid),
	                           bind_real(db_time(e->wall_ns)), bind_int(FINAL_START)),
	                     err);
}

int process_table_set_exit(struct store *st, int64_t proc, const struct event *e, struct err *err)
{
	int64_t job = job_table_row(st, e->job);

	return statement_run(st, &statements[SET_EXIT],
	                     BINDS(bind_int(proc), bind_real(db_time(e->wall_ns)),
	                           bind_int_if(e->has_exit_code, e->exit_code),
	                           bind_nonzero(e->signal), bind_nonzero(e->core_dumped),
	                           bind_nonzero(job), bind_nonzero(job ? e->sheet : 0),
	                           bind_int(e->is_joined ? FINAL_JOINED : 0)),
	                     err);
}

int process_table_set_totals(struct store *st, int64_t proc, const struct process_totals *t,
                             struct err *err)
{
	return statement_run_ints(st, &statements[SET_TOTALS],
	                          BINDS(bind_int(proc), bind_int(t->final),
	                                bind_or_null(t->max_cpu), bind_or_null(t->max_rss_kib)),
	                          t->total, TOTAL_METRICS, err);
}

/* Dead processes of which nothing else is left; those of jobs stay as long as events do. */
static int retain(struct store *st, double before, struct err *err)
{
	int64_t from = st->retention.cursor, to;
	int r = db_int(st->db,
	               "SELECT max(id) FROM (SELECT id FROM process WHERE id > ?1 ORDER BY id"
	               " LIMIT ?2)",
	               BINDS(bind_int(from), bind_int(RETENTION_ROWS)), &to, err);

	if (r < 0 || !to)
		return r;
	st->retention.cursor = to;
	r = db_do(st->db,
	          "DELETE FROM process AS p WHERE p.id > ?1 AND p.id <= ?2"
	          " AND (p.first IS NULL OR p.last IS NOT NULL)"
	          " AND (p.job IS NULL OR coalesce(p.ended, p.started) < ?3)"
	          " AND NOT EXISTS (SELECT 1 FROM event e WHERE e.proc = p.id)"
	          " AND NOT EXISTS (SELECT 1 FROM snapshot s WHERE s.recorder = p.recorder"
	          " AND s.id BETWEEN p.first AND p.last)",
	          BINDS(bind_int(from), bind_int(to), bind_real(before)), err);
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

static const char *const remove_job[] = { "DELETE FROM process WHERE job = ?1", NULL };

const struct store_table process_table = {
	.name = "process",
	.migrations = migrations,
	.metrics = metrics,
	.statements = statements,
	.put = live_processes_put,
	.retain = retain,
	.end_recorder = "UPDATE process SET last = coalesce((SELECT max(k.last) FROM keyframe k"
			" WHERE k.recorder = ?1), first) WHERE recorder = ?1 AND last IS NULL"
			" AND first IS NOT NULL",
	.stats = stats,
	.remove_job = remove_job,
	.ids = ids,
};
