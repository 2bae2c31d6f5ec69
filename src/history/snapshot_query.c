/* SPDX-License-Identifier: MIT */
/* A snapshot as it was: its keyframe is loaded once, and shows any of its snapshots. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history/gpu_query.h"
#include "history/history_handle.h"
#include "sqlite/schema_format.h"

/* What the snapshot's own row says. */
struct snapshot_row {
	int64_t id, kf, at;
};

static void view_done(struct keyframe_view *s)
{
	keyframe_image_done(&s->image);
	vec_done(&s->identities);
	vec_done(&s->by_pid);
	buf_done(&s->text);
	s->used = 0;
}

void history_forget_views(struct history *r)
{
	for (size_t i = 0; i < HISTORY_VIEWS; i++)
		view_done(&r->keyframe_views[i]);
}

static struct text_ref keep_text(struct keyframe_view *s, sqlite3_stmt *stmt, int column)
{
	const unsigned char *text = sqlite3_column_text(stmt, column);
	struct text_ref ref = { .at = (uint32_t)s->text.len };

	if (text && buf_put(&s->text, text, (size_t)sqlite3_column_bytes(stmt, column)))
		ref.len = (uint32_t)(s->text.len - ref.at);
	return ref;
}

static void read_identity(struct keyframe_view *s, sqlite3_stmt *stmt, struct process_identity *to)
{
	const unsigned char *comm = sqlite3_column_text(stmt, 4);

	to->id.pid = sqlite3_column_int(stmt, 0);
	to->id.start_ticks = (uint64_t)sqlite3_column_int64(stmt, 1);
	to->ppid = sqlite3_column_int(stmt, 2);
	to->uid = (uint32_t)sqlite3_column_int64(stmt, 3);
	snprintf(to->comm, sizeof to->comm, "%s", comm ? (const char *)comm : "");
	to->command = keep_text(s, stmt, 5);
	to->job = sqlite3_column_int64(stmt, 6);
	to->sheet = (uint32_t)sqlite3_column_int64(stmt, 7);
}

static int load_identities(struct history *r, struct keyframe_view *s, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int result;

	buf_printf(&sql,
	           "SELECT p.pid, p.start_ticks, p.ppid, p.uid, p.comm, p.command,"
	           " %s, p.sheet FROM sample_base b CROSS JOIN process p"
	           " ON p.id = b.proc WHERE b.id BETWEEN ?1 AND ?2 ORDER BY b.id",
	           history_has_column(r, "process", "job")
	                   ? "p.job"
	                   : "(SELECT j.id FROM job j WHERE j.job_id = p.job_id)");
	result = db_query(
		r->db, sql.at,
		BINDS(bind_int(s->image.keyframe), bind_int(s->image.keyframe + SCHEMA_SLOTS - 1)),
		&stmt, err);
	if (result < 0)
		return result;
	vec_reset(&s->identities);
	buf_reset(&s->text);
	while ((result = db_step(stmt, err)) > 0) {
		struct process_identity *p = vec_push(&s->identities, PROCS_MAX);

		if (!p)
			return err_set(err, EUCLEAN, "a keyframe with too many processes");
		read_identity(s, stmt, p);
	}
	return result;
}

static int compare_pids(const void *a, const void *b, void *identities)
{
	const struct process_identity *p = (const struct process_identity *)identities +
	                                   *(const uint32_t *)a;
	const struct process_identity *q = (const struct process_identity *)identities +
	                                   *(const uint32_t *)b;

	return (p->id.pid > q->id.pid) - (p->id.pid < q->id.pid);
}

static int load_view(struct history *r, struct keyframe_view *s, int64_t keyframe, struct err *err)
{
	int result;

	s->used = 0;
	result = keyframe_image_load(r->db, keyframe, &s->image, err);
	if (result == 0)
		result = load_identities(r, s, err);
	if (result < 0)
		return result;
	if (s->identities.len != s->image.rows.len)
		return err_set(err, EUCLEAN, "a keyframe with processes that are not there");
	vec_reset(&s->by_pid);
	for (uint32_t i = 0; i < s->identities.len; i++) {
		uint32_t *at = vec_push(&s->by_pid, PROCS_MAX);

		if (at)
			*at = i;
	}
	if (s->by_pid.len)
		qsort_r(s->by_pid.at, s->by_pid.len, sizeof *s->by_pid.at, compare_pids,
		        s->identities.at);
	return 0;
}

/* A keyframe that has ended does not change any more; one that is open is loaded again after
 * every commit. */
static int find_view(struct history *r, int64_t keyframe, struct keyframe_view **ret,
                     struct err *err)
{
	struct keyframe_view *oldest = &r->keyframe_views[0];
	int64_t version;
	int result = db_int(r->db, "PRAGMA data_version", NULL, 0, &version, err);

	if (result < 0)
		return result;
	for (size_t i = 0; i < HISTORY_VIEWS; i++) {
		struct keyframe_view *s = &r->keyframe_views[i];

		if (s->used && s->image.keyframe == keyframe &&
		    (s->image.has_ended || s->data_version == version)) {
			s->used = ++r->uses;
			*ret = s;
			return 0;
		}
		if (s->used < oldest->used || s->image.keyframe == keyframe)
			oldest = s;
	}
	result = load_view(r, oldest, keyframe, err);
	if (result < 0)
		return result;
	oldest->data_version = version;
	oldest->used = ++r->uses;
	*ret = oldest;
	return 0;
}

int history_prepare_readings(struct history *r, const char *start, const char *table,
                             const struct metric *metrics, size_t n, const char *end,
                             sqlite3_stmt **ret, struct err *err)
{
	struct buf sql = { 0 };
	int result;

	if (*ret)
		return 0;
	buf_puts(&sql, start);
	for (size_t i = 0; i < n; i++) {
		char name[COLUMN_NAME_MAX];

		column_name(&metrics[i], name);
		buf_printf(&sql, ", %s", history_has_column(r, table, name) ? name : "NULL");
	}
	buf_puts(&sql, end);
	result = db_prepare(r->db, sql.at, ret, err);
	buf_done(&sql);
	return result;
}

void history_read_readings(sqlite3_stmt *stmt, int column, const struct metric *metrics, size_t n,
                           uint64_t *present, uint64_t *value)
{
	for (size_t i = 0; i < n; i++) {
		int64_t stored = db_column_or_absent(stmt, column + (int)i);

		if (stored < 0)
			continue;
		value[i] = column_inside(&metrics[i], stored);
		*present |= UINT64_C(1) << i;
	}
}

static int read_host(struct history *r, const struct snapshot_row *row_at, struct snapshot *to,
                     struct err *err)
{
	int64_t pressure;
	int result = history_prepare_readings(r,
	                                      "SELECT elapsed_us, complete, pressure, running_jobs,"
	                                      " active_sheets, cpu, iowait, steal, self_cpu",
	                                      "host", host_metrics, HOST_METRIC_COUNT,
	                                      " FROM host WHERE id = ?", &r->host, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(r->host, 1, row_at->id);
	result = db_step(r->host, err);
	if (result <= 0)
		return result;
	to->elapsed_ns = (uint64_t)sqlite3_column_int64(r->host, 0) * NS_PER_US;
	to->procs_complete = sqlite3_column_int(r->host, 1) != 0;
	pressure = db_column_or_absent(r->host, 2);
	if (pressure >= 0 && pressure < SCHEMA_PRESSURES)
		to->pressure_level = schema_pressure_names[pressure];
	to->running_jobs = (uint32_t)sqlite3_column_int64(r->host, 3);
	to->active_sheets = (uint32_t)sqlite3_column_int64(r->host, 4);
	to->cpu_busy_ratio = column_ratio_inside(db_column_or_absent(r->host, 5));
	to->cpu_iowait_ratio = column_ratio_inside(db_column_or_absent(r->host, 6));
	to->cpu_steal_ratio = column_ratio_inside(db_column_or_absent(r->host, 7));
	to->self_cpu_ratio = column_ratio_inside(db_column_or_absent(r->host, 8));
	history_read_readings(r->host, 9, host_metrics, HOST_METRIC_COUNT, &to->host.present,
	                      to->host.value);
	sqlite3_reset(r->host);
	return 0;
}

static int read_cgroup(struct history *r, const struct snapshot_row *row_at, struct snapshot *to,
                       struct err *err)
{
	int result = history_prepare_readings(r, "SELECT id", "cgroup", cgroup_metrics,
	                                      CGROUP_METRIC_COUNT, " FROM cgroup WHERE id = ?",
	                                      &r->cgroup, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(r->cgroup, 1, row_at->id);
	result = db_step(r->cgroup, err);
	if (result > 0)
		history_read_readings(r->cgroup, 1, cgroup_metrics, CGROUP_METRIC_COUNT,
		                      &to->cgroup.present, to->cgroup.value);
	sqlite3_reset(r->cgroup);
	return MIN(result, 0);
}

static struct job *add_job(struct history *r, struct snapshot *to, int64_t row)
{
	struct job *job = vec_push(&to->jobs, JOBS_MAX);
	int64_t *at = job ? vec_push(&r->job_rows, JOBS_MAX) : NULL;

	if (!at)
		return NULL;
	*at = row;
	return job;
}

static void read_job(struct job *job, sqlite3_stmt *stmt)
{
	snprintf(job->id, sizeof job->id, "%s", (const char *)sqlite3_column_text(stmt, 1));
	snprintf(job->type, sizeof job->type, "%s", (const char *)sqlite3_column_text(stmt, 2));
	job->uid = (uint32_t)sqlite3_column_int64(stmt, 3);
	job->started_ns = db_time_ns(sqlite3_column_double(stmt, 4));
	job->total_sheets = (uint32_t)sqlite3_column_int64(stmt, 5);
	job->last_completed_sheet = (uint32_t)sqlite3_column_int64(stmt, 6);
	job->current_sheet = (uint32_t)sqlite3_column_int64(stmt, 7);
}

static int prepare_jobs(struct history *r, const char *condition, sqlite3_stmt **ret,
                        struct err *err)
{
	cleanup(buf_done) struct buf sql = { 0 };

	buf_printf(&sql,
	           "SELECT j.id, j.job_id, j.type, %s, j.started, j.total_sheets,"
	           " (SELECT max(t.num) FROM sheet t WHERE t.job = j.id AND t.status = 1"
	           " AND t.ended <= ?1),"
	           " (SELECT max(t.num) FROM sheet t WHERE t.job = j.id AND t.started <= ?1"
	           " AND (t.ended IS NULL OR t.ended > ?1)) FROM job j WHERE %s ORDER BY j.id",
	           history_has_column(r, "job", "uid") ? "j.uid" : "NULL", condition);
	static_assert(JOB_COMPLETED == 1, "the number in the text above");
	return *ret ? 0 : db_prepare(r->db, sql.at, ret, err);
}

/* Jobs that ran at that time, and their progress. */
static int read_jobs(struct history *r, struct snapshot *to, struct err *err)
{
	int result = prepare_jobs(r, "j.started <= ?1 AND (j.ended IS NULL OR j.ended >= ?1)",
	                          &r->jobs, err);

	if (result < 0)
		return result;
	vec_reset(&r->job_rows);
	sqlite3_bind_double(r->jobs, 1, db_time(to->wall_ns));
	while ((result = db_step(r->jobs, err)) > 0) {
		struct job *job = add_job(r, to, sqlite3_column_int64(r->jobs, 0));

		if (!job)
			break;
		read_job(job, r->jobs);
	}
	sqlite3_reset(r->jobs);
	return MIN(result, 0);
}

/* The index of the job in the snapshot. A process may outlive its job, which is added then. */
static int32_t job_index(struct history *r, struct snapshot *to, int64_t row)
{
	struct job *job;
	struct err ignored;

	if (!row)
		return -1;
	for (size_t i = 0; i < r->job_rows.len; i++)
		if (r->job_rows.at[i] == row)
			return (int32_t)i;
	if (prepare_jobs(r, "j.id = ?2", &r->job, &ignored) < 0)
		return -1;
	sqlite3_bind_double(r->job, 1, db_time(to->wall_ns));
	sqlite3_bind_int64(r->job, 2, row);
	job = db_step(r->job, &ignored) > 0 ? add_job(r, to, row) : NULL;
	if (job)
		read_job(job, r->job);
	sqlite3_reset(r->job);
	return job ? (int32_t)(to->jobs.len - 1) : -1;
}

static void show_cells(const struct history *r, const int64_t *cells, struct proc_snap *to)
{
	to->s.state = column_state_letter(cells[CELL_STATE]);
	to->cpu_ratio = column_ratio_inside(cells[CELL_CPU]);
	for (size_t i = 0; i < CELL_METRICS; i++) {
		uint8_t id = r->cells.id[i];

		if (cells[CELL_FIRST_METRIC + i] >= 0)
			readings_set(
				&to->s.r, id,
				column_inside(&proc_metrics[id], cells[CELL_FIRST_METRIC + i]));
	}
}

static void show_details(const struct history *r, const struct keyframe_image_detail *d,
                         struct proc_snap *to)
{
	for (size_t i = 0; d && i < DETAIL_METRICS; i++) {
		uint8_t id = r->details.id[i];

		if (d->value[i] >= 0)
			readings_set(&to->s.r, id, column_inside(&proc_metrics[id], d->value[i]));
	}
}

static void show_process(struct history *r, const struct keyframe_view *s, uint32_t index,
                         const struct snapshot_row *row_at, struct snapshot *to)
{
	const struct keyframe_image_row *row = &s->image.rows.at[index];
	const struct process_identity *who = &s->identities.at[index];
	uint64_t start_ns = who->id.start_ticks * NS_PER_TICK;
	struct proc_snap *p;
	pid_t *zombie;

	if (row_at->id < row->first || row_at->id > row->last)
		return;
	p = vec_push(&to->procs, PROCS_MAX);
	if (!p)
		return;
	p->s.id = who->id;
	p->s.ppid = who->ppid;
	p->s.uid = who->uid;
	memcpy(p->s.comm, who->comm, COMM_LEN);
	p->s.command.at = (uint32_t)to->text.len;
	if (who->command.len && buf_put(&to->text, s->text.at + who->command.at, who->command.len))
		p->s.command.len = who->command.len;
	show_cells(r, keyframe_image_cells(&s->image, row, row_at->at), p);
	show_details(r, keyframe_image_details(&s->image, row, row_at->at), p);
	p->read_bytes_per_s = p->write_bytes_per_s = NAN;
	p->age_ns = to->boot_ns > start_ns ? to->boot_ns - start_ns : 0;
	p->job = job_index(r, to, who->job);
	p->sheet = who->sheet;
	if (p->job >= 0 && p->s.state == 'Z' && (zombie = vec_push(&to->zombies, PROCS_MAX)))
		*zombie = who->id.pid;
}

static struct snapshot_row read_row(sqlite3_stmt *stmt, struct snapshot *to)
{
	const unsigned char *boot_id = sqlite3_column_text(stmt, 7);
	uint64_t started_ns = (uint64_t)sqlite3_column_int64(stmt, 8) * NS_PER_US;

	to->wall_ns = db_time_ns(sqlite3_column_double(stmt, 3));
	to->boot_ns = (uint64_t)sqlite3_column_int64(stmt, 4) * NS_PER_US;
	to->seq = (uint64_t)sqlite3_column_int64(stmt, 5);
	to->recorder_pid = sqlite3_column_int(stmt, 6);
	snprintf(to->boot_id, sizeof to->boot_id, "%s", boot_id ? (const char *)boot_id : "");
	to->uptime_ns = to->boot_ns > started_ns ? to->boot_ns - started_ns : 0;
	to->events_complete = false; /* they are read by themselves */
	to->cpu_busy_ratio = to->cpu_iowait_ratio = to->cpu_steal_ratio = to->self_cpu_ratio = NAN;
	return (struct snapshot_row){ .id = sqlite3_column_int64(stmt, 0),
		                      .kf = sqlite3_column_int64(stmt, 1),
		                      .at = sqlite3_column_int64(stmt, 2) };
}

static int show(struct history *r, const struct snapshot_row *row_at, struct snapshot *to,
                struct err *err)
{
	struct keyframe_view *s;
	int result = find_view(r, row_at->kf, &s, err);

	if (result == 0)
		result = read_host(r, row_at, to, err);
	if (result == 0)
		result = read_cgroup(r, row_at, to, err);
	if (result == 0)
		result = read_jobs(r, to, err);
	if (result < 0)
		return result;
	vec_each(&s->by_pid, index)
		show_process(r, s, *index, row_at, to);
	result = history_read_gpus(r, row_at->id, to, err);
	return result < 0 ? result : 1;
}

#define SNAPSHOT_ROWS                                                                              \
	"SELECT s.id, s.kf, s.at, s.time, s.boot_us, s.seq, r.pid, r.boot_id, r.started_boot_us"   \
	" FROM snapshot s LEFT JOIN recorder r ON r.id = s.recorder"

static int show_next(struct history *r, struct history_cursor *at, struct snapshot *ret,
                     struct err *err)
{
	struct snapshot_row row_at;
	int result = r->next ? 0
	                     : db_prepare(r->db,
	                                  SNAPSHOT_ROWS
	                                  " WHERE s.time >= ?1 AND (s.time > ?1 OR s.id > ?2)"
	                                  " ORDER BY s.time, s.id LIMIT 1",
	                                  &r->next, err);

	if (result < 0)
		return result;
	db_bind(r->next, BINDS(bind_real(db_time(at->since_ns)), bind_int(at->after_id)));
	result = db_step(r->next, err);
	if (result <= 0)
		return result;
	row_at = read_row(r->next, ret);
	sqlite3_reset(r->next);
	result = show(r, &row_at, ret, err);
	if (result < 0)
		return result;
	at->since_ns = ret->wall_ns;
	at->after_id = row_at.id;
	return result;
}

int history_next_snapshot(struct history *r, struct history_cursor *at, struct snapshot *ret,
                          struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	int result = history_begin(r, &scope, err);

	snapshot_reset(ret);
	return result < 0 ? result : show_next(r, at, ret, err);
}

static int show_one(struct history *r, int64_t id, struct snapshot *ret, struct err *err)
{
	struct snapshot_row row_at;
	int result = r->get ? 0 : db_prepare(r->db, SNAPSHOT_ROWS " WHERE s.id = ?1", &r->get, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(r->get, 1, id);
	result = db_step(r->get, err);
	if (result == 0)
		return err_set(err, ENOENT, "no snapshot %lld", (long long)id);
	if (result < 0)
		return result;
	row_at = read_row(r->get, ret);
	sqlite3_reset(r->get);
	return MIN(show(r, &row_at, ret, err), 0);
}

int history_get_snapshot(struct history *r, int64_t id, struct snapshot *ret, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	int result = history_begin(r, &scope, err);

	snapshot_reset(ret);
	return result < 0 ? result : show_one(r, id, ret, err);
}
