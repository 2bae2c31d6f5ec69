/* SPDX-License-Identifier: MIT */
/* The rows of jobs. All of a row is written when something about the job changed; from tick to tick
 * mostly its figures do, and then only those are bound anew. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/store_handle.h"
#include "sqlite/job_column.h"

/* A job that is over in a blink waits for the disk once, at its end; of one that goes on, the start
 * is brought to the disk by the first commit after this time. */
#define START_DURABLE_NS (500 * NS_PER_MS)

static uint64_t hash_text(uint64_t h, const char *text, size_t max)
{
	return store_hash(h, text, strnlen(text, max));
}

static uint64_t hash_facts(const struct job *job)
{
	uint64_t facts[] = { job->status,
		             job->type_is_given,
		             job->uid,
		             job->interval_ns,
		             job->started_ns,
		             job->ended_ns,
		             job->took_ns,
		             job->has_exit_code,
		             (uint64_t)job->exit_code,
		             (uint64_t)job->signal,
		             job->core_dumped,
		             job->total_sheets,
		             job->last_completed_sheet,
		             job->current_sheet,
		             job->limits_hit,
		             proc_key(job->root) };
	uint64_t h = store_hash(0, facts, sizeof facts);

	h = hash_text(h, job->type, sizeof job->type);
	h = hash_text(h, job->parent, sizeof job->parent);
	h = hash_text(h, job->command, sizeof job->command);
	h = hash_text(h, job->cwd, sizeof job->cwd);
	h = hash_text(h, job->tags, sizeof job->tags);
	h = hash_text(h, job->tier, sizeof job->tier);
	return store_hash(h, job->limit, sizeof job->limit);
}

static uint64_t hash_figures(const struct job *job)
{
	uint64_t h = store_hash((uint64_t)job->hungriest_pid, job->hungriest, COMM_LEN);

	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++) {
		uint64_t figure[] = { job->figures[i].value, job->figures[i].quality };

		if (job->figures[i].quality != QUALITY_MISSING)
			h = store_hash(h + i, figure, sizeof figure);
	}
	return h;
}

/* Of ids with one hash each stands at the next key: none is taken out but with all others. */
struct job_seen *job_find_seen(const struct store *st, const char *id)
{
	uint64_t key = hash_text(0, id, JOB_ID_MAX), at;

	for (; map_get(&st->job_index, key, &at); key++)
		if (!strcmp(st->jobs.at[at].id, id))
			return &st->jobs.at[at];
	return NULL;
}

static void index_seen(struct store *st, size_t at)
{
	uint64_t key = hash_text(0, st->jobs.at[at].id, JOB_ID_MAX), taken;

	while (map_get(&st->job_index, key, &taken))
		key++;
	map_put(&st->job_index, key, at);
}

static struct job_seen *add_seen(struct store *st, const char *id, int64_t row)
{
	struct job_seen *seen = vec_push(&st->jobs, JOBS_MAX);

	if (!seen)
		return NULL;
	snprintf(seen->id, sizeof seen->id, "%s", id);
	seen->row = row;
	index_seen(st, st->jobs.len - 1);
	return seen;
}

bool job_ends(const struct store *st, const struct snapshot *snap)
{
	vec_each(&snap->jobs, job) {
		const struct job_seen *seen = job_find_seen(st, job->id);

		if (job->status != (seen ? seen->status : JOB_RUNNING))
			return true;
	}
	return false;
}

bool job_needs_disk(const struct store *st, const struct snapshot *snap)
{
	vec_each(&snap->jobs, job) {
		const struct job_seen *seen = job_find_seen(st, job->id);

		if (seen && !seen->is_durable &&
		    snap->wall_ns >= job->started_ns + START_DURABLE_NS)
			return true;
	}
	return job_ends(st, snap);
}

void job_mark_durable(struct store *st)
{
	vec_each(&st->jobs, seen)
		seen->is_durable = true;
}

bool job_has_running(const struct store *st)
{
	vec_each(&st->jobs, seen)
		if (seen->status == JOB_RUNNING)
			return true;
	return st->jobs_unsure;
}

void job_forget(struct store *st)
{
	st->jobs_unsure = st->jobs_unsure || st->jobs.len;
	vec_reset(&st->jobs);
	map_reset(&st->job_index);
}

static void bind_text(sqlite3_stmt *stmt, int column, const char *text, size_t max)
{
	if (text[0])
		db_bind_text(stmt, column + 1, text, max);
}

static void bind_int(sqlite3_stmt *stmt, int column, uint64_t value)
{
	sqlite3_bind_int64(stmt, column + 1, (int64_t)MIN(value, (uint64_t)INT64_MAX));
}

static void bind_present(sqlite3_stmt *stmt, int column, uint64_t value)
{
	if (value)
		bind_int(stmt, column, value);
}

static void bind_time(sqlite3_stmt *stmt, int column, uint64_t wall_ns)
{
	if (wall_ns)
		sqlite3_bind_double(stmt, column + 1, db_time(wall_ns));
}

/* Value and quality, from the parameter `at` on. */
static void bind_figures(sqlite3_stmt *stmt, int at, const struct job *job)
{
	for (int i = 0; i < JOB_FIGURE_COUNT; i++) {
		const struct figure *f = &job->figures[i];
		struct metric m = job_column_metric((enum job_figure)i);
		bool has = f->quality != QUALITY_MISSING;

		db_bind_or_null(stmt, at + 2 * i, has ? column_value(&m, f->value) : COLUMN_ABSENT);
		db_bind_or_null(stmt, at + 2 * i + 1, has ? (int64_t)f->quality : COLUMN_ABSENT);
	}
}

static void bind_outcome(sqlite3_stmt *stmt, const struct job *job)
{
	bind_int(stmt, JOB_COLUMN_STATUS, job->status);
	bind_time(stmt, JOB_COLUMN_STARTED, job->started_ns);
	bind_time(stmt, JOB_COLUMN_ENDED, job->ended_ns);
	if (job->has_exit_code)
		sqlite3_bind_int64(stmt, JOB_COLUMN_EXIT_CODE + 1, job->exit_code);
	bind_present(stmt, JOB_COLUMN_SIGNAL, (uint64_t)job->signal);
	bind_present(stmt, JOB_COLUMN_TOOK, job->took_ns / NS_PER_US);
	bind_present(stmt, JOB_COLUMN_CORE_DUMPED, job->core_dumped);
	bind_present(stmt, JOB_COLUMN_LIMITS_HIT, job->limits_hit);
	bind_int(stmt, JOB_COLUMN_TOTAL_SHEETS, job->total_sheets);
	bind_int(stmt, JOB_COLUMN_LAST_COMPLETED_SHEET, job->last_completed_sheet);
	bind_present(stmt, JOB_COLUMN_CURRENT_SHEET, job->current_sheet);
}

static void bind_identity(sqlite3_stmt *stmt, const struct job *job)
{
	db_bind_text(stmt, JOB_COLUMN_TYPE + 1, job->type, JOB_ID_MAX);
	bind_present(stmt, JOB_COLUMN_TYPE_GIVEN, job->type_is_given);
	bind_text(stmt, JOB_COLUMN_PARENT, job->parent, sizeof job->parent);
	bind_text(stmt, JOB_COLUMN_COMMAND, job->command, sizeof job->command);
	bind_text(stmt, JOB_COLUMN_CWD, job->cwd, sizeof job->cwd);
	bind_int(stmt, JOB_COLUMN_UID, job->uid);
	bind_text(stmt, JOB_COLUMN_TAGS, job->tags, sizeof job->tags);
	bind_text(stmt, JOB_COLUMN_TIER, job->tier, sizeof job->tier);
	bind_present(stmt, JOB_COLUMN_INTERVAL, job->interval_ns / NS_PER_US);
	bind_present(stmt, JOB_COLUMN_HUNGRIEST_PID, (uint64_t)job->hungriest_pid);
	bind_text(stmt, JOB_COLUMN_HUNGRIEST, job->hungriest, COMM_LEN);
	bind_present(stmt, JOB_COLUMN_ROOT_PID, (uint64_t)job->root.pid);
	bind_present(stmt, JOB_COLUMN_ROOT_TICKS, job->root.start_ticks);
	for (int i = 0; i < JOB_LIMIT_COUNT; i++)
		bind_present(stmt, JOB_COLUMN_LIMITS + i, job->limit[i]);
}

static int put_row(struct store *st, const struct job *job, int64_t row, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_SET_JOB_ROW, err);

	if (!stmt)
		return -err->code;
	sqlite3_clear_bindings(stmt);
	sqlite3_bind_int64(stmt, 1, row);
	bind_identity(stmt, job);
	bind_outcome(stmt, job);
	sqlite3_bind_int64(stmt, JOB_COLUMN_RECORDER + 1, st->recorder);
	bind_figures(stmt, JOB_COLUMN_FIGURES + 1, job);
	return db_run(stmt, err);
}

static int put_figures(struct store *st, const struct job *job, int64_t row, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_SET_FIGURES, err);

	if (!stmt)
		return -err->code;
	sqlite3_clear_bindings(stmt);
	sqlite3_bind_int64(stmt, 1, row);
	db_bind_or_null(stmt, 2, job->hungriest_pid ? job->hungriest_pid : COLUMN_ABSENT);
	bind_text(stmt, 2, job->hungriest, COMM_LEN);
	bind_figures(stmt, 4, job);
	return db_run(stmt, err);
}

int64_t job_find(struct store *st, const char *id, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_FIND_JOB, err);
	int64_t row = 0;
	int r;

	if (!stmt)
		return -err->code;
	db_bind_text(stmt, 1, id, JOB_ID_MAX);
	r = db_step(stmt, err);
	if (r > 0)
		row = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	return r < 0 ? r : row;
}

int64_t job_add(struct store *st, const char *id, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_ADD_JOB, err);
	int64_t row;
	int r;

	if (!stmt)
		return -err->code;
	db_bind_text(stmt, 1, id, JOB_ID_MAX);
	sqlite3_bind_int64(stmt, 2, st->recorder);
	r = db_run(stmt, err);
	if (r < 0)
		return r;
	row = sqlite3_last_insert_rowid(st->db);
	(void)add_seen(st, id, row);
	return row;
}

/* What is remembered of it; NULL at the ceiling: a stranger among 4096, whose row is written again
 * each time. */
static int get_seen(struct store *st, const char *id, struct job_seen **ret, int64_t *ret_row,
                    struct err *err)
{
	struct job_seen *seen = job_find_seen(st, id);
	int64_t row = seen ? seen->row : job_find(st, id, err);

	if (row > 0 && !seen)
		seen = add_seen(st, id, row);
	if (row == 0) {
		row = job_add(st, id, err);
		seen = job_find_seen(st, id);
	}
	*ret = seen;
	*ret_row = row;
	return row < 0 ? (int)row : 0;
}

int job_put_one(struct store *st, const struct job *job, struct err *err)
{
	uint64_t facts = hash_facts(job), figures = hash_figures(job);
	struct job_seen *seen;
	int64_t row;
	int r = get_seen(st, job->id, &seen, &row, err);

	if (r < 0)
		return r;
	if (!seen || seen->facts != facts)
		r = put_row(st, job, row, err);
	else if (seen->figures != figures)
		r = put_figures(st, job, row, err);
	if (r < 0 || !seen)
		return r;
	seen->has_ended = job->status != JOB_RUNNING && seen->status == JOB_RUNNING;
	seen->facts = facts;
	seen->figures = figures;
	seen->status = job->status;
	return 0;
}

/* Those that the recorder does not tell of any more need not be remembered. */
static void forget_gone(struct store *st, const struct snapshot *snap)
{
	size_t kept = 0;

	if (st->jobs.len <= 2 * snap->jobs.len + 64)
		return;
	vec_each(&st->jobs, seen)
		vec_each(&snap->jobs, job)
			if (!strcmp(seen->id, job->id)) {
				st->jobs.at[kept++] = *seen;
				break;
			}
	st->jobs.len = kept;
	map_reset(&st->job_index);
	for (size_t i = 0; i < kept; i++)
		index_seen(st, i);
}

int job_put_all(struct store *st, const struct snapshot *snap, struct err *err)
{
	forget_gone(st, snap);
	vec_each(&snap->jobs, job) {
		int r = job_put_one(st, job, err);

		if (r < 0)
			return r;
	}
	return sheet_put_all(st, snap, err);
}

int64_t job_row(struct store *st, const struct snapshot *snap, int32_t job, struct err *err)
{
	const struct job_seen *seen;

	if (job < 0 || (size_t)job >= snap->jobs.len)
		return 0;
	seen = job_find_seen(st, snap->jobs.at[job].id);
	return seen ? seen->row : job_find(st, snap->jobs.at[job].id, err);
}
