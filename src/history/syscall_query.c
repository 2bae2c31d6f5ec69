/* SPDX-License-Identifier: MIT */
/* The system calls of a job, a sheet or a process. */
#include <string.h>

#include "base/scan.h"
#include "history/history_handle.h"
#include "history/job_query.h"

/* [calls, ns, {error: calls}], as syscall_counts_json() writes it. */
#define CALLS_OF(text)                                                                             \
	"SELECT e.key, json_extract(e.value, '$[0]'), json_extract(e.value, '$[1]') AS ns,"        \
	" (SELECT group_concat(f.key || ' ' || f.value, ' ') FROM json_each(e.value, '$[2]') f),"  \
	" 1.0 * json_extract(e.value, '$[1]')"                                                     \
	" / nullif(sum(json_extract(e.value, '$[1]')) OVER (), 0) FROM " text                      \
	" ORDER BY ns DESC, 2 DESC, 1"

/* "ENOENT 12 EAGAIN 3" */
static void read_errors(const char *text, struct syscall_record *ret)
{
	struct scan s = scan_str(text), word;
	uint64_t count;

	while (scan_word(&s, &word) && scan_u64(&s, &count)) {
		char name[SYSCALL_ERROR_MAX];

		snprintf(name, sizeof name, "%.*s", (int)scan_left(&word), word.p);
		syscall_add_error(ret, name, count);
		scan_blanks(&s);
	}
}

static void read_record(sqlite3_stmt *stmt, struct syscall_record *ret)
{
	const unsigned char *name = sqlite3_column_text(stmt, 0);

	*ret = (struct syscall_record){ .count = (uint64_t)sqlite3_column_int64(stmt, 1),
		                        .ns = (uint64_t)sqlite3_column_int64(stmt, 2),
		                        .time_ratio = sqlite3_column_double(stmt, 4) };
	snprintf(ret->name, sizeof ret->name, "%s", name ? (const char *)name : "");
	if (sqlite3_column_text(stmt, 3))
		read_errors((const char *)sqlite3_column_text(stmt, 3), ret);
}

static int each_call(sqlite3_stmt *stmt, reader_syscall_fn fn, void *self, struct err *err)
{
	int n = 0, result = 0;

	while (result >= 0 && (result = history_next_row(stmt, SIZE_MAX, &n, err)) > 0) {
		struct syscall_record s;

		read_record(stmt, &s);
		result = fn(self, &s);
	}
	return result < 0 ? result : n;
}

int history_each_syscall(struct history *r, struct job_key key, uint32_t sheet,
                         reader_syscall_fn fn, void *self, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int result;

	if (!db_has_column(r->db, "job", "syscalls")) /* older stores have none */
		return 0;
	result = history_prepare_for_job(
		r,
		sheet ? CALLS_OF(
				"sheet t JOIN json_each(t.syscalls) e WHERE t.job = ?1 AND t.num = ?2")
		      : CALLS_OF("job j JOIN json_each(j.syscalls) e WHERE j.id = ?1"),
		key, &stmt, err);
	if (result >= 0 && sheet)
		sqlite3_bind_int64(stmt, 2, sheet);
	return result < 0 ? result : each_call(stmt, fn, self, err);
}

int history_process_syscalls(struct history *r, struct job_key key, struct proc_id id,
                             reader_syscall_fn fn, void *self, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int result = history_begin(r, &scope, err);

	if (result < 0 || !db_has_column(r->db, "process", "syscalls"))
		return MIN(result, 0);
	result = history_prepare_for_job(r,
	                                 CALLS_OF("process p JOIN json_each(p.syscalls) e WHERE"
	                                          " p.job = ?1 AND p.pid = ?2 AND p.start_ticks = ?3"),
	                                 key, &stmt, err);
	if (result < 0)
		return result;
	sqlite3_bind_int64(stmt, 2, id.pid);
	sqlite3_bind_int64(stmt, 3, (int64_t)id.start_ticks);
	return each_call(stmt, fn, self, err);
}

int history_job_syscalls(struct history *r, struct job_key key, uint32_t sheet,
                         reader_syscall_fn fn, void *self, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	int result = history_begin(r, &scope, err);

	return result < 0 ? result : history_each_syscall(r, key, sheet, fn, self, err);
}

int history_job_errors(struct history *r, struct job_key key, reader_error_fn fn, void *self,
                       struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int n = 0, result = history_begin(r, &scope, err);

	if (result < 0 || !db_has_column(r->db, "job", "syscalls"))
		return MIN(result, 0);
	result = history_prepare_for_job(
		r,
		"SELECT e.key, f.key, f.value FROM job j JOIN json_each(j.syscalls) e"
		" JOIN json_each(e.value, '$[2]') f WHERE j.id = ?1",
		key, &stmt, err);
	while (result >= 0 && (result = history_next_row(stmt, SIZE_MAX, &n, err)) > 0) {
		const unsigned char *call = sqlite3_column_text(stmt, 0),
				    *error = sqlite3_column_text(stmt, 1);

		if (call && error)
			result = fn(self, (const char *)call, (const char *)error,
			            (uint64_t)sqlite3_column_int64(stmt, 2));
	}
	return result < 0 ? result : n;
}
