/* SPDX-License-Identifier: MIT */
/* Transactions of the writer: each walks the list of tables. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "sqlite/db_file.h"
#include "store/recorder_table.h"
#include "store/store_handle.h"
#include "store/transaction.h"

#define EVENT_NEEDS_BYTES 512
#define PROCESS_NEEDS_BYTES 128
/* A very short job waits for the disk once, at its end. The start of a longer one is on disk within half a
 * second, if the disk is not slow. */
#define START_DURABLE_NS (400 * NS_PER_MS)

static int put_tables(struct store *st, const struct snapshot *snap, struct err *err)
{
	int r = 0;

	st->processes.next_process = 0; /* other recorders may have added some */
	store_quota_begin(st, snap);
	for (size_t i = 0; r == 0 && i < store_table_count; i++)
		if (store_tables[i]->put && (store_tables[i]->on_flush || !snap->events_only))
			r = store_tables[i]->put(st, snap, err);
	for (size_t i = 0; r == 0 && i < store_table_count; i++)
		if (store_tables[i]->finish)
			r = store_tables[i]->finish(st, snap, err);
	return r;
}

static void commit(struct store *st, const struct snapshot *snap)
{
	st->own_event[0] = '\0';
	store_quota_commit(st);
	if (snap->events_only) {
		live_processes_trim_known(st);
	} else {
		memcpy(st->boot_id, snap->boot_id, sizeof st->boot_id);
		snapshot_table_commit(st, snap);
		live_processes_commit(st);
	}
	st->is_finished = recorder_table_is_over(st, st->processes.live.len);
}

uint64_t store_sync_due_ns(const struct store *st)
{
	return st->sync_due_ns;
}

int store_sync(struct store *st, struct err *err)
{
	int r = transaction_sync(st, err);

	if (r == 0)
		job_table_mark_durable(st);
	st->sync_due_ns = r == 0 ? 0 : clock_mono_ns() + NS_PER_S;
	return r;
}

/* Commits, and waits for the disk if it must be durable. */
static int put_within(struct store *st, const struct snapshot *snap, bool durable, struct err *err)
{
	int r = transaction_end(st, put_tables(st, snap, err), err);

	if (r < 0) {
		job_table_roll_back(st);
		live_processes_roll_back(st);
		return r;
	}
	commit(st, snap);
	if (durable)
		return store_sync(st, err);
	if (!st->sync_due_ns && job_table_has_volatile(st))
		st->sync_due_ns = clock_mono_ns() + START_DURABLE_NS;
	return 0;
}

/* With all indexes, in the log and in the database. Rather too much: what is left must suffice for
 * the end of a job. */
static uint64_t need_bytes(const struct snapshot *snap)
{
	return snap->events.len * EVENT_NEEDS_BYTES + snap->procs.len * PROCESS_NEEDS_BYTES;
}

static int put_once(struct store *st, const struct snapshot *snap, struct err *err)
{
	bool durable = job_table_ends(st, snap);
	uint64_t patience_ns = durable ? TRANSACTION_END_NS
	                       : st->is_brief
	                               ? TRANSACTION_START_NS /* a job's events do not come again */
	                               : TRANSACTION_WRITE_NS;
	int r = 0;

	if (st->has_guard && !db_file_has_room(st->path, need_bytes(snap)))
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

struct store_left_out store_left_out(const struct store *st)
{
	return store_quota_left_out(&st->quotas);
}

int store_put_gap(struct store *st, const struct store_gap *gap, struct err *err)
{
	int r = transaction_begin(st, TRANSACTION_WRITE_NS, err);

	return r < 0 ? r : transaction_end(st, event_table_put_gap(st, gap, err), err);
}

/* There may be no room for the gap's own row: then the job's row alone shows that events are missing. */
static struct job with_gap(const struct job *job, const struct store_gap *gap)
{
	struct job noted = *job;
	size_t len = strnlen(noted.tier, sizeof noted.tier);

	if (gap && gap->events)
		snprintf(noted.tier + len, sizeof noted.tier - len,
		         "%s%" PRIu64 " events not stored", len ? ", " : "", gap->events);
	return noted;
}

static int put_job(struct store *st, const struct job *job, struct err *err)
{
	const struct snapshots_put *s = &st->snapshots;
	int r = job_table_put_one(st, job, err);

	if (r == 0)
		r = job_table_sum(st, job, &st->processes.live, err);
	if (r == 0 && recorder_table_is_over(st, st->processes.live.len))
		r = recorder_table_end(st, s->last, s->last ? s->wall_ns : job->ended_ns, false,
		                       err);
	return r;
}

int store_put_job(struct store *st, const struct job *job, const struct store_gap *gap,
                  struct err *err)
{
	struct job noted = with_gap(job, gap);
	bool has_ended = job->status != JOB_RUNNING;
	int r = transaction_begin(st, has_ended ? TRANSACTION_END_NS : TRANSACTION_START_NS, err);

	if (r < 0)
		return r;
	r = transaction_end(st, put_job(st, &noted, err), err);
	if (r < 0) {
		job_table_roll_back(st);
		return r;
	}
	st->is_finished = recorder_table_is_over(st, st->processes.live.len);
	return has_ended ? store_sync(st, err) : 0;
}
