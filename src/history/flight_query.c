/* SPDX-License-Identifier: MIT */
/* The last system calls of the processes of a job that failed; those that still ran come last. */
#include "history/history_handle.h"
#include "history/job_query.h"
#include "sqlite/record_column.h"

/* flight_json() in model/flight.h has the members of a call. */
#define RECORD struct last_call_record
static const struct field last_call_rows[] = {
	{ "p.pid", FIELD(NUMBER, process.pid) },
	{ "p.start_ticks", FIELD(NUMBER, process.start_ticks) },
	{ "p.comm", FIELD(WORDS, comm) },
	{ "p.exit_code", FIELD(CODE, exit_code), .has = offsetof(RECORD, has_exit_code) },
	{ "p.signal", FIELD(ORDINAL, signal) },
	{ "p.core_dumped", FIELD(BOOL, core_dumped) },
	{ "p.ended", FIELD(ORDINAL, ended_ns), .unit = UNIT_NS },
	{ "json_extract(e.value, '$[0]') / 1e9", FIELD(ORDINAL, began_ns), .unit = UNIT_NS },
	{ "json_extract(e.value, '$[1]') / 1e9", FIELD(REAL, seconds) },
	{ "json_extract(e.value, '$[2]')", FIELD(NUMBER, tid) },
	{ "json_extract(e.value, '$[3]')", FIELD(STRING, call) },
	{ "json_extract(e.value, '$[4]')", FIELD(REAL, result) },
	{ "json_extract(e.value, '$[5]')", FIELD(STRING, error) },
	{ "json_extract(e.value, '$[6]')", FIELD(STRING, text) },
};
static const struct field_table last_call_columns = FIELD_TABLE(last_call_rows);
#undef RECORD

int history_job_last_calls(struct history *r, struct job_key key, size_t limit,
                           reader_last_call_fn fn, void *self, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int n = 0, result = history_begin(r, &scope, err);

	if (result < 0 || !db_has_column(r->db, "process", "last_calls")) /* older stores */
		return MIN(result, 0);
	buf_puts(&sql, "SELECT ");
	record_columns_select(&sql, &last_call_columns);
	buf_printf(
		&sql,
		" FROM process p LEFT JOIN json_each(iif(p.last_calls = '', '[]', p.last_calls)) e"
		" WHERE p.last_calls IS NOT NULL AND %s ORDER BY p.ended IS NULL, p.ended, p.id, e.key",
		history_is_member(r));
	result = history_prepare_for_job(r, sql.at, key, &stmt, err);
	while (result >= 0 && (result = history_next_row(stmt, limit, &n, err)) > 0) {
		struct last_call_record c = { 0 };

		record_columns_read(stmt, 0, &last_call_columns, &c);
		result = fn(self, &c);
	}
	return result < 0 ? result : n;
}
