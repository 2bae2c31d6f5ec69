/* SPDX-License-Identifier: MIT */
/* A snapshot as it was: its keyframe is loaded once, and shows any of its snapshots. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history/history_handle.h"
#include "sqlite/record_column.h"
#include "schema/schema_format.h"

/* The place of a snapshot in its keyframe. */
struct snapshot_row {
	int64_t id, kf, at, recorder;
	double time;
	bool is_minute; /* it stands for a minute */
	const struct keyframe_content_moment
		*before; /* in the same keyframe; NULL: it is the first */
};

static void view_done(struct keyframe_view *s)
{
	keyframe_content_done(&s->content);
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

#define RECORD struct process_identity
static const struct field identity_rows[] = {
	{ "p.pid", FIELD(NUMBER, id.pid) }, { "p.start_ticks", FIELD(NUMBER, id.start_ticks) },
	{ "p.ppid", FIELD(ORDINAL, ppid) }, { "p.uid", FIELD(NUMBER, uid) },
	{ "p.comm", FIELD(TEXT, comm) },    { "p.sheet", FIELD(ORDINAL, sheet) },
};
static const struct field_table identity_columns = FIELD_TABLE(identity_rows);
#undef RECORD

static void read_identity(struct keyframe_view *s, sqlite3_stmt *stmt, struct process_identity *to)
{
	int column = (int)identity_columns.n;
	const unsigned char *command = sqlite3_column_text(stmt, column + 1);

	record_columns_read(stmt, 0, &identity_columns, to);
	to->job = sqlite3_column_int64(stmt, column);
	to->command.at = (uint32_t)s->text.len;
	if (command && buf_put(&s->text, command, (size_t)sqlite3_column_bytes(stmt, column + 1)))
		to->command.len = (uint32_t)(s->text.len - to->command.at);
}

static int load_identities(struct history *r, struct keyframe_view *s, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf sql = { 0 };
	int result;

	buf_puts(&sql, "SELECT ");
	record_columns_select(&sql, &identity_columns);
	buf_printf(&sql,
	           ", %s, p.command FROM sample_base b CROSS JOIN process p"
	           " ON p.id = b.proc WHERE b.id BETWEEN ?1 AND ?2 ORDER BY b.id",
	           db_has_column(r->db, "process", "job")
	                   ? "p.job"
	                   : "(SELECT j.id FROM job j WHERE j.job_id = p.job_id)");
	result = db_query(r->db, sql.at,
	                  BINDS(bind_int(s->content.keyframe),
	                        bind_int(s->content.keyframe + SCHEMA_SLOTS - 1)),
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
	result = keyframe_content_load(r->db, keyframe, &s->content, err);
	if (result == 0)
		result = load_identities(r, s, err);
	if (result < 0)
		return result;
	if (s->identities.len != s->content.rows.len)
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

		if (s->used && s->content.keyframe == keyframe &&
		    (s->content.has_ended || s->data_version == version)) {
			s->used = ++r->uses;
			*ret = s;
			return 0;
		}
		if (s->used < oldest->used || s->content.keyframe == keyframe)
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

/* start, the column of each metric (NULL where this store has none), end; once, into *ret. */
static int prepare_readings(struct history *r, const char *start, const char *table,
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
		buf_printf(&sql, ", %s", db_has_column(r->db, table, name) ? name : "NULL");
	}
	buf_puts(&sql, end);
	result = db_prepare(r->db, sql.at, ret, err);
	buf_done(&sql);
	return result;
}

/* Values by their table, from this column on. */
static void read_readings(sqlite3_stmt *stmt, int column, const struct metric *metrics, size_t n,
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

#define RECORD struct snapshot
static const struct field host_rows[] = {
	{ "elapsed_us", FIELD(ORDINAL, elapsed_ns), .unit = UNIT_NS },
	{ "complete", FIELD(BOOL, procs_complete) },
	{ "running_jobs", FIELD(NUMBER, running_jobs) },
	{ "active_sheets", FIELD(NUMBER, active_sheets) },
	{ "cpu", FIELD(RATIO, cpu_busy_ratio) },
	{ "iowait", FIELD(RATIO, cpu_iowait_ratio) },
	{ "steal", FIELD(RATIO, cpu_steal_ratio) },
	{ "self_cpu", FIELD(RATIO, self_cpu_ratio) },
};
static const struct field_table host_columns = FIELD_TABLE(host_rows);
#undef RECORD

static int read_host(struct history *r, int64_t snapshot, struct snapshot *to, struct err *err)
{
	cleanup(buf_done) struct buf start = { 0 };
	int column = (int)host_columns.n, result;
	int64_t pressure;

	buf_puts(&start, "SELECT ");
	record_columns_select(&start, &host_columns);
	buf_puts(&start, ", pressure");
	result = prepare_readings(r, start.at, "host", host_metrics, HOST_METRIC_COUNT,
	                          " FROM host WHERE id = ?", &r->host, err);
	if (result < 0)
		return result;
	sqlite3_bind_int64(r->host, 1, snapshot);
	result = db_step(r->host, err);
	if (result <= 0)
		return result;
	record_columns_read(r->host, 0, &host_columns, to);
	pressure = db_column_or_absent(r->host, column);
	if (pressure >= 0 && pressure < SCHEMA_PRESSURES)
		to->pressure_level = schema_pressure_names[pressure];
	read_readings(r->host, column + 1, host_metrics, HOST_METRIC_COUNT, &to->host.present,
	              to->host.value);
	sqlite3_reset(r->host);
	return 0;
}

/* Counters of the machine are stored, and a share of time needs two of them: those of the snapshot before. A minute has the counters of
 * its first snapshot, so its share ends with those of the next minute. */
static int read_beside(struct history *r, const struct snapshot_row *row_at,
                       const struct snapshot *to, struct host_readings *ret, uint64_t *ret_boot_ns,
                       struct err *err)
{
	double window_s = 2 + 2 * (double)to->elapsed_ns / 1e9;
	int result = prepare_readings(
		r, "SELECT s.boot_us", "host", host_metrics, HOST_METRIC_COUNT,
		" FROM snapshot s JOIN host h ON h.id = s.id WHERE s.time BETWEEN ?1 AND ?2 AND s.recorder = ?3"
		" AND (s.boot_us - ?4) * ?5 > 0 ORDER BY (s.boot_us - ?4) * ?5 LIMIT 1",
		&r->beside, err);

	if (result < 0)
		return result;
	db_bind(r->beside,
	        BINDS(bind_real(row_at->time - (row_at->is_minute ? 0 : window_s)),
	              bind_real(row_at->time + (row_at->is_minute ? window_s : 0)),
	              bind_int(row_at->recorder), bind_int((int64_t)(to->boot_ns / NS_PER_US)),
	              bind_int(row_at->is_minute ? 1 : -1)));
	result = db_step(r->beside, err);
	if (result > 0) {
		*ret_boot_ns = (uint64_t)sqlite3_column_int64(r->beside, 0) * NS_PER_US;
		read_readings(r->beside, 1, host_metrics, HOST_METRIC_COUNT, &ret->present,
		              ret->value);
	}
	sqlite3_reset(r->beside);
	return result;
}

static int read_stalls(struct history *r, const struct snapshot_row *row_at, struct snapshot *to,
                       struct err *err)
{
	const struct host_readings *first = &to->host, *last = &to->host;
	struct host_readings beside = { 0 };
	uint64_t boot_ns = 0;
	int result = to->elapsed_ns ? read_beside(r, row_at, to, &beside, &boot_ns, err) : 0;

	if (result <= 0)
		return result;
	if (row_at->is_minute)
		last = &beside;
	else
		first = &beside;
	snapshot_set_stalls(to, first, last,
	                    boot_ns > to->boot_ns ? boot_ns - to->boot_ns : to->boot_ns - boot_ns);
	return 0;
}

static int read_cgroup(struct history *r, int64_t snapshot, struct snapshot *to, struct err *err)
{
	int result = prepare_readings(r, "SELECT id", "cgroup", cgroup_metrics, CGROUP_METRIC_COUNT,
	                              " FROM cgroup WHERE id = ?", &r->cgroup, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(r->cgroup, 1, snapshot);
	result = db_step(r->cgroup, err);
	if (result > 0)
		read_readings(r->cgroup, 1, cgroup_metrics, CGROUP_METRIC_COUNT,
		              &to->cgroup.present, to->cgroup.value);
	sqlite3_reset(r->cgroup);
	return MIN(result, 0);
}

#define RECORD struct job
#define RAN_THEN                                                                                   \
	" FROM sheet t WHERE t.job = j.id AND t.started <= ?1"                                     \
	" AND (t.ended IS NULL OR t.ended > ?1))"
static const struct field job_rows[] = {
	{ "j.job_id", FIELD(CHARS, id) },
	{ "j.type", FIELD(CHARS, type) },
	{ "j.started", FIELD(ORDINAL, started_ns), .unit = UNIT_NS },
	{ "j.total_sheets", FIELD(ORDINAL, total_sheets) },
	{ "(SELECT max(t.num) FROM sheet t WHERE t.job = j.id AND t.status = 1 AND t.ended <= ?1)",
	  FIELD(NUMBER, last_completed_sheet) },
	{ "(SELECT max(t.num)" RAN_THEN, FIELD(NUMBER, current_sheet) },
	{ "(SELECT count(*)" RAN_THEN, FIELD(NUMBER, running_sheets) },
	{ "uid", FIELD(NUMBER, uid) }, /* not in all versions */
};
static const struct field_table job_columns_then = FIELD_TABLE(job_rows);
static_assert(JOB_COMPLETED == 1, "the number in the text above");
#undef RAN_THEN
#undef RECORD

static int prepare_jobs(struct history *r, const char *condition, sqlite3_stmt **ret,
                        struct err *err)
{
	cleanup(buf_done) struct buf sql = { 0 };

	if (*ret)
		return 0;
	buf_puts(&sql, "SELECT ");
	record_columns_select(&sql,
	                      &(const struct field_table){ job_rows, job_columns_then.n - 1 });
	buf_printf(&sql, ", %s, j.id FROM job j WHERE %s ORDER BY j.id",
	           db_has_column(r->db, "job", "uid") ? "j.uid" : "NULL", condition);
	return db_prepare(r->db, sql.at, ret, err);
}

static bool add_job(struct history *r, sqlite3_stmt *stmt, struct snapshot *to)
{
	struct job *job = vec_push(&to->jobs, JOBS_MAX);
	int64_t *row = job ? vec_push(&r->job_rows, JOBS_MAX) : NULL;

	if (!row)
		return false;
	record_columns_read(stmt, 0, &job_columns_then, job);
	*row = sqlite3_column_int64(stmt, (int)job_columns_then.n);
	return true;
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
	while ((result = db_step(r->jobs, err)) > 0)
		if (!add_job(r, r->jobs, to))
			break;
	sqlite3_reset(r->jobs);
	return MIN(result, 0);
}

/* The index of the job in the snapshot. A process may outlive its job, which is added then. */
static int32_t job_index(struct history *r, struct snapshot *to, int64_t row)
{
	struct err ignored;
	bool found;

	if (!row)
		return -1;
	for (size_t i = 0; i < r->job_rows.len; i++)
		if (r->job_rows.at[i] == row)
			return (int32_t)i;
	if (prepare_jobs(r, "j.id = ?2", &r->job, &ignored) < 0)
		return -1;
	db_bind(r->job, BINDS(bind_real(db_time(to->wall_ns)), bind_int(row)));
	found = db_step(r->job, &ignored) > 0 && add_job(r, r->job, to);
	sqlite3_reset(r->job);
	return found ? (int32_t)(to->jobs.len - 1) : -1;
}

/* By the metrics of the set, from their stored integers. */
static void show_values(const struct column_set *set, const int64_t *values, struct proc_snap *to)
{
	for (size_t i = 0; i < set->n; i++)
		if (values[i] >= 0)
			readings_set(&to->s.r, set->id[i],
			             column_inside(&set->metrics[set->id[i]], values[i]));
}

/* The rate since the moment before of a counter that is stored whenever it changes; NAN: not known.
 * A minute has the counter's value at its end. */
static double detail_rate(const struct history *r, const struct keyframe_view *s,
                          const struct keyframe_content_row *row, const struct snapshot_row *row_at,
                          uint64_t minute_ns, enum proc_metric id)
{
	const struct keyframe_content_moment *before = row_at->before;
	const struct keyframe_content_detail *then, *now;

	if (!before || before->snapshot < row->first)
		return NAN;
	then = keyframe_content_details(&s->content, row, before->at);
	now = keyframe_content_details(&s->content, row, row_at->at);
	for (size_t i = 0; then && now && i < r->details.n; i++)
		if (r->details.id[i] == id && then->value[i] >= 0 && now->value[i] >= 0)
			return metric_rate_per_s(
				(uint64_t)then->value[i], (uint64_t)now->value[i],
				row_at->is_minute
					? minute_ns
					: (uint64_t)((row_at->time - before->time) * 1e9));
	return NAN;
}

static void show_process(struct history *r, const struct keyframe_view *s, uint32_t index,
                         const struct snapshot_row *row_at, struct snapshot *to)
{
	const struct keyframe_content_row *row = &s->content.rows.at[index];
	const struct process_identity *identity = &s->identities.at[index];
	const int64_t *cells = keyframe_content_cells(&s->content, row, row_at->at);
	const struct keyframe_content_detail *detail = keyframe_content_details(&s->content, row,
	                                                                        row_at->at);
	uint64_t start_ns = identity->id.start_ticks * NS_PER_TICK;
	struct proc_snap *p;
	pid_t *zombie;

	if (row_at->id < row->first || row_at->id > row->last)
		return;
	p = vec_push(&to->procs, PROCS_MAX);
	if (!p)
		return;
	p->s.id = identity->id;
	p->s.ppid = identity->ppid;
	p->s.uid = identity->uid;
	memcpy(p->s.comm, identity->comm, COMM_LEN);
	p->s.command.at = (uint32_t)to->text.len;
	if (identity->command.len &&
	    buf_put(&to->text, s->text.at + identity->command.at, identity->command.len))
		p->s.command.len = identity->command.len;
	p->s.state = column_state_letter(cells[CELL_STATE]);
	p->cpu_ratio = column_ratio_inside(cells[CELL_CPU]);
	show_values(&r->cells, cells + CELL_FIRST_METRIC, p);
	if (detail)
		show_values(&r->details, detail->value, p);
	p->read_bytes_per_s = detail_rate(r, s, row, row_at, to->elapsed_ns, PROC_READ_BYTES);
	p->write_bytes_per_s = detail_rate(r, s, row, row_at, to->elapsed_ns, PROC_WRITE_BYTES);
	p->age_ns = to->boot_ns > start_ns ? to->boot_ns - start_ns : 0;
	p->job = job_index(r, to, identity->job);
	p->sheet = cells[CELL_SHEET] < 0 ? identity->sheet : (uint32_t)cells[CELL_SHEET];
	if (p->job >= 0 && p->s.state == 'Z' && (zombie = vec_push(&to->zombies, PROCS_MAX)))
		*zombie = identity->id.pid;
}

#define RECORD struct gpu_sample
static const struct field gpu_rows[] = {
	{ "t.gpu", FIELD(NUMBER, index) },
	{ "d.name", FIELD(TEXT, name) },
	{ "d.uuid", FIELD(TEXT, uuid) },
};
static const struct field_table gpu_columns = FIELD_TABLE(gpu_rows);
#undef RECORD

static int read_devices(struct history *r, int64_t snapshot, struct snapshot *to, struct err *err)
{
	int result = prepare_readings(r, "SELECT t.gpu, d.name, d.uuid", "gpu", gpu_metrics,
	                              GPU_METRIC_COUNT,
	                              " FROM gpu t LEFT JOIN gpu_device d ON d.id = t.device"
	                              " WHERE t.snapshot = ? ORDER BY t.gpu",
	                              &r->gpus, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(r->gpus, 1, snapshot);
	while ((result = db_step(r->gpus, err)) > 0) {
		struct gpu_sample *gpu = vec_push(&to->gpus, GPUS_MAX);

		if (!gpu)
			break;
		record_columns_read(r->gpus, 0, &gpu_columns, gpu);
		read_readings(r->gpus, 3, gpu_metrics, GPU_METRIC_COUNT, &gpu->r.present,
		              gpu->r.value);
	}
	sqlite3_reset(r->gpus);
	return MIN(result, 0);
}

static bool find_gpu(const struct snapshot *snap, int64_t index, uint32_t *ret)
{
	for (size_t i = 0; i < snap->gpus.len; i++)
		if (snap->gpus.at[i].index == index) {
			*ret = (uint32_t)i;
			return true;
		}
	return false;
}

/* A process is its pid and its start. */
static void find_job(const struct snapshot *snap, struct gpu_use *use)
{
	const struct proc_snap *p = snapshot_find(snap, use->id.pid);

	use->job = -1;
	if (!p || use->has_host_pid || !proc_id_eq(p->s.id, use->id))
		return;
	use->job = p->job;
	use->sheet = p->sheet;
}

static int read_uses(struct history *r, int64_t snapshot, struct snapshot *to, struct err *err)
{
	int result = prepare_readings(r, "SELECT t.gpu, t.pid, t.start_ticks, t.is_foreign",
	                              "gpu_use", gpu_use_metrics, GPU_USE_METRIC_COUNT,
	                              " FROM gpu_use t WHERE t.snapshot = ? ORDER BY t.gpu, t.pid",
	                              &r->gpu_uses, err);
	uint32_t gpu;

	if (result < 0)
		return result;
	sqlite3_bind_int64(r->gpu_uses, 1, snapshot);
	while ((result = db_step(r->gpu_uses, err)) > 0) {
		struct gpu_use *use = find_gpu(to, sqlite3_column_int64(r->gpu_uses, 0), &gpu)
		                              ? vec_push(&to->gpu_uses, GPU_USES_MAX)
		                              : NULL;

		if (!use)
			continue;
		use->gpu = gpu;
		use->id.pid = sqlite3_column_int(r->gpu_uses, 1);
		use->id.start_ticks = (uint64_t)sqlite3_column_int64(r->gpu_uses, 2);
		use->has_host_pid = sqlite3_column_int(r->gpu_uses, 3) != 0;
		read_readings(r->gpu_uses, 4, gpu_use_metrics, GPU_USE_METRIC_COUNT,
		              &use->r.present, use->r.value);
		find_job(to, use);
	}
	sqlite3_reset(r->gpu_uses);
	return MIN(result, 0);
}

/* Into a snapshot that has its processes already: a use belongs to the job of its process. */
static int read_gpus(struct history *r, int64_t snapshot, struct snapshot *to, struct err *err)
{
	int result;

	if (!r->gpus && !db_has_column(r->db, "gpu", "device"))
		return 0; /* no recorder has brought it up to date */
	result = read_devices(r, snapshot, to, err);
	return result < 0 || !to->gpus.len ? result : read_uses(r, snapshot, to, err);
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
	to->psi_cpu_ratio = to->psi_mem_ratio = to->psi_io_ratio = NAN;
	return (struct snapshot_row){ .id = sqlite3_column_int64(stmt, 0),
		                      .kf = sqlite3_column_int64(stmt, 1),
		                      .at = sqlite3_column_int64(stmt, 2),
		                      .time = sqlite3_column_double(stmt, 3),
		                      .recorder = sqlite3_column_int64(stmt, 9),
		                      .is_minute = sqlite3_column_type(stmt, 10) != SQLITE_NULL };
}

static const struct keyframe_content_moment *moment_before(const struct keyframe_content *kf,
                                                           int64_t at)
{
	const struct keyframe_content_moment *before = NULL;

	vec_each(&kf->moments, m)
		if (m->at < at)
			before = m;
	return before;
}

static int show(struct history *r, struct snapshot_row *row_at, struct snapshot *to,
                struct err *err)
{
	struct keyframe_view *s;
	int result = find_view(r, row_at->kf, &s, err);

	if (result == 0)
		result = read_host(r, row_at->id, to, err);
	if (result == 0)
		result = read_stalls(r, row_at, to, err);
	if (result == 0)
		result = read_cgroup(r, row_at->id, to, err);
	if (result == 0)
		result = read_jobs(r, to, err);
	if (result < 0)
		return result;
	row_at->before = moment_before(&s->content, row_at->at);
	vec_each(&s->by_pid, index)
		show_process(r, s, *index, row_at, to);
	result = read_gpus(r, row_at->id, to, err);
	return result < 0 ? result : 1;
}

#define SNAPSHOT_ROW                                                                               \
	"SELECT s.id, s.kf, s.at, s.time, s.boot_us, s.seq, r.pid, r.boot_id, r.started_boot_us,"  \
	" s.recorder, s.resolution"

/* The snapshot that the statement finds. */
static int show_found(struct history *r, sqlite3_stmt *stmt, struct history_cursor *at,
                      struct snapshot *ret, struct err *err)
{
	struct snapshot_row row_at;
	int result = db_step(stmt, err);

	if (result <= 0)
		return result;
	row_at = read_row(stmt, ret);
	sqlite3_reset(stmt);
	result = show(r, &row_at, ret, err);
	if (result < 0)
		return result;
	at->since_ns = ret->wall_ns;
	at->after_id = row_at.id;
	return result;
}

static int show_next(struct history *r, struct history_cursor *at, struct snapshot *ret,
                     struct err *err)
{
	int result = 0;

	if (!r->next)
		result = db_prepare(r->db,
		                    SNAPSHOT_ROW
		                    " FROM snapshot s LEFT JOIN recorder r ON r.id = s.recorder"
		                    " WHERE s.time >= ?1 AND (s.time > ?1 OR s.id > ?2)"
		                    " ORDER BY s.time, s.id LIMIT 1",
		                    &r->next, err);
	if (result < 0)
		return result;
	db_bind(r->next, BINDS(bind_real(db_time(at->since_ns)), bind_int(at->after_id)));
	return show_found(r, r->next, at, ret, err);
}

int history_next_snapshot(struct history *r, struct history_cursor *at, struct snapshot *ret,
                          struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	int result = history_begin(r, &scope, err);

	snapshot_reset(ret);
	return result < 0 ? result : show_next(r, at, ret, err);
}

int history_next_job_snapshot(struct history *r, struct job_key key, struct history_cursor *at,
                              struct snapshot *ret, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int result = history_begin(r, &scope, err);

	snapshot_reset(ret);
	if (result < 0 || !db_has_column(r->db, "job_sample", "job"))
		return result;
	result = history_prepare_for_job(
		r,
		SNAPSHOT_ROW " FROM job j CROSS JOIN job_sample m ON m.snapshot > ?2"
			     " AND m.snapshot >= j.first_snapshot AND m.snapshot <="
			     " coalesce(j.last_snapshot, 9223372036854775807) AND m.job = j.id"
			     " CROSS JOIN snapshot s ON s.id = m.snapshot"
			     " LEFT JOIN recorder r ON r.id = s.recorder"
			     " WHERE j.id = ?1 ORDER BY m.snapshot LIMIT 1",
		key, &stmt, err);
	if (result < 0)
		return result;
	sqlite3_bind_int64(stmt, 2, at->after_id);
	return show_found(r, stmt, at, ret, err);
}
