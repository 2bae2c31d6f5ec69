/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sqlite/db_file.h"
#include "store/store_handle.h"
#include "store/sql_views.h"

/* A keyframe ends at the turn of a minute, so that its span can be made into one-minute means by
 * itself. Long ones are smaller on disk, short ones touch fewer pages each tick when much
 * changes: so it ends when the changes outweigh the full set, and at last after KEYFRAME_LONG. */
#define KEYFRAME_SHORT 48
#define KEYFRAME_LONG 240
#define CLOCK_JUMP_NS ((int64_t)(30 * NS_PER_S))
#define EVENT_NEEDS_BYTES 512
#define PROCESS_NEEDS_BYTES 128
#define KEYFRAME_CHANGES 65536 /* retention takes one keyframe at a time: this bounds its step */

/* Its times are then in order, but for what a clock is slewed. */
static bool clock_has_jumped(const struct store *st, const struct snapshot *snap)
{
	int64_t wall = (int64_t)(snap->wall_ns - st->snapshot_ns);
	int64_t boot = (int64_t)(snap->boot_ns - st->boot_ns);

	return wall - boot > CLOCK_JUMP_NS || boot - wall > CLOCK_JUMP_NS;
}

static bool needs_keyframe(const struct store *st, const struct snapshot *snap)
{
	const struct keyframe *k = &st->keyframe;
	bool is_minute = snap->wall_ns / (60 * NS_PER_S) != k->minute;

	if (!k->id || k->at >= SCHEMA_ATS - 1 || k->changes >= KEYFRAME_CHANGES ||
	    clock_has_jumped(st, snap))
		return true;
	if (!is_minute || k->at < KEYFRAME_SHORT)
		return false;
	return k->at >= KEYFRAME_LONG || k->changes >= 2 * snap->procs.len;
}

static int end_keyframe(struct store *st, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_END_KEYFRAME, err);

	if (!st->keyframe_open)
		return 0;
	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, st->keyframe_open);
	sqlite3_bind_int64(stmt, 2, st->snapshot);
	sqlite3_bind_double(stmt, 3, db_time(st->snapshot_ns));
	return db_run(stmt, err);
}

static int begin_keyframe(struct store *st, const struct snapshot *snap, int64_t snapshot,
                          struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_PUT_KEYFRAME, err);
	int64_t id = statement_int(st, Q_NEXT_KEYFRAME, err);
	int r = end_keyframe(st, err);

	if (!stmt || id < 0 || r < 0)
		return -err->code;
	st->keyframe = (struct keyframe){ .id = id };
	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_int64(stmt, 2, st->recorder);
	sqlite3_bind_null(stmt, 3);
	sqlite3_bind_int64(stmt, 4, snapshot);
	sqlite3_bind_double(stmt, 5, db_time(snap->wall_ns));
	return db_run(stmt, err);
}

static int64_t pressure_code(const char *level)
{
	for (int i = 0; level && i < SCHEMA_PRESSURES; i++)
		if (!strcmp(level, schema_pressure_names[i]))
			return i;
	return COLUMN_ABSENT;
}

void store_bind_readings(sqlite3_stmt *stmt, int index, const struct metric *table, size_t n,
                         uint64_t present, const uint64_t *value)
{
	for (size_t i = 0; i < n; i++)
		db_bind_or_null(stmt, index + (int)i,
		                present >> i & 1 ? column_value(&table[i], value[i])
		                                 : COLUMN_ABSENT);
}

static int put_snapshot(struct store *st, const struct snapshot *snap, int64_t id, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_PUT_SNAPSHOT, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_int64(stmt, 2, st->keyframe.id);
	sqlite3_bind_int64(stmt, 3, st->keyframe.at);
	sqlite3_bind_double(stmt, 4, db_time(snap->wall_ns));
	sqlite3_bind_int64(stmt, 5, st->recorder);
	sqlite3_bind_int64(stmt, 6, (int64_t)(snap->boot_ns / NS_PER_US));
	sqlite3_bind_int64(stmt, 7, (int64_t)snap->seq);
	return db_run(stmt, err);
}

static int put_host(struct store *st, const struct snapshot *snap, int64_t id, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_PUT_HOST, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, id);
	db_bind_or_null(stmt, 2,
	                snap->elapsed_ns ? (int64_t)(snap->elapsed_ns / NS_PER_US) : COLUMN_ABSENT);
	db_bind_or_null(stmt, 3,
	                snap->procs_complete || snap->procs.len ? (int64_t)snap->procs.len
	                                                        : COLUMN_ABSENT);
	sqlite3_bind_int64(stmt, 4, (int64_t)snap->zombies.len);
	sqlite3_bind_int64(stmt, 5, snap->procs_complete);
	db_bind_or_null(stmt, 6, pressure_code(snap->pressure_level));
	sqlite3_bind_int64(stmt, 7, snap->running_jobs);
	sqlite3_bind_int64(stmt, 8, snap->active_sheets);
	db_bind_or_null(stmt, 9, column_ratio(snap->cpu_busy_ratio));
	db_bind_or_null(stmt, 10, column_ratio(snap->cpu_iowait_ratio));
	db_bind_or_null(stmt, 11, column_ratio(snap->cpu_steal_ratio));
	db_bind_or_null(stmt, 12, column_ratio(snap->self_cpu_ratio));
	store_bind_readings(stmt, 13, host_metrics, HOST_METRIC_COUNT, snap->host.present,
	                    snap->host.value);
	return db_run(stmt, err);
}

static int put_cgroup(struct store *st, const struct snapshot *snap, int64_t id, struct err *err)
{
	sqlite3_stmt *stmt;

	if (!snap->cgroup.present)
		return 0;
	stmt = statement_get(st, Q_PUT_CGROUP, err);
	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, id);
	store_bind_readings(stmt, 2, cgroup_metrics, CGROUP_METRIC_COUNT, snap->cgroup.present,
	                    snap->cgroup.value);
	return db_run(stmt, err);
}

/* With the job of a brief recorder all is said: its end is part of the same transaction. */
static bool is_over(const struct store *st, size_t lives)
{
	return st->is_brief && !lives && st->jobs.len && !job_has_running(st);
}

/* What happened ahead of the next snapshot, or before the first one of a short job. */
static int put_events(struct store *st, const struct snapshot *snap, struct err *err)
{
	int r = event_put_all(st, snap, err);

	if (r == 0)
		r = job_sum_all(st, snap, err);
	if (r == 0 && is_over(st, st->live.len))
		r = recorder_finish(st, st->snapshot,
		                    st->snapshot ? st->snapshot_ns : snap->wall_ns, false, err);
	return r;
}

/* Their price is kept apart: they come as they come, however often somebody looks. */
static int put_events_of_look(struct store *st, const struct snapshot *snap, struct err *err)
{
	uint64_t begin_ns = clock_thread_cpu_ns();
	int r = event_put_all(st, snap, err);

	st->events_cpu_ns += clock_thread_cpu_ns() - begin_ns;
	return r;
}

uint64_t store_events_cpu_ns(const struct store *st)
{
	return st->events_cpu_ns;
}

static int put_rows(struct store *st, const struct snapshot *snap, int64_t *ret_id, struct err *err)
{
	int64_t id = statement_int(st, Q_NEXT_SNAPSHOT, err);
	int r = id < 0 ? (int)id : 0;

	st->next_process = 0; /* other recorders may have added some */
	if (r == 0)
		r = job_put_all(st, snap, err);
	if (r == 0)
		r = anomaly_put_all(st, snap, err);
	if (r == 0 && snap->events_only)
		return put_events(st, snap, err);
	if (r == 0 && strcmp(st->boot_id, snap->boot_id) != 0)
		r = recorder_tell_boot(st, snap->boot_id, err);
	if (r == 0 && needs_keyframe(st, snap))
		r = begin_keyframe(st, snap, id, err);
	if (r == 0)
		r = put_snapshot(st, snap, id, err);
	if (r == 0)
		r = put_host(st, snap, id, err);
	if (r == 0)
		r = put_cgroup(st, snap, id, err);
	if (r == 0)
		r = gpu_put_all(st, snap, id, err);
	if (r == 0)
		r = live_put(st, snap, id, err);
	if (r == 0)
		r = put_events_of_look(st, snap, err);
	if (r == 0)
		r = job_put_samples(st, snap, id, err);
	if (r == 0)
		r = job_sum_all(st, snap, err);
	if (r == 0 && is_over(st, snap->procs.len))
		r = recorder_finish(st, id, snap->wall_ns, false, err);
	*ret_id = id;
	return r;
}

static void commit(struct store *st, const struct snapshot *snap, int64_t id)
{
	st->to_store[0] = '\0';
	if (snap->events_only) {
		live_trim_known(st);
		st->is_finished = is_over(st, st->live.len);
		return;
	}
	memcpy(st->boot_id, snap->boot_id, sizeof st->boot_id);
	st->keyframe_open = st->keyframe.id;
	if (st->keyframe.at++ == 0)
		st->strangers_lost = 0;
	st->keyframe.minute = snap->wall_ns / (60 * NS_PER_S);
	live_commit(st);
	st->snapshot = id;
	st->snapshot_ns = snap->wall_ns;
	st->boot_ns = snap->boot_ns;
	st->is_finished = is_over(st, snap->procs.len);
}

/* Commits, and brings it to the disk if that matters. */
static int put_within(struct store *st, const struct snapshot *snap, bool durable, struct err *err)
{
	int64_t id = 0;
	int r = transaction_end(st, put_rows(st, snap, &id, err), err);

	if (r < 0) {
		job_forget(st);
		live_forget(st);
		return r;
	}
	commit(st, snap, id);
	if (!durable)
		return 0;
	r = transaction_sync(st, err);
	if (r == 0)
		job_mark_durable(st);
	return r;
}

/* With all its indexes, and log and database both. Rather too much: what is left must do for the
 * end of a job. */
static uint64_t need_bytes(const struct snapshot *snap)
{
	return snap->events.len * EVENT_NEEDS_BYTES + snap->procs.len * PROCESS_NEEDS_BYTES;
}

static int put_once(struct store *st, const struct snapshot *snap, struct err *err)
{
	uint64_t patience_ns = job_ends(st, snap) ? END_PATIENCE_NS
	                       : st->is_brief
	                               ? START_PATIENCE_NS /* a job's events do not come again */
	                               : WRITE_PATIENCE_NS;
	bool durable = job_needs_disk(st, snap);
	int r = st->db ? 0 : store_connect(st, err);

	if (r == 0 && st->has_guard && !db_file_has_room(st->path, need_bytes(snap)))
		r = err_set(err, ENOSPC, "'%s': the file system is almost full", st->path);
	if (r == 0)
		r = transaction_begin(st, patience_ns, err);
	return r < 0 ? r : put_within(st, snap, durable, err);
}

static bool needs_fresh_start(int r)
{
	return r == -EUCLEAN || r == -ESTALE;
}

int store_put(struct store *st, const struct snapshot *snap, struct err *err)
{
	int r = put_once(st, snap, err);

	if (!needs_fresh_start(r))
		return r;
	r = store_recover(st, r, err);
	return r < 0 ? r : put_once(st, snap, err);
}

static int put_gap(struct store *st, const struct store_gap *gap, struct err *err)
{
	struct event e = { .kind = EVENT_GAP,
		           .wall_ns = gap->from_ns,
		           .job = -1,
		           .count = gap->to_ns > gap->from_ns ? (int64_t)(gap->to_ns - gap->from_ns)
		                                              : 0 };
	struct buf text = { .max = 1024 };
	int r;

	if (gap->snapshots)
		buf_printf(&text, "%llu snapshot%s not stored: %s",
		           (unsigned long long)gap->snapshots,
		           gap->snapshots == 1 ? " was" : "s were", gap->reason);
	else
		buf_printf(&text, "%llu event%s not stored: %s", (unsigned long long)gap->events,
		           gap->events == 1 ? " was" : "s were", gap->reason);
	e.text.len = (uint32_t)text.len;
	r = event_put_one(st, &e, text.at, 0, 0, err);
	if (r == 0 && gap->events) {
		buf_reset(&text);
		buf_printf(&text, "not stored: %s", gap->reason);
		e.kind = EVENT_LOSS;
		e.count = (int64_t)gap->events;
		e.text.len = (uint32_t)text.len;
		r = event_put_one(st, &e, text.at, 0, 0, err);
	}
	buf_done(&text);
	return r;
}

int store_put_gap(struct store *st, const struct store_gap *gap, struct err *err)
{
	int r = st->db ? 0 : store_connect(st, err);

	if (r == 0)
		r = transaction_begin(st, WRITE_PATIENCE_NS, err);
	return r < 0 ? r : transaction_end(st, put_gap(st, gap, err), err);
}

static int put_job(struct store *st, const struct job *job, struct err *err)
{
	int r = job_put_one(st, job, err);

	if (r == 0)
		r = job_sum_one(st, job, &st->live, err);
	if (r == 0 && is_over(st, st->live.len))
		r = recorder_finish(st, st->snapshot,
		                    st->snapshot ? st->snapshot_ns : job->ended_ns, false, err);
	return r;
}

int store_put_job(struct store *st, const struct job *job, struct err *err)
{
	bool has_ended = job->status != JOB_RUNNING;
	int r = st->db ? 0 : store_connect(st, err);

	if (r == 0)
		r = transaction_begin(st, has_ended ? END_PATIENCE_NS : START_PATIENCE_NS, err);
	if (r < 0)
		return r;
	r = transaction_end(st, put_job(st, job, err), err);
	if (r < 0) {
		job_forget(st);
		return r;
	}
	st->is_finished = is_over(st, st->live.len);
	if (has_ended)
		r = transaction_sync(st, err);
	if (has_ended && r == 0)
		job_mark_durable(st);
	return r;
}
