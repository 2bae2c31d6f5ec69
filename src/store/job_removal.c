/* SPDX-License-Identifier: MIT */
/* A job is deleted table by table, from the last to the first, so that rows go before what they refer to.
 * Snapshots stay: they are of the machine, and retention deletes them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/store_handle.h"
#include "store/transaction.h"

/* Ids are never given again: a recorder that watched the job may remember them for a minute, and readers
 * that follow events go on after the last one they saw. The note is newer than all that is deleted. */
static int keep_ids(struct store *st, struct err *err)
{
	static const char *const tables[] = { "job", "process" };
	char sql[256];
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(tables); i++) {
		snprintf(
			sql, sizeof sql,
			"INSERT INTO meta SELECT 'removed_%s', coalesce(max(id), 0) FROM %s WHERE 1"
			" ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
			tables[i], tables[i]);
		r = db_exec(st->db, sql, err);
	}
	return r < 0 ? r : event_table_put_note(st, "a job was deleted (proctor rm)", err);
}

/* A machine's recorder goes on with processes that outlive the job. */
static int release_living(struct store *st, int64_t job, struct err *err)
{
	return db_do(st->db,
	             "UPDATE process SET job = NULL, sheet = NULL WHERE job = ?1"
	             " AND first IS NOT NULL AND last IS NULL",
	             BINDS(bind_int(job)), err);
}

static int remove_rows(struct store *st, int64_t job, struct store_removed *ret, struct err *err)
{
	int r = 0;

	for (size_t i = store_table_count; i-- > 0;) {
		const char *const *sql = store_tables[i]->remove_job;

		for (; r == 0 && sql && *sql; sql++) {
			r = db_do(st->db, *sql, BINDS(bind_int(job)), err);
			if (r < 0)
				return r;
			ret->rows += (uint64_t)sqlite3_changes(st->db);
			if (strcmp(store_tables[i]->name, "process") == 0)
				ret->processes += (uint64_t)sqlite3_changes(st->db);
		}
	}
	return r;
}

static int remove_job(struct store *st, struct job_key key, struct store_removed *ret,
                      struct err *err)
{
	int64_t job = job_table_find(st, key, err), is_over = 0;
	int r = (int)MIN(job, (int64_t)0);

	if (job > 0)
		r = db_int(st->db, "SELECT status > 0 FROM job WHERE id = ?1", BINDS(bind_int(job)),
		           &is_over, err);
	if (r < 0)
		return r;
	if (!job)
		return err_set(err, ENOENT, "there is no job '%s'", key.id);
	if (!is_over)
		return err_set(err, EBUSY, "job '%s' is running", key.id);
	r = keep_ids(st, err);
	if (r == 0)
		r = release_living(st, job, err);
	return r < 0 ? r : remove_rows(st, job, ret, err);
}
static_assert(JOB_RUNNING == 0, "the number in the text above");

static int remove_once(struct store *st, struct job_key key, struct store_removed *ret,
                       struct err *err)
{
	int r = transaction_begin(st, TRANSACTION_START_NS, err);

	*ret = (struct store_removed){ 0 };
	return r < 0 ? r : transaction_end(st, remove_job(st, key, ret, err), err);
}

int store_remove_job(struct store *st, struct job_key key, struct store_removed *ret,
                     struct err *err)
{
	int r = remove_once(st, key, ret, err);

	if (r != -EUCLEAN && r != -ESTALE)
		return r;
	r = store_recover(st, r, err);
	return r < 0 ? r : remove_once(st, key, ret, err);
}
