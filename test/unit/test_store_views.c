/* SPDX-License-Identifier: MIT */
/* The SELECTs of readers of the reference's schema, against what the machine really showed. */
#include <sqlite3.h>

#include "model/record_fields.h"
#include "store_kit.h"

struct history {
	char *dir;
	sqlite3 *db;
};

/* As any client would: its own connection, read-only, no settings of ours. */
static sqlite3 *open_client(const char *dir)
{
	char *path = xasprintf("file:%s/proctor.db?mode=ro", dir);
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL),
	                 SQLITE_OK);
	free(path);
	return db;
}

static sqlite3_stmt *ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	return stmt;
}

static bool next(sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		return true;
	if (rc != SQLITE_DONE)
		fail_msg("%s", sqlite3_errmsg(sqlite3_db_handle(stmt)));
	sqlite3_finalize(stmt);
	return false;
}

static int64_t ask_db_int(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = ask(db, sql);
	int64_t value;

	assert_true(next(stmt));
	value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

static void assert_text(sqlite3_stmt *stmt, int column, const char *text)
{
	if (!text)
		assert_int_equal(sqlite3_column_type(stmt, column), SQLITE_NULL);
	else
		assert_string_equal((const char *)sqlite3_column_text(stmt, column), text);
}

static void assert_close(double a, double b)
{
	if (!(fabs(a - b) < 1e-6))
		fail_msg("%f is not %f", a, b);
}

/* The columns are: pid, ppid, command, state, cpu_percent, rss_mb, vms_mb, threads, open_fds,
 * age_seconds, job_id, sheet_num, syscall_counts, syscall_time_pct, from `c` on. */
static void check_row(const struct world *w, const struct world_row *row, sqlite3_stmt *s, int c)
{
	const struct world_proc *p = &row->p, *last = world_last(w, row);

	assert_int_equal(sqlite3_column_int(s, c), p->id.pid);
	assert_int_equal(sqlite3_column_int(s, c + 1), p->ppid);
	assert_text(s, c + 2, last->command);
	assert_int_equal(sqlite3_column_text(s, c + 3)[0], p->state);
	if (isfinite(p->cpu))
		assert_close(sqlite3_column_double(s, c + 4), p->cpu * 100);
	else
		assert_int_equal(sqlite3_column_type(s, c + 4), SQLITE_NULL);
	assert_int_equal(sqlite3_column_type(s, c + 5), SQLITE_FLOAT);
	assert_close(sqlite3_column_double(s, c + 5), (double)p->rss / (1 << 20));
	assert_close(sqlite3_column_double(s, c + 6), (double)p->vms / (1 << 20));
	assert_int_equal(sqlite3_column_int64(s, c + 7), p->threads);
	if (p->has_fds)
		assert_int_equal(sqlite3_column_int64(s, c + 8), p->fds);
	else
		assert_int_equal(sqlite3_column_type(s, c + 8), SQLITE_NULL);
	assert_close(sqlite3_column_double(s, c + 9),
	             (double)(row->boot_ns - p->id.start_ticks * NS_PER_TICK) / 1e9);
	assert_text(s, c + 10, p->job >= 0 ? w->jobs.at[p->job].id : NULL);
	if (p->job >= 0 && p->sheet)
		assert_int_equal(sqlite3_column_int(s, c + 11), p->sheet);
	else
		assert_int_equal(sqlite3_column_type(s, c + 11), SQLITE_NULL);
	assert_text(s, c + 12, "{}");
	assert_text(s, c + 13, "{}");
}

#define FIELDS                                                                                     \
	"pm.pid, pm.ppid, pm.command, pm.state, pm.cpu_percent, pm.rss_mb, pm.vms_mb, pm.threads," \
	" pm.open_fds, pm.age_seconds, pm.job_id, pm.sheet_num, pm.syscall_counts,"                \
	" pm.syscall_time_pct"

static void check_snapshots(const struct world *w, sqlite3 *db)
{
	sqlite3_stmt *stmt = ask(db,
	                         "SELECT " FIELDS " FROM process_metrics pm WHERE snapshot_id = ?"
	                         " ORDER BY pm.pid");
	size_t at = 0;

	while (at < w->rows.len) {
		int64_t snapshot = w->rows.at[at].snapshot;

		sqlite3_bind_int64(stmt, 1, snapshot);
		for (; at < w->rows.len && w->rows.at[at].snapshot == snapshot; at++) {
			assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
			check_row(w, &w->rows.at[at], stmt, 0);
		}
		assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
}

static void check_history(const struct world *w, sqlite3 *db, pid_t pid, uint64_t since_ns)
{
	sqlite3_stmt *stmt = ask(db, "SELECT " FIELDS ", s.timestamp FROM process_metrics pm"
	                             " JOIN snapshots s ON s.id = pm.snapshot_id"
	                             " WHERE pm.pid = ? AND s.timestamp >= ?"
	                             " ORDER BY s.timestamp ASC");

	sqlite3_bind_int(stmt, 1, pid);
	sqlite3_bind_double(stmt, 2, (double)since_ns / 1e9);
	for (size_t i = 0; i < w->rows.len; i++) {
		const struct world_row *row = &w->rows.at[i];

		if (row->p.id.pid != pid || row->wall_ns < since_ns)
			continue;
		assert_true(next(stmt));
		check_row(w, row, stmt, 0);
		assert_close(sqlite3_column_double(stmt, 14), (double)row->wall_ns / 1e9);
	}
	assert_false(next(stmt));
}

static void check_job(const struct world *w, sqlite3 *db, int32_t job)
{
	sqlite3_stmt *stmt = ask(db, "SELECT pm.pid, pm.sheet_num, pm.rss_mb, pm.cpu_percent,"
	                             " pm.syscall_time_pct, s.timestamp FROM process_metrics pm"
	                             " JOIN snapshots s ON s.id = pm.snapshot_id"
	                             " WHERE pm.job_id = ? ORDER BY s.timestamp ASC, pm.pid");
	size_t n = 0;

	sqlite3_bind_text(stmt, 1, w->jobs.at[job].id, -1, SQLITE_STATIC);
	for (size_t i = 0; i < w->rows.len; i++) {
		const struct world_row *row = &w->rows.at[i];

		if (row->p.job != job)
			continue;
		assert_true(next(stmt));
		assert_int_equal(sqlite3_column_int(stmt, 0), row->p.id.pid);
		assert_int_equal(sqlite3_column_int(stmt, 1), row->p.sheet);
		assert_close(sqlite3_column_double(stmt, 2), (double)row->p.rss / (1 << 20));
		n++;
	}
	assert_false(next(stmt));
	assert_true(n > 0);
}

static void test_process_metrics__shows_every_process_of_every_snapshot(void **state)
{
	char *dir = world_dir();
	struct world w;
	struct store *st;
	sqlite3 *db;

	(void)state;
	world_init(&w, 1);
	world_add_job(&w, "train-1");
	world_add_job(&w, "train-2");
	st = world_open(&w, dir);
	for (int i = 0; i < 700; i++)
		world_put(&w, st);
	db = open_client(dir);
	assert_true(ask_db_int(db, "SELECT count(*) FROM keyframe") > 3);
	check_snapshots(&w, db);
	for (size_t slot = 0; slot < WORLD_SLOTS; slot++)
		check_history(&w, db, w.first_pid + (pid_t)slot * 3,
		              w.rows.at[w.rows.len / 2].wall_ns);
	check_job(&w, db, 0);
	check_job(&w, db, 1);
	store_close(st);
	check_snapshots(&w, db);
	sqlite3_close(db);
	world_done(&w);
	world_rmdir(dir);
}

static void test_process_metrics__keeps_several_recorders_apart(void **state)
{
	char *dir = world_dir();
	struct world a, b;
	struct store *st_a, *st_b;
	sqlite3 *db;

	(void)state;
	world_init(&a, 2);
	world_init(&b, 3);
	b.first_pid = 101; /* beside the other's, never the same */
	st_a = world_open(&a, dir);
	st_b = world_open(&b, dir);
	for (int i = 0; i < 400; i++) {
		world_put(&a, st_a);
		if (i % 3 == 0)
			world_put(&b, st_b);
		if (i == 200) { /* one goes and comes again, as another recorder */
			store_close(st_b);
			st_b = world_open(&b, dir);
			b.epoch++;
		}
	}
	db = open_client(dir);
	check_snapshots(&a, db);
	check_snapshots(&b, db);
	assert_int_equal(ask_db_int(db, "SELECT count(*) FROM recorder"), 3);
	assert_int_equal(ask_db_int(db, "SELECT count(*) FROM recorder WHERE ended IS NULL"), 2);
	store_close(st_a);
	store_close(st_b);
	assert_int_equal(ask_db_int(db, "SELECT count(*) FROM recorder WHERE ended IS NULL"), 0);
	sqlite3_close(db);
	world_done(&a);
	world_done(&b);
	world_rmdir(dir);
}

static int cost_of(sqlite3 *db, int64_t snapshot)
{
	sqlite3_stmt *stmt = ask(db, "SELECT * FROM process_metrics WHERE snapshot_id = ?");
	int steps;

	sqlite3_bind_int64(stmt, 1, snapshot);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		continue;
	steps = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 0);
	sqlite3_finalize(stmt);
	return steps;
}

static void test_process_metrics__costs_no_more_when_many_have_died(void **state)
{
	char *dir = world_dir();
	struct world w;
	struct store *st;
	int64_t early;
	sqlite3 *db;
	int before;

	(void)state;
	world_init(&w, 8);
	w.churn = 60;
	st = world_open(&w, dir);
	for (int i = 0; i < 100; i++)
		world_put(&w, st);
	early = world_last_id(st);
	for (int i = 0; i < 100; i++) /* until its keyframe has ended */
		world_put(&w, st);
	db = open_client(dir);
	before = cost_of(db, early);
	for (int i = 0; i < 1000; i++)
		world_put(&w, st);
	assert_true(ask_db_int(db, "SELECT count(*) FROM process WHERE last IS NOT NULL") > 10000);
	assert_int_equal(cost_of(db, early), before);
	assert_true(cost_of(db, world_last_id(st)) < 3 * before);
	sqlite3_close(db);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

static void test_snapshots__has_the_references_columns_and_types(void **state)
{
	static const char *const names[] = {
		"id",
		"timestamp",
		"daemon_pid",
		"system_memory_total_mb",
		"system_memory_available_mb",
		"system_memory_used_mb",
		"daemon_rss_mb",
		"child_count",
		"zombie_count",
		"load_avg_1",
		"load_avg_5",
		"load_avg_15",
		"gpu_count",
		"gpu_utilization_pct",
		"gpu_memory_used_mb",
		"gpu_temperature",
		"pressure_level",
		"running_jobs",
		"active_sheets",
		"recorder", /* ours */
		"recorder_kind",
	};
	char *dir = world_dir();
	struct world w;
	struct store *st;
	sqlite3_stmt *stmt;
	sqlite3 *db;

	(void)state;
	world_init(&w, 4);
	st = world_open(&w, dir);
	for (int i = 0; i < 100; i++)
		world_put(&w, st);
	db = open_client(dir);
	stmt = ask(db,
	           "SELECT * FROM snapshots WHERE timestamp >= ? ORDER BY timestamp ASC LIMIT ?");
	assert_int_equal(sqlite3_column_count(stmt), ARRAY_LEN(names));
	for (int i = 0; i < (int)ARRAY_LEN(names); i++)
		assert_string_equal(sqlite3_column_name(stmt, i), names[i]);
	sqlite3_bind_double(stmt, 1, (double)(w.wall_ns - 9 * NS_PER_S) / 1e9);
	sqlite3_bind_int(stmt, 2, 3);
	for (int i = 0; i < 3; i++) {
		assert_true(next(stmt));
		assert_close(sqlite3_column_double(stmt, 1),
		             (double)(w.wall_ns - (uint64_t)(9 - i) * NS_PER_S) / 1e9);
		assert_int_equal(sqlite3_column_type(stmt, 1), SQLITE_FLOAT);
		assert_int_equal(sqlite3_column_int(stmt, 2), getpid());
		assert_close(sqlite3_column_double(stmt, 3), 8192);
		assert_int_equal(sqlite3_column_type(stmt, 6),
		                 SQLITE_NULL); /* absent is not zero */
		assert_int_equal(sqlite3_column_type(stmt, 9), SQLITE_FLOAT);
		assert_int_equal(sqlite3_column_int(stmt, 12), 0);
		assert_text(stmt, 13, "[]");
		assert_text(stmt, 16, "low");
	}
	assert_false(next(stmt));
	sqlite3_close(db);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

static void test_process_events__reports_lives_in_order(void **state)
{
	char *dir = world_dir();
	struct world w;
	struct store *st;
	size_t spawns = 0, exits = 0, of_job = 0;
	sqlite3_stmt *stmt;
	double before = 0;
	sqlite3 *db;

	(void)state;
	world_init(&w, 5);
	world_add_job(&w, "j");
	st = world_open(&w, dir);
	for (int i = 0; i < 300; i++) {
		world_put(&w, st);
		vec_each(&w.snap.events, e) {
			spawns += e->kind == EVENT_SPAWN;
			exits += e->kind == EVENT_EXIT;
			of_job += e->kind == EVENT_SPAWN && e->job == 0;
		}
	}
	db = open_client(dir);
	stmt = ask(
		db,
		"SELECT id, timestamp, pid, event_type, exit_code, signal_num, job_id, sheet_num,"
		" details FROM process_events WHERE timestamp >= 0 ORDER BY timestamp ASC LIMIT 100000");
	while (next(stmt)) {
		bool is_exit = !strcmp((const char *)sqlite3_column_text(stmt, 3), "exit");

		assert_true(sqlite3_column_double(stmt, 1) >= before);
		before = sqlite3_column_double(stmt, 1);
		assert_int_equal(sqlite3_column_type(stmt, 4),
		                 is_exit ? SQLITE_INTEGER : SQLITE_NULL);
		is_exit ? exits-- : spawns--;
	}
	assert_int_equal(exits, 0);
	assert_int_equal(spawns, 0);
	assert_int_equal(ask_db_int(db, "SELECT COUNT(*) FROM process_events WHERE job_id = 'j'"
	                                " AND event_type = 'spawn'"),
	                 of_job);
	assert_true(of_job > 0);
	/* A spawn and the sight of the process later are one row. */
	assert_int_equal(ask_db_int(db, "SELECT count(*) FROM (SELECT 1 FROM process"
	                                " GROUP BY pid, start_ticks HAVING count(*) > 1)"),
	                 0);
	sqlite3_close(db);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

/* A life between two snapshots: only events report it, and the exact totals come a tick later. */
static void test_process__knows_lives_that_no_snapshot_saw(void **state)
{
	struct world_proc short_lived = {
		.id = { 9999, 123456 }, .ppid = 42, .comm = "sh", .job = 0, .sheet = 2
	};
	char *dir = world_dir();
	struct err err = { 0 };
	struct event *e;
	struct world w;
	struct store *st;
	sqlite3 *db;

	(void)state;
	world_init(&w, 9);
	world_add_job(&w, "j");
	st = world_open(&w, dir);
	world_put(&w, st);
	world_tick(&w);
	world_event(&w, EVENT_SPAWN, &short_lived);
	e = world_event(&w, EVENT_EXEC, &short_lived);
	e->text = (struct text_ref){ (uint32_t)w.snap.text.len, 12 };
	buf_puts(&w.snap.text, "make -j8 all");
	snprintf(e->comm, sizeof e->comm, "make");
	e = world_event(&w, EVENT_EXIT, &short_lived);
	e->signal = 11;
	e->core_dumped = true;
	assert_int_equal(store_put(st, &w.snap, &err), 0);
	world_tick(&w);
	e = world_event(&w, EVENT_TOTALS, &short_lived);
	readings_set(&e->final, PROC_CPU_TIME, 1234 * NS_PER_MS);
	readings_set(&e->final, PROC_PEAK_RSS, UINT64_C(77) << 20);
	assert_int_equal(store_put(st, &w.snap, &err), 0);
	db = open_client(dir);
	assert_int_equal(
		ask_db_int(db,
	                   "SELECT count(*) FROM process WHERE pid = 9999 AND ppid = 42"
	                   " AND command = 'make -j8 all' AND comm = 'make'"
	                   " AND job = (SELECT id FROM job WHERE job_id = 'j')"
	                   " AND sheet = 2 AND signal = 11 AND exit_code IS NULL AND core_dumped"
	                   " AND first IS NULL AND ended > started - 1"
	                   " AND cpu_time_us = 1234000 AND peak_rss_kib = 77 * 1024"),
		1);
	assert_int_equal(ask_db_int(db, "SELECT count(*) FROM process_events WHERE pid = 9999"), 2);
	assert_int_equal(ask_db_int(db,
	                            "SELECT count(*) FROM process_events WHERE pid = 9999"
	                            " AND event_type = 'exit' AND signal_num = 11 AND job_id = 'j'"
	                            " AND sheet_num = 2 AND details = 'core dumped'"),
	                 1);
	sqlite3_close(db);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

/* A process that has ended, by its event, still has its memory for a moment, and may be sampled. */
static void test_process__keeps_its_final_peak_when_an_exec_is_noticed_late(void **state)
{
	char *dir = world_dir();
	struct world_proc p = { .alive = true,
		                .id = { 99, 123456 },
		                .comm = "sh",
		                .state = 'S',
		                .rss = 1 << 20,
		                .job = -1 };
	struct err err = { 0 };
	struct event *e;
	struct world w;
	struct store *st;

	(void)state;
	world_init(&w, 9);
	w.churn = 0;
	w.procs[0] = p;
	st = world_open(&w, dir);
	world_tick(&w);
	w.snap.procs.at[0].s.exec_id = 1;
	assert_int_equal(store_put(st, &w.snap, &err), 0);
	world_tick(&w);
	w.snap.events_only = true;
	world_event(&w, EVENT_EXEC, &p);
	e = world_event(&w, EVENT_EXIT, &p);
	readings_set(&e->final, PROC_PEAK_RSS, UINT64_C(77) << 20);
	assert_int_equal(store_put(st, &w.snap, &err), 0);
	world_tick(&w);
	w.snap.events_only = false;
	w.snap.procs.at[0].s.exec_id = 2;
	assert_int_equal(store_put(st, &w.snap, &err), 0);
	store_close(st);
	assert_int_equal(ask_int(dir, "SELECT peak_rss_kib FROM process WHERE ended"), 77 << 10);
	world_rmdir(dir);
	world_done(&w);
}

/* Some sources know a pid and not when its process began. */
static void test_process_events__find_their_process_by_pid_alone(void **state)
{
	char *dir = world_dir();
	struct world_proc *p = NULL;
	struct err err = { 0 };
	struct event *e;
	struct world w;
	struct store *st;
	sqlite3 *db;

	(void)state;
	world_init(&w, 10);
	st = world_open(&w, dir);
	for (int i = 0; i < 30; i++)
		world_put(&w, st);
	world_tick(&w);
	for (size_t i = 0; i < WORLD_SLOTS && !p; i++)
		p = w.procs[i].alive ? &w.procs[i] : NULL;
	assert_non_null(p);
	e = world_event(&w, EVENT_OOM, p);
	e->id.start_ticks = 0;
	assert_int_equal(store_put(st, &w.snap, &err), 0);
	db = open_client(dir);
	assert_int_equal(
		ask_db_int(db, "SELECT p.start_ticks FROM event e JOIN process p ON p.id = e.proc"
	                       " WHERE e.kind = 4"),
		p->id.start_ticks);
	sqlite3_close(db);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

/* Ids of processes a million apart share a slot; never two of one keyframe. */
static void test_process_metrics__survive_the_wrap_of_slots(void **state)
{
	char *dir = world_dir(), *path = xasprintf("%s/proctor.db", dir);
	struct world w;
	struct store *st;
	sqlite3 *db = NULL;

	(void)state;
	world_init(&w, 11);
	w.churn = 10;
	st = world_open(&w, dir);
	for (int i = 0; i < 150; i++)
		world_put(&w, st);
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
	                              "INSERT INTO process(id, recorder, pid)"
	                              " SELECT 1048575 + min(id), 99, 1 FROM process",
	                              NULL, NULL, NULL),
	                 SQLITE_OK);
	for (int i = 0; i < 200; i++)
		world_put(&w, st);
	assert_true(
		ask_db_int(
			db,
			"SELECT count(*) FROM process a JOIN process b ON b.id = a.id + 1048576") >
		0);
	check_snapshots(&w, db);
	sqlite3_close(db);
	store_close(st);
	world_done(&w);
	free(path);
	world_rmdir(dir);
}

static void test_process_events__counts_a_storm_of_signals(void **state)
{
	char *dir = world_dir();
	const struct world_proc *target = NULL;
	struct err err = { 0 };
	struct world w;
	struct store *st;
	sqlite3 *db;

	(void)state;
	world_init(&w, 7);
	st = world_open(&w, dir);
	world_tick(&w);
	for (size_t i = 0; i < WORLD_SLOTS; i++)
		if (w.procs[i].alive)
			target = &w.procs[i];
	assert_non_null(target);
	for (int i = 0; i < 5003; i++) {
		struct event *e = world_event(&w, EVENT_SIGNAL, target);

		e->signal = i < 5000 ? 10 : 12;
		e->sender_pid = 77;
		snprintf(e->sender_comm, sizeof e->sender_comm, "timer");
	}
	assert_int_equal(store_put(st, &w.snap, &err), 0);
	db = open_client(dir);
	assert_int_equal(
		ask_db_int(db, "SELECT count(*) FROM process_events WHERE signal_num = 10"), 11);
	assert_int_equal(
		ask_db_int(db, "SELECT count(*) FROM process_events WHERE signal_num = 12"), 3);
	assert_int_equal(ask_db_int(db, "SELECT count(*) FROM process_events WHERE details ="
	                                " 'sent by timer (pid 77, uid 0), and 4989 more like it'"),
	                 1);
	sqlite3_close(db);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

/* These steps, in this order, perhaps with others between them; and nothing is read from end to
 * end. */
static void assert_plan(sqlite3 *db, const char *sql, const char *const *steps)
{
	char *explain = xasprintf("EXPLAIN QUERY PLAN %s", sql);
	sqlite3_stmt *stmt = ask(db, explain);

	while (next(stmt)) {
		const char *detail = (const char *)sqlite3_column_text(stmt, 3);

		if (*steps && !strncmp(detail, *steps, strlen(*steps)))
			steps++;
		if (!strncmp(detail, "SCAN", 4))
			fail_msg("%s: %s", sql, detail);
	}
	if (*steps)
		fail_msg("%s: no \"%s\"", sql, *steps);
	free(explain);
}

/* The statistics that every client loads keep the plans as they were measured to be quick. */
static void check_plans(sqlite3 *db)
{
	assert_plan(
		db, "SELECT * FROM process_metrics WHERE snapshot_id = ?",
		(const char *const[]){ "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)",
	                               "SEARCH b USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
	                               "SEARCH p USING INTEGER PRIMARY KEY (rowid=?)",
	                               "SEARCH x USING INTEGER PRIMARY KEY (rowid=?)", NULL });
	assert_plan(
		db,
		"SELECT pm.rss_mb, s.timestamp FROM process_metrics pm JOIN snapshots s"
		" ON s.id = pm.snapshot_id WHERE pm.pid = ? AND s.timestamp >= ?"
		" ORDER BY s.timestamp ASC",
		(const char *const[]){ "SEARCH p USING INDEX process_pid (pid=?)",
	                               "SEARCH s USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
	                               "SEARCH b USING INTEGER PRIMARY KEY (rowid=?)",
	                               "SEARCH x USING INTEGER PRIMARY KEY (rowid=?)", NULL });
	assert_plan(
		db,
		"SELECT pm.pid, pm.sheet_num, pm.rss_mb, pm.cpu_percent, pm.syscall_time_pct,"
		" s.timestamp FROM process_metrics pm JOIN snapshots s"
		" ON s.id = pm.snapshot_id WHERE pm.job_id = ? ORDER BY s.timestamp ASC",
		(const char *const[]){ "SEARCH j USING COVERING INDEX job_key (job_id=?)",
	                               "SEARCH p USING INDEX process_job (job=?)",
	                               "SEARCH s USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
	                               "SEARCH b USING INTEGER PRIMARY KEY (rowid=?)",
	                               "SEARCH x USING INTEGER PRIMARY KEY (rowid=?)", NULL });
	assert_plan(db,
	            "SELECT * FROM snapshots WHERE timestamp >= ? ORDER BY timestamp ASC LIMIT ?",
	            (const char *const[]){ "SEARCH s USING INDEX snapshot_time (time>?)", NULL });
	assert_plan(
		db,
		"SELECT * FROM process_events WHERE timestamp >= ? ORDER BY timestamp ASC LIMIT ?",
		(const char *const[]){ "SEARCH e USING INDEX event_time (time>?)",
	                               "SEARCH p USING INTEGER PRIMARY KEY (rowid=?)", NULL });
	assert_plan(db,
	            "SELECT COUNT(*) FROM process_events WHERE job_id = ? AND event_type = 'spawn'",
	            (const char *const[]){ "SEARCH j USING INDEX job_key (job_id=?)",
	                                   "SEARCH p USING COVERING INDEX process_job (job=?)",
	                                   "SEARCH e USING INDEX event_proc (proc=?)", NULL });
}

static void test_views__are_read_by_the_measured_plans(void **state)
{
	char *dir = world_dir();
	struct world w;
	struct store *st;
	sqlite3 *db;

	(void)state;
	world_init(&w, 6);
	st = world_open(&w, dir);
	db = open_client(dir);
	check_plans(db); /* also while it is empty */
	for (int i = 0; i < 300; i++)
		world_put(&w, st);
	check_plans(db);
	sqlite3_close(db);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

/* What a view calls otherwise, or has not, and why: the first views are the reference's. */
struct renamed {
	const char *key, *column; /* column NULL: not in the view */
};

struct view_of_fields {
	const char *view;
	const struct field_table *fields;
	struct renamed renamed[12];
};

static const struct view_of_fields views_of_fields[] = {
	{ "jobs",
	  &job_fields,
	  { { "job_type", "type" },
	    { "parent_job_id", "parent" },
	    { "outcome", "result" },
	    { "started_at", "started" },
	    { "ended_at", "ended" },
	    { "hungriest_command", "hungriest" },
	    { "limits", "limit_mem_mb" }, /* a column for each of these three */
	    { "figures", "cpu_seconds" },
	    { "quality", "cpu_seconds_quality" } } },
	{ "sheets",
	  &sheet_fields,
	  { { "started_at", "started" },
	    { "ended_at", "ended" },
	    { "quality", "cpu_seconds_quality" } } },
	{ "job_samples", &job_sum_fields, { { 0 } } },
	{ "anomalies", &anomaly_fields, { { "job_uid", "uid" } } },
	{ "process_events",
	  &event_fields,
	  { { "job_uid", "uid" }, { "name", NULL } /* of events in recorder_events */ } },
};

static const char *column_of(const struct view_of_fields *v, const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(v->renamed) && v->renamed[i].key; i++)
		if (!strcmp(v->renamed[i].key, key))
			return v->renamed[i].column;
	return key;
}

static void test_views__have_the_keys_of_the_field_tables(void **state)
{
	char *dir = world_dir();
	bool is_complete = true;
	struct world w;

	(void)state;
	world_init(&w, 1);
	store_close(world_open(&w, dir));
	for (size_t i = 0; i < ARRAY_LEN(views_of_fields); i++) {
		const struct view_of_fields *v = &views_of_fields[i];

		for (size_t f = 0; f < v->fields->n; f++) {
			const char *column = column_of(v, v->fields->at[f].key);
			cleanup(freep) char *sql = xasprintf(
				"SELECT count(*) FROM pragma_table_info('%s') WHERE name = '%s'",
				v->view, column ? column : "");

			if (!column || ask_int(dir, sql) == 1)
				continue;
			print_error("%s has no column '%s'\n", v->view, column);
			is_complete = false;
		}
	}
	assert_true(is_complete);
	world_done(&w);
	world_rmdir(dir);
}

RUN_TESTS(TEST(test_views__have_the_keys_of_the_field_tables),
          TEST(test_process_metrics__shows_every_process_of_every_snapshot),
          TEST(test_process_metrics__keeps_several_recorders_apart),
          TEST(test_process_metrics__costs_no_more_when_many_have_died),
          TEST(test_snapshots__has_the_references_columns_and_types),
          TEST(test_process_events__reports_lives_in_order),
          TEST(test_process__knows_lives_that_no_snapshot_saw),
          TEST(test_process__keeps_its_final_peak_when_an_exec_is_noticed_late),
          TEST(test_process_events__find_their_process_by_pid_alone),
          TEST(test_process_metrics__survive_the_wrap_of_slots),
          TEST(test_process_events__counts_a_storm_of_signals),
          TEST(test_views__are_read_by_the_measured_plans))
