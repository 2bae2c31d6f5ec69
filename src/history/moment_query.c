/* SPDX-License-Identifier: MIT */
/* When there are snapshots of the machine, and how busy it was: an index for going back in time. */
#include <math.h>

#include "history/history_handle.h"
#include "sqlite/column.h"
#include "sqlite/db.h"

static int read_moments(struct history *r, uint64_t since_ns, bool any, size_t limit,
                        struct history_moments *ret, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int n = 0, result;

	/* The newest of them, in the order of time. */
	result = db_query(r->db,
	                  "SELECT * FROM (SELECT s.id, s.time, h.cpu, h.system_memory_used_kib"
	                  " FROM snapshot s LEFT JOIN host h ON h.id = s.id"
	                  " LEFT JOIN recorder r ON r.id = s.recorder"
	                  " WHERE s.time >= ?1 AND (?2 OR r.kind IN ('daemon', 'record'))"
	                  " ORDER BY s.time DESC, s.id DESC LIMIT ?3) ORDER BY time, id",
	                  BINDS(bind_real(db_time(since_ns)), bind_int(any), bind_int((int64_t)limit)),
	                  &stmt, err);
	while (result >= 0 && (result = history_next_row(stmt, limit, &n, err)) > 0) {
		struct history_moment *m = vec_push(ret, limit);
		int64_t used_kib = db_column_or_absent(stmt, 3);

		if (!m)
			break;
		m->id = sqlite3_column_int64(stmt, 0);
		m->wall_ns = db_time_ns(sqlite3_column_double(stmt, 1));
		m->cpu_ratio = column_ratio_inside(db_column_or_absent(stmt, 2));
		m->used_bytes = used_kib < 0 ? (double)NAN : (double)used_kib * 1024;
	}
	return result < 0 ? result : n;
}

int history_moments(struct history *r, uint64_t since_ns, size_t limit, struct history_moments *ret,
                    struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	int result = history_begin(r, &scope, err);

	vec_reset(ret);
	if (result == 0)
		result = read_moments(r, since_ns, false, limit, ret, err);
	if (result == 0)
		result = read_moments(r, since_ns, true, limit, ret, err);
	return result;
}
