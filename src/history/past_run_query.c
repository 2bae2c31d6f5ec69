/* SPDX-License-Identifier: MIT */
#include "history/past_run_query.h"

#include <stdio.h>

#include "sqlite/db.h"
#include "history/history_handle.h"

static void read_number(sqlite3_stmt *stmt, int column, uint64_t unit, enum run_number number,
                        struct past_run *run, uint64_t *to)
{
	int64_t value = db_column_or_absent(stmt, column);

	if (value < 0)
		return;
	*to = (uint64_t)value * unit;
	run->has |= 1u << number;
}

static void read_run(sqlite3_stmt *stmt, struct past_run *ret)
{
	*ret = (struct past_run){
		.started_ns = db_time_ns(sqlite3_column_double(stmt, 1)),
		.took_ns = (uint64_t)sqlite3_column_int64(stmt, 2) * 1000,
		.basis = sqlite3_column_int64(stmt, 3) ? RUN_BASIS_PROCESS : RUN_BASIS_JOB,
		.peak_bytes = (uint64_t)sqlite3_column_int64(stmt, 4),
		.sheet = (uint32_t)sqlite3_column_int64(stmt, 5),
	};
	db_column_text(stmt, 0, ret->type, sizeof ret->type);
	db_column_text(stmt, 10, ret->tags, sizeof ret->tags);
	db_column_text(stmt, 12, ret->id, sizeof ret->id);
	ret->uid = (uint32_t)sqlite3_column_int64(stmt, 11);
	db_column_text(stmt, 9, ret->outcome, sizeof ret->outcome);
	read_number(stmt, 6, 1000, RUN_CPU, ret, &ret->cpu_ns);
	read_number(stmt, 7, 1, RUN_INPUT, ret, &ret->input_bytes);
	read_number(stmt, 8, 1, RUN_REQUESTED, ret, &ret->requested_bytes);
}

static void read_sheet(sqlite3_stmt *stmt, const struct sheet_filter *filter, struct sheet_run *ret)
{
	uint64_t started_ns = db_time_ns(sqlite3_column_double(stmt, 1));
	uint64_t ended_ns = db_time_ns(sqlite3_column_double(stmt, 2));
	struct past_run *run = &ret->run;

	*ret = (struct sheet_run){
		.run = { .sheet = filter->num,
		         .basis = RUN_BASIS_PROCESS,
		         .started_ns = started_ns,
		         .took_ns = ended_ns > started_ns ? ended_ns - started_ns : 0,
		         .peak_bytes = (uint64_t)sqlite3_column_int64(stmt, 3) << 10,
		         .uid = (uint32_t)sqlite3_column_int64(stmt, 5) },
		.type_is_given = sqlite3_column_int64(stmt, 7) != 0,
	};
	snprintf(run->type, sizeof run->type, "%s", filter->type);
	snprintf(run->outcome, sizeof run->outcome, "%s",
	         sqlite3_column_int64(stmt, 0) == JOB_COMPLETED ? "ok" : "failed");
	read_number(stmt, 4, 1000, RUN_CPU, run, &run->cpu_ns);
	ret->command = (const char *)sqlite3_column_text(stmt, 6);
	if (!ret->command)
		ret->command = "";
}

int history_sheet_runs(struct history *r, const struct sheet_filter *filter, size_t limit,
                       reader_sheet_run_fn fn, void *self, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int n = 0, result = history_begin(r, &scope, err);

	if (result < 0 || !db_has_column(r->db, "job", "type_given"))
		return result;
	result = db_query(
		r->db,
		"SELECT t.status, t.started, t.ended, t.peak_rss_kib, t.cpu_time_us, j.uid, j.command,"
		" j.type_given FROM job j JOIN sheet t ON t.job = j.id AND t.num = ?1"
		" WHERE j.started IS NOT NULL AND j.type = ?2 AND (?3 < 0 OR j.uid = ?3)"
		" AND t.status IN (1, 2) AND t.ended IS NOT NULL ORDER BY j.started DESC, j.id DESC",
		BINDS(bind_int(filter->num), bind_str(filter->type),
	              bind_int(filter->uid == HISTORY_ANY_UID ? -1 : (int64_t)filter->uid)),
		&stmt, err);
	while (result >= 0 && (result = history_next_row(stmt, limit, &n, err)) > 0) {
		struct sheet_run sheet;

		read_sheet(stmt, filter, &sheet);
		result = fn(self, &sheet);
	}
	return result < 0 ? result : n;
}
static_assert(JOB_COMPLETED == 1 && JOB_FAILED == 2, "the numbers in the text above");

int history_imported_runs(struct history *r, size_t limit, reader_run_fn fn, void *self,
                          struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int n = 0, result = history_begin(r, &scope, err);

	if (result < 0 || !db_has_column(r->db, "imported_run", "key"))
		return result;
	result = db_query(
		r->db,
		"SELECT type, started, took_us, basis, peak_bytes, sheet, cpu_us, input_bytes,"
		" requested_bytes, outcome, tags, uid, job_id FROM imported_run ORDER BY started DESC, key",
		NULL, 0, &stmt, err);
	while (result >= 0 && (result = history_next_row(stmt, limit, &n, err)) > 0) {
		struct past_run run;

		read_run(stmt, &run);
		result = fn(self, &run);
	}
	return result < 0 ? result : n;
}
