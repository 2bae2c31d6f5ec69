/* SPDX-License-Identifier: MIT */
/* All processes that had one pid, over time. */
#include <math.h>

#include "history/history_handle.h"

/* Through the view: there the planner goes from the process to its snapshots. */
static const char select_points[] =
	"SELECT s.id, s.timestamp, pm.age_seconds, t.boot_us, pm.state,"
	" pm.cpu_percent, pm.rss_mb, pm.vms_mb, pm.threads, pm.open_fds,"
	" (SELECT p.uid FROM process p WHERE p.pid = ?1 AND p.started <= s.timestamp + 0.02"
	" ORDER BY p.started DESC LIMIT 1)"
	" FROM process_metrics pm JOIN snapshots s ON s.id = pm.snapshot_id"
	" JOIN snapshot t ON t.id = s.id WHERE pm.pid = ?1"
	" AND s.timestamp >= ?2 AND (s.timestamp > ?2 OR s.id > ?3) ORDER BY s.timestamp, s.id";

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
		.cpu_ratio = db_column_real(stmt, 5) / 100,
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

int history_process(struct history *r, pid_t pid, uint32_t uid, struct history_cursor *at,
                    size_t limit, reader_point_fn fn, void *self, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int n = 0, result = history_begin(r, &scope, err);

	if (result == 0)
		result = db_query(r->db, select_points,
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
