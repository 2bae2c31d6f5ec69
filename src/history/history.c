/* SPDX-License-Identifier: MIT */
#include "history/history.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "sqlite/db_file.h"
#include "history/history_handle.h"

static int is_late(void *self)
{
	const struct history *r = self;

	return (r->leash && atomic_load(&r->leash->is_called_back)) ||
	       clock_mono_ns() > r->deadline_ns;
}

static struct history *reader_new(void)
{
	struct history *r = xcalloc(1, sizeof *r);

	r->columns = columns_all();
	r->recorders.fd = -1;
	return r;
}

int history_open(const char *path, struct history **ret, struct err *err)
{
	cleanup(history_closep) struct history *r = reader_new();
	int result = db_file_open_to_read(path, &r->db, err);

	if (result < 0)
		return result;
	sqlite3_progress_handler(r->db, 1000, is_late, r);
	*ret = TAKE_PTR(r);
	return 0;
}

void history_close(struct history *r)
{
	if (!r)
		return;
	history_forget_views(r);
	sqlite3_finalize(r->next);
	sqlite3_finalize(r->get);
	sqlite3_finalize(r->host);
	sqlite3_finalize(r->cgroup);
	sqlite3_finalize(r->jobs);
	sqlite3_finalize(r->job);
	vec_done(&r->job_rows);
	sqlite3_finalize(r->gpus);
	sqlite3_finalize(r->gpu_uses);
	db_lock_close(&r->recorders);
	db_close(r->db);
	free(r);
}

void history_heed(struct history *r, const struct history_leash *leash)
{
	r->leash = leash;
}

int history_begin(struct history *r, struct err *err)
{
	r->deadline_ns = clock_mono_ns() + HISTORY_TIME_NS;
	if (r->leash)
		r->deadline_ns = MIN(r->deadline_ns, r->leash->until_ns);
	return db_exec(r->db, "BEGIN", err);
}

void history_end(struct history *r)
{
	r->deadline_ns = UINT64_MAX;
	sqlite3_exec(r->db, "ROLLBACK", NULL, NULL, NULL);
}

bool history_has_column(const struct history *r, const char *table, const char *column)
{
	return db_has_column(r->db, table, column);
}

const char *history_is_member(const struct history *r)
{
	return history_has_column(r, "process", "job")
	               ? "p.job = ?1"
	               : "p.job_id = (SELECT j.job_id FROM job j WHERE j.id = ?1)";
}

const char *history_member_job_id(const struct history *r)
{
	return history_has_column(r, "process", "job")
	               ? "(SELECT j.job_id FROM job j WHERE j.id = p.job)"
	               : "p.job_id";
}

/* Through the view: there the planner goes from the process to its snapshots. */
static int prepare_history(struct history *r, pid_t pid, const struct history_cursor *at,
                           sqlite3_stmt **ret, struct err *err)
{
	int result = db_prepare(r->db,
	                        "SELECT s.id, s.timestamp, pm.age_seconds, t.boot_us, pm.state,"
	                        " pm.cpu_percent, pm.rss_mb, pm.vms_mb, pm.threads, pm.open_fds,"
	                        " (SELECT p.uid FROM process p WHERE p.pid = ?1"
	                        " AND p.started <= s.timestamp + 0.02"
	                        " ORDER BY p.started DESC LIMIT 1)"
	                        " FROM process_metrics pm JOIN snapshots s ON s.id = pm.snapshot_id"
	                        " JOIN snapshot t ON t.id = s.id WHERE pm.pid = ?1"
	                        " AND s.timestamp >= ?2 AND (s.timestamp > ?2 OR s.id > ?3)"
	                        " ORDER BY s.timestamp, s.id",
	                        ret, err);

	if (result < 0)
		return result;
	sqlite3_bind_int(*ret, 1, pid);
	sqlite3_bind_double(*ret, 2, db_time(at->since_ns));
	sqlite3_bind_int64(*ret, 3, at->after_id);
	return 0;
}

static void read_metric(sqlite3_stmt *stmt, int column, double scale, enum proc_metric id,
                        struct proc_readings *to)
{
	if (sqlite3_column_type(stmt, column) != SQLITE_NULL)
		readings_set(to, id,
		             (uint64_t)llround(sqlite3_column_double(stmt, column) * scale));
}

static struct history_point point_of(sqlite3_stmt *stmt, pid_t pid)
{
	double start_s = (double)sqlite3_column_int64(stmt, 3) / 1e6 -
	                 sqlite3_column_double(stmt, 2);
	const unsigned char *state = sqlite3_column_text(stmt, 4);
	struct history_point p = {
		.snapshot = sqlite3_column_int64(stmt, 0),
		.wall_ns = db_time_ns(sqlite3_column_double(stmt, 1)),
		.process = { .pid = pid, .start_ticks = (uint64_t)llround(start_s * TICKS_PER_S) },
		.state = state && state[0] ? (char)state[0] : '?',
		.cpu_ratio = sqlite3_column_type(stmt, 5) == SQLITE_NULL
		                     ? NAN
		                     : sqlite3_column_double(stmt, 5) / 100,
	};

	read_metric(stmt, 6, 1 << 20, PROC_RSS, &p.r);
	read_metric(stmt, 7, 1 << 20, PROC_VMS, &p.r);
	read_metric(stmt, 8, 1, PROC_THREADS, &p.r);
	read_metric(stmt, 9, 1, PROC_FDS, &p.r);
	p.uid = sqlite3_column_type(stmt, 10) == SQLITE_NULL
	                ? UINT32_MAX
	                : (uint32_t)sqlite3_column_int64(stmt, 10);
	return p;
}

static int read_history(struct history *r, pid_t pid, uint32_t uid, struct history_cursor *at,
                        size_t limit, reader_point_fn fn, void *self, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int result = prepare_history(r, pid, at, &stmt, err);
	size_t n = 0;

	while (result == 0 && n < limit) {
		struct history_point p;

		result = db_step(stmt, err);
		if (result <= 0)
			break;
		result = 0;
		p = point_of(stmt, pid);
		at->since_ns = p.wall_ns;
		at->after_id = p.snapshot;
		if (uid != HISTORY_ANY_UID && p.uid != uid)
			continue;
		result = MIN(fn(self, &p), 0);
		n++;
	}
	return result < 0 ? result : (int)n;
}

int history_process(struct history *r, pid_t pid, uint32_t uid, struct history_cursor *at,
                    size_t limit, reader_point_fn fn, void *self, struct err *err)
{
	int result = history_begin(r, err);

	if (result < 0)
		return result;
	result = read_history(r, pid, uid, at, MIN(limit, (size_t)INT32_MAX), fn, self, err);
	history_end(r);
	return result;
}
