/* SPDX-License-Identifier: MIT */
/* Patterns that were stored and not retired. */
#include "history/pattern_query.h"

#include <math.h>
#include <stdio.h>

#include "history/history_handle.h"

/* An end that is open was stored as NULL. */
static double read_end(sqlite3_stmt *stmt, int column, double open)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL
	               ? open
	               : sqlite3_column_double(stmt, column);
}

static bool read_pattern(sqlite3_stmt *stmt, struct pattern *ret)
{
	const char *type = (const char *)sqlite3_column_text(stmt, 1);

	*ret = (struct pattern){
		.uid = (uint32_t)sqlite3_column_int64(stmt, 0),
		.type = pattern_type_find(type ? type : ""),
		.confidence = sqlite3_column_double(stmt, 5),
		.support = (uint64_t)sqlite3_column_int64(stmt, 6),
		.from = read_end(stmt, 7, -INFINITY),
		.to = read_end(stmt, 8, INFINITY),
		.p = read_end(stmt, 9, NAN),
		.q = read_end(stmt, 10, NAN),
		.effect = read_end(stmt, 11, NAN),
		.low = read_end(stmt, 12, NAN),
		.high = read_end(stmt, 13, NAN),
		.first_seen_ns = db_time_ns(sqlite3_column_double(stmt, 14)),
		.last_seen_ns = db_time_ns(sqlite3_column_double(stmt, 15)),
	};
	db_column_text(stmt, 2, ret->job_type, sizeof ret->job_type);
	db_column_text(stmt, 3, ret->subject, sizeof ret->subject);
	db_column_text(stmt, 4, ret->description, sizeof ret->description);
	return ret->type != PATTERN_TYPE_COUNT;
}

int history_patterns(struct history *r, struct patterns *ret, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int n = 0, result = history_begin(r, &scope, err);

	if (result < 0 || !db_has_column(r->db, "pattern", "subject")) /* older stores */
		return MIN(result, 0);
	result = db_query(
		r->db,
		"SELECT uid, type, job_type, subject, description, confidence, support,"
		" above, up_to, p, q, effect, effect_low, effect_high, first_seen, last_seen"
		" FROM pattern WHERE retired IS NULL ORDER BY id",
		NULL, 0, &stmt, err);
	while (result >= 0 && (result = history_next_row(stmt, PATTERNS_MAX, &n, err)) > 0) {
		struct pattern found, *slot = read_pattern(stmt, &found)
		                                      ? vec_push(&ret->list, PATTERNS_MAX)
		                                      : NULL;

		if (slot)
			*slot = found;
	}
	return MIN(result, 0);
}
