/* SPDX-License-Identifier: MIT */
/* Runs that `proctor import` read from a file: what estimates learn from besides recorded jobs. The key is a hash of what
 * distinguishes two runs, so that a file that is imported again changes nothing. Kept as long as jobs are. */
#include <string.h>

#include "base/hash.h"
#include "model/past_run.h"
#include "store/store_handle.h"
#include "store/transaction.h"

static const struct migration migrations[] = {
	{ 7,
	  "CREATE TABLE imported_run(key INTEGER PRIMARY KEY, type TEXT NOT NULL, started REAL NOT NULL,"
	  " took_us INTEGER NOT NULL, basis INTEGER NOT NULL, peak_bytes INTEGER NOT NULL,"
	  " sheet INTEGER, job_id TEXT, cpu_us INTEGER, input_bytes INTEGER,"
	  " requested_bytes INTEGER, outcome TEXT, exit_code INTEGER, tags TEXT, uid INTEGER);"
	  "CREATE INDEX imported_run_started ON imported_run(started);",
	  NULL },
	{ 0 },
};

static const struct statement statements[] = {
	{ "INSERT OR IGNORE INTO imported_run(key, type, started, took_us, basis, peak_bytes, sheet,"
	  " job_id, cpu_us, input_bytes, requested_bytes, outcome, exit_code, tags, uid)"
	  " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)" },
	{ 0 },
};

static int64_t key_of(const struct past_run *run, uint32_t uid)
{
	const uint64_t parts[] = { run->started_ns, run->took_ns,         run->peak_bytes,
		                   run->sheet,      (uint64_t)run->basis, uid };
	uint64_t hash = hash_bytes(HASH_SEED, parts, sizeof parts);

	hash = hash_bytes(hash, run->type, strlen(run->type) + 1);
	return (int64_t)(hash_bytes(hash, run->id, strlen(run->id)) >> 1);
}

static int put_run(struct store *st, const struct past_run *run, uint32_t uid, struct err *err)
{
	return statement_run(
		st, &statements[0],
		BINDS(bind_int(key_of(run, uid)), bind_str(run->type),
	              bind_real(db_time(run->started_ns)), bind_int((int64_t)(run->took_ns / 1000)),
	              bind_int(run->basis), bind_int((int64_t)run->peak_bytes),
	              bind_nonzero(run->sheet), bind_text_or_null(run->id, strlen(run->id)),
	              bind_int_if(past_run_has(run, RUN_CPU), (int64_t)(run->cpu_ns / 1000)),
	              bind_int_if(past_run_has(run, RUN_INPUT), (int64_t)run->input_bytes),
	              bind_int_if(past_run_has(run, RUN_REQUESTED), (int64_t)run->requested_bytes),
	              bind_text_or_null(run->outcome, strlen(run->outcome)),
	              bind_int_if(past_run_has(run, RUN_EXIT_CODE), run->exit_code),
	              bind_text_or_null(run->tags, strlen(run->tags)), bind_int(uid)),
		err);
}

static int put_runs(struct store *st, const struct past_run *runs, size_t n, uint32_t uid,
                    uint64_t *ret_new, struct err *err)
{
	uint64_t added = 0;

	for (size_t i = 0; i < n; i++) {
		if (put_run(st, &runs[i], uid, err) < 0)
			return -err->code;
		added += (uint64_t)sqlite3_changes(st->db);
	}
	*ret_new = added;
	return 0;
}

int store_import_runs(struct store *st, const struct past_run *runs, size_t n, uint32_t uid,
                      uint64_t *ret_new, struct err *err)
{
	int r = transaction_begin(st, TRANSACTION_START_NS, err);

	return r < 0 ? r : transaction_end(st, put_runs(st, runs, n, uid, ret_new, err), err);
}

static void put_imported_runs(struct buf *sql)
{
	buf_puts(sql,
	         "CREATE VIEW imported_runs AS SELECT r.type AS job_type, r.started AS started_at,"
	         " r.took_us / 1e6 AS duration_seconds,"
	         " iif(r.basis, NULL, r.peak_bytes / 1048576.0) AS peak_used_mb,"
	         " iif(r.basis, r.peak_bytes / 1048576.0, NULL) AS peak_rss_mb,"
	         " r.job_id AS job_id, r.sheet AS sheet_num, r.cpu_us / 1e6 AS cpu_seconds,"
	         " r.input_bytes AS input_bytes, r.requested_bytes / 1048576.0 AS requested_mb,"
	         " r.outcome AS outcome, r.exit_code AS exit_code, r.tags AS tags, r.uid AS uid"
	         " FROM imported_run r");
}
static_assert(RUN_BASIS_JOB == 0 && RUN_BASIS_PROCESS == 1, "the numbers in the text above");

static const struct view views[] = { { "imported_runs", put_imported_runs }, { 0 } };

#define RUN_COLUMNS                                                                                \
	"key, type, started, took_us, basis, peak_bytes, sheet, job_id, cpu_us, input_bytes,"      \
	" requested_bytes, outcome, exit_code, tags, uid"

static const struct table_import imports[] = {
	{ "imported_run", "INSERT OR IGNORE INTO main.imported_run(" RUN_COLUMNS
	                  ") SELECT " RUN_COLUMNS " FROM side.imported_run" },
	{ 0 },
};

const struct store_table imported_run_table = {
	.name = "imported_run",
	.migrations = migrations,
	.statements = statements,
	.views = views,
	.imports = imports,
};
