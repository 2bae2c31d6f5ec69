/* SPDX-License-Identifier: MIT */
/* Jobs as they were stored, and finding one by what a user types. */
#include "history/job_query.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/scan.h"
#include "sqlite/db_file.h"
#include "schema/job_column.h"
#include "history/history_handle.h"

/* A recorder that lives holds the byte of its number in write.lock, whatever its pid is called
 * here. If the lock cannot be read, the recorder is assumed to be alive. */
static bool recorder_lives(struct history *r, int64_t recorder)
{
	char path[4096];
	struct err err;
	int result;

	if (r->recorders.fd < 0) {
		db_file_beside(sqlite3_db_filename(r->db, "main"), "write.lock", path, sizeof path);
		result = db_lock_open_to_ask(&r->recorders, path, &err);
		if (result < 0)
			return result != -ENOENT;
	}
	return recorder > 0 && db_lock_is_taken(&r->recorders, recorder);
}

/* A column that is not there yet reads as NULL; the sum of CPU time had another name. */
static void put_column(const struct history *r, struct buf *sql, size_t column)
{
	char name[COLUMN_NAME_MAX];
	const char *found = job_column_name(column, name);

	if (!db_has_column(r->db, "job", found))
		found = column == JOB_COLUMN_FIGURES + 2 * JOB_FIGURE_CPU ? "cpu_time_us" : "NULL";
	buf_printf(sql, "%s%s", column ? ", " : "SELECT ", found);
}

static void put_select(const struct history *r, struct buf *sql)
{
	for (size_t i = 0; i < JOB_COLUMN_COUNT; i++)
		put_column(r, sql, i);
	buf_puts(sql, " FROM job j WHERE j.started IS NOT NULL"); /* else it was only claimed */
}

static uint64_t read_int(sqlite3_stmt *stmt, int column)
{
	return (uint64_t)MAX(sqlite3_column_int64(stmt, column), (int64_t)0);
}

/* A value without a quality is a sum of schema version 1: of the processes that were known. */
static struct figure read_figure(sqlite3_stmt *stmt, enum job_figure id)
{
	int at = JOB_COLUMN_FIGURES + 2 * (int)id;
	int64_t value = db_column_or_absent(stmt, at), quality = db_column_or_absent(stmt, at + 1);

	if (value < 0 || quality >= QUALITY_COUNT)
		return (struct figure){ 0 };
	return (struct figure){ .value = column_inside(&job_figures[id], value),
		                .quality = quality < 0 ? QUALITY_AT_LEAST : (enum quality)quality };
}

/* Its end is not known: exact figures up to then are lower bounds of the whole. */
static void doubt_figures(struct job *job)
{
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
		job->figures[i].quality = quality_join(job->figures[i].quality, QUALITY_AT_LEAST);
}

/* The time of the last snapshot that its recorder stored. */
static uint64_t last_snapshot_ns(struct history *r, int64_t recorder)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	struct err err;

	if (db_query(r->db,
	             "SELECT time FROM snapshot WHERE recorder = ?1 ORDER BY id DESC LIMIT 1",
	             BINDS(bind_int(recorder)), &stmt, &err) < 0)
		return 0;
	return db_step(stmt, &err) > 0 ? db_time_ns(sqlite3_column_double(stmt, 0)) : 0;
}

#define PARENTS_MAX 16 /* a parent may be lost too, with its own parent */
/* How long after the last record of a job its recorder may have been killed: the interval may be
 * that long. */
#define KILLED_WITHIN_NS (60 * NS_PER_S)

/* Before version 10 a parent was a job of the same user. */
static const char *parent_user(const struct history *r)
{
	return db_has_column(r->db, "job", "parent_uid") ? "coalesce(j.parent_uid, j.uid)"
	                                                 : "j.uid";
}

/* A limit whose kill ends a job also ends the recorder of a job within it. */
static unsigned read_parent_limits(struct history *r, const struct job *job)
{
	const unsigned kill = 1u << JOB_LIMIT_TIME | 1u << JOB_LIMIT_MEM;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int64_t uid = job->parent_uid;
	char id[JOB_ID_MAX];
	unsigned hit = 0;
	struct err err;

	buf_printf(&sql,
	           "SELECT j.limits_hit, j.parent, j.ended, %s FROM job j"
	           " WHERE j.job_id = ?1 AND j.uid = ?2",
	           parent_user(r));
	if (!db_has_column(r->db, "job", "limits_hit") || !db_has_column(r->db, "job", "parent") ||
	    db_prepare(r->db, sql.at, &stmt, &err) < 0)
		return 0;
	snprintf(id, sizeof id, "%s", job->parent);
	for (int i = 0; i < PARENTS_MAX && *id && !hit; i++) {
		sqlite3_bind_text(stmt, 1, id, -1, SQLITE_TRANSIENT);
		sqlite3_bind_int64(stmt, 2, uid);
		if (db_step(stmt, &err) <= 0)
			break;
		if (job->status != JOB_LOST ||
		    db_time_ns(sqlite3_column_double(stmt, 2)) < job->ended_ns + KILLED_WITHIN_NS)
			hit = (unsigned)read_int(stmt, 0) & kill;
		snprintf(id, sizeof id, "%s",
		         sqlite3_column_text(stmt, 1) ? (const char *)sqlite3_column_text(stmt, 1)
		                                      : "");
		uid = sqlite3_column_int64(stmt, 3);
		sqlite3_reset(stmt);
	}
	return hit;
}

/* The memory of the job around it ran out, of the container's, or of the machine's. */
static bool is_oom_of_others(const struct job *job)
{
	return job_is_oom(job) && !(job->limits_hit >> JOB_LIMIT_MEM & 1);
}

static void read_job(struct history *r, sqlite3_stmt *stmt, struct job *to)
{
	const struct field_table members = { job_columns, JOB_COLUMN_LIMITS };
	int64_t recorder = sqlite3_column_int64(stmt, JOB_COLUMN_RECORDER);

	*to = (struct job){ 0 };
	record_columns_read(stmt, 0, &members, to);
	for (int i = 0; i < JOB_LIMIT_COUNT; i++)
		to->limit[i] = read_int(stmt, JOB_COLUMN_LIMITS + i);
	for (int i = 0; i < JOB_FIGURE_COUNT; i++)
		to->figures[i] = read_figure(stmt, (enum job_figure)i);
	if (to->status >= JOB_STATUS_COUNT ||
	    (to->status == JOB_RUNNING && !recorder_lives(r, recorder)))
		to->status = JOB_LOST;
	if (to->status == JOB_LOST && !to->ended_ns)
		to->ended_ns = MAX(last_snapshot_ns(r, recorder), to->started_ns);
	if (to->status == JOB_LOST)
		doubt_figures(to);
	if (to->status != JOB_RUNNING)
		to->figures[JOB_FIGURE_USED] = (struct figure){ 0 };
	if (*to->parent && !to->has_parent_uid)
		to->parent_uid = to->uid;
	to->has_parent_uid = *to->parent != '\0';
	if (*to->parent && (to->status == JOB_LOST || is_oom_of_others(to)))
		to->parent_limits_hit = read_parent_limits(r, to);
}

/* Whether a job runs or is lost is decided when it is known whether its recorder lives. */
static const struct outcome {
	const char *name, *column, *condition;
} outcomes[] = {
	{ "ok", "status", " AND j.status = 1" },
	{ "failed", "status", " AND j.status = 2" },
	{ "running", "status", " AND j.status = 0" },
	{ "lost", "status", " AND j.status IN (0, 3)" },
	{ "signal", "signal", " AND j.signal > 0" },
	{ "oom", "oom", " AND (j.oom > 0 OR j.oom_kills > 0)" },
	{ "oom", "oom_kills", " AND j.oom_kills > 0" }, /* before version 6 */
	{ "limit", "limits_hit", " AND j.limits_hit > 0" },
};
static_assert(JOB_RUNNING == 0 && JOB_COMPLETED == 1 && JOB_FAILED == 2 && JOB_LOST == 3,
              "the numbers above");

static int put_outcome(const struct history *r, const char *name, struct buf *sql, struct err *err)
{
	bool is_known = false;

	for (size_t i = 0; i < ARRAY_LEN(outcomes); i++) {
		if (strcmp(outcomes[i].name, name) != 0)
			continue;
		is_known = true;
		if (!db_has_column(r->db, "job", outcomes[i].column))
			continue;
		buf_puts(sql, outcomes[i].condition);
		return 0;
	}
	if (!is_known)
		return err_set(err, EINVAL, "no outcome is called '%.64s'", name);
	buf_puts(sql, " AND 0");
	return 0;
}

/* The parameters are those of history_jobs(). */
static int put_filter(const struct history *r, const struct job_filter *f, struct buf *sql,
                      struct err *err)
{
	if (f->type)
		buf_puts(sql, " AND j.type = ?1");
	if (f->parent && db_has_column(r->db, "job", "parent"))
		buf_printf(sql, " AND j.parent = ?2 AND %s = ?9", parent_user(r));
	else if (f->parent)
		buf_puts(sql, " AND 0");
	if (f->of_one_user)
		buf_printf(sql, " AND j.uid = %u", (unsigned)f->uid);
	if (f->since_ns)
		buf_puts(sql, " AND j.started >= ?3");
	if (f->until_ns)
		buf_puts(sql, " AND j.started <= ?4");
	if (f->ended_since_ns)
		buf_puts(sql, " AND j.ended >= ?8");
	if (f->tag_key) /* a commit by its first digits, too, as it is shown */
		buf_puts(sql, " AND EXISTS (SELECT 1 FROM json_each(iif(json_valid(j.tags), j.tags,"
		              " '{}')) t WHERE t.key = ?5 AND (?6 IS NULL OR t.value = ?6"
		              " OR (length(?6) >= 7 AND length(t.value) IN (40, 64)"
		              " AND t.value NOT GLOB '*[^0-9a-f]*'"
		              " AND substr(t.value, 1, length(?6)) = ?6)))");
	if (f->part)
		buf_puts(sql, " AND (instr(j.job_id, ?7) OR instr(j.type, ?7))");
	if (f->outermost && db_has_column(r->db, "job", "parent"))
		buf_printf(sql,
		           " AND (j.parent IS NULL OR NOT EXISTS"
		           " (SELECT 1 FROM job p WHERE p.job_id = j.parent AND p.uid = %s))",
		           parent_user(r));
	return f->outcome ? put_outcome(r, f->outcome, sql, err) : 0;
}

static bool is_wanted(const struct job_filter *f, const struct job *job)
{
	if (!f->outcome)
		return true;
	if (!strcmp(f->outcome, "running"))
		return job->status == JOB_RUNNING;
	return strcmp(f->outcome, "lost") != 0 || job->status == JOB_LOST;
}

/* The newest first. */
static int query_jobs(struct history *r, const struct job_filter *filter, struct buf *sql,
                      sqlite3_stmt **ret, struct err *err)
{
	int result = put_filter(r, filter, sql, err);

	buf_puts(sql, " ORDER BY j.started DESC, j.id DESC");
	return result < 0 ? result
	                  : db_query(r->db, sql->at,
	                             BINDS(bind_str(filter->type), bind_str(filter->parent),
	                                   bind_real(db_time(filter->since_ns)),
	                                   bind_real(db_time(filter->until_ns)),
	                                   bind_str(filter->tag_key), bind_str(filter->tag_value),
	                                   bind_str(filter->part),
	                                   bind_real(db_time(filter->ended_since_ns)),
	                                   bind_int(filter->parent_uid)),
	                             ret, err);
}

int history_jobs(struct history *r, const struct job_filter *filter, size_t limit, reader_job_fn fn,
                 void *self, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int n = 0, result = history_begin(r, &scope, err);

	if (result < 0)
		return result;
	put_select(r, &sql);
	result = query_jobs(r, filter, &sql, &stmt, err);
	while (result >= 0 && (result = history_next_row(stmt, limit, &n, err)) > 0) {
		struct job job;

		read_job(r, stmt, &job);
		if (is_wanted(filter, &job))
			result = fn(self, &job);
		else
			n--;
	}
	return result < 0 ? result : n;
}

int history_offer_jobs(struct history *r, const struct job_filter *filter, size_t limit,
                       reader_offer_fn fn, void *self, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int n = 0, result = history_begin(r, &scope, err);

	if (result < 0)
		return result;
	buf_printf(&sql,
	           "SELECT j.job_id, j.type, %s, j.started FROM job j WHERE j.started IS NOT NULL",
	           db_has_column(r->db, "job", "uid") ? "j.uid" : "0");
	result = query_jobs(r, filter, &sql, &stmt, err);
	while (result >= 0 && (result = history_next_row(stmt, limit, &n, err)) > 0) {
		struct job_offer offer = { .uid = (uint32_t)sqlite3_column_int64(stmt, 2),
			                   .started_ns = db_time_ns(
						   sqlite3_column_double(stmt, 3)) };

		db_column_text(stmt, 0, offer.id, sizeof offer.id);
		db_column_text(stmt, 1, offer.type, sizeof offer.type);
		result = fn(self, &offer);
	}
	return result < 0 ? result : n;
}

/* The first job that the condition finds, in which ?1 is the name and ?2 the uid: 1, or 0 when there is
 * none. */
static int find(struct history *r, const char *condition, const char *name, uint32_t uid,
                struct job *ret, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int result;

	put_select(r, &sql);
	buf_printf(&sql, "%s ORDER BY j.started DESC, j.id DESC LIMIT 1", condition);
	result = db_query(r->db, sql.at, BINDS(bind_str(name), bind_int(uid)), &stmt, err);
	if (result == 0)
		result = db_step(stmt, err);
	if (result > 0)
		read_job(r, stmt, ret);
	return result;
}

/* Before version 2 a job had no user. */
static const char *has_key(const struct history *r)
{
	return db_has_column(r->db, "job", "uid")
	               ? " AND j.job_id = ?1 AND coalesce(j.uid, ?2) = ?2"
	               : " AND j.job_id = ?1";
}

int history_load_job(struct history *r, struct job_key key, struct job *ret, struct err *err)
{
	return find(r, has_key(r), key.id, key.uid, ret, err);
}

int history_prepare_for_job(struct history *r, const char *sql, struct job_key key,
                            sqlite3_stmt **ret, struct err *err)
{
	cleanup(buf_done) struct buf find_row = { 0 };
	int64_t row;
	int result;

	buf_printf(&find_row, "SELECT j.id FROM job j WHERE 1%s", has_key(r));
	result = db_int(r->db, find_row.at, BINDS(bind_str(key.id), bind_int(key.uid)), &row, err);
	return result < 0 ? result : db_query(r->db, sql, BINDS(bind_int(row)), ret, err);
}

int history_get_job(struct history *r, struct job_key key, struct job *ret, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	struct job found;
	int result = history_begin(r, &scope, err);

	if (result < 0)
		return result;
	result = history_load_job(r, key, &found, err);
	if (result > 0)
		*ret = found;
	return result ? MIN(result, 0) : err_set(err, ENOENT, "no job '%.128s'", key.id);
}

int history_job_recorder(struct history *r, struct job_key key, struct job_recorder *ret,
                         struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	struct job_recorder found = { 0 };
	int result = history_begin(r, &scope, err);

	if (result == 0)
		result = history_prepare_for_job(r,
		                                 "SELECT c.host, c.boot_id, c.kind FROM job j"
		                                 " JOIN recorder c ON c.id = j.recorder"
		                                 " WHERE j.id = ?1",
		                                 key, &stmt, err);
	if (result == 0)
		result = db_step(stmt, err);
	if (result < 0)
		return result;
	if (result > 0) {
		db_column_text(stmt, 0, found.host, sizeof found.host);
		db_column_text(stmt, 1, found.boot_id, sizeof found.boot_id);
		db_column_text(stmt, 2, found.kind, sizeof found.kind);
	}
	*ret = found;
	return 0;
}

uint64_t history_last_end_ns(struct history *r, const char *kind, unsigned before)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	struct err err;

	if (history_begin(r, &scope, &err) < 0 ||
	    db_query(
		    r->db,
		    "SELECT coalesce(ended, started) FROM recorder WHERE kind = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2",
		    BINDS(bind_str(kind), bind_int(before)), &stmt, &err) < 0)
		return 0;
	return db_step(stmt, &err) > 0 ? db_time_ns(sqlite3_column_double(stmt, 0)) : 0;
}

bool history_has_recorder(struct history *r, pid_t pid, const char *boot_id, struct job_key job)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	struct err err;

	return history_begin(r, &scope, &err) == 0 &&
	       db_query(
		       r->db,
		       "SELECT 1 FROM recorder WHERE ended IS NULL AND pid = ?1 AND boot_id = ?2"
		       " UNION ALL SELECT 1 FROM job j JOIN recorder c ON c.id = j.recorder"
		       " WHERE j.uid = ?3 AND j.job_id = ?4 AND c.pid = ?1 AND c.boot_id = ?2",
		       BINDS(bind_int(pid), bind_str(boot_id), bind_int(job.uid), bind_str(job.id)),
		       &stmt, &err) == 0 &&
	       db_step(stmt, &err) > 0;
}
