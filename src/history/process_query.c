/* SPDX-License-Identifier: MIT */
/* All processes that had one pid, over time. */
#include <math.h>

#include "history/history_handle.h"

/* After the id, the time and the start of the process. Through the view: there the planner goes from the
 * process to its snapshots. */
static const char select_points[] =
	", pm.state, pm.cpu_percent, pm.rss_mb, pm.vms_mb, pm.threads, pm.open_fds,"
	" (SELECT p.uid FROM process p WHERE p.pid = ?1 AND p.started <= s.timestamp + 0.02"
	" ORDER BY p.started DESC LIMIT 1)"
	" FROM process_metrics pm JOIN snapshots s ON s.id = pm.snapshot_id"
	" JOIN snapshot t ON t.id = s.id WHERE pm.pid = ?1"
	" AND s.timestamp >= ?2 AND (s.timestamp > ?2 OR s.id > ?3) ORDER BY s.timestamp, s.id";

/* Older stores only have the age, which in theirs may be negative. */
static const char *start_of(const struct history *r)
{
	return db_has_column(r->db, "process_metrics", "start_ticks")
	               ? "pm.start_ticks"
	               : "CAST(round((t.boot_us/1e6 - pm.age_seconds) * 100) AS INTEGER)";
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
	const unsigned char *state = sqlite3_column_text(stmt, 3);
	struct history_point p = {
		.snapshot = sqlite3_column_int64(stmt, 0),
		.wall_ns = db_time_ns(sqlite3_column_double(stmt, 1)),
		.process = { .pid = pid, .start_ticks = (uint64_t)sqlite3_column_int64(stmt, 2) },
		.state = state && state[0] ? (char)state[0] : '?',
		.cpu_ratio = db_column_real(stmt, 4) / 100,
	};

	read_metric(stmt, 5, 1 << 20, PROC_RSS, &p.r);
	read_metric(stmt, 6, 1 << 20, PROC_VMS, &p.r);
	read_metric(stmt, 7, 1, PROC_THREADS, &p.r);
	read_metric(stmt, 8, 1, PROC_FDS, &p.r);
	p.uid = sqlite3_column_type(stmt, 9) == SQLITE_NULL
	                ? UINT32_MAX
	                : (uint32_t)sqlite3_column_int64(stmt, 9);
	return p;
}

int history_process(struct history *r, pid_t pid, uint32_t uid, struct history_cursor *at,
                    size_t limit, reader_point_fn fn, void *self, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int n = 0, result = history_begin(r, &scope, err);

	buf_printf(&sql, "SELECT s.id, s.timestamp, %s%s", start_of(r), select_points);
	if (result == 0)
		result = db_query(r->db, sql.at,
		                  BINDS(bind_int(pid), bind_real(db_time(at->since_ns)),
		                        bind_int(at->after_id)),
		                  &stmt, err);
	while (result >= 0 && (result = history_next_row(stmt, limit, &n, err)) > 0) {
		struct history_point p = point_of(stmt, pid);

		at->since_ns = p.wall_ns;
		at->after_id = p.snapshot;
		if (uid == HISTORY_ANY_UID || p.uid == uid)
			result = fn(self, &p);
		else
			n--;
	}
	return result < 0 ? result : n;
}
