/* SPDX-License-Identifier: MIT */
/* store.h - durable history of snapshots, events and jobs in one SQLite file. A handle is one
 * recorder; several may write into one database, each with its own handle. Readers open their
 * own (history.h, sql_query.h). A handle belongs to one thread at a time. docs/store.md describes
 * the schema. */
#pragma once

#include "base/err.h"
#include "model/past_run.h"
#include "model/pattern.h"
#include "model/snapshot.h"

struct store;

struct store_options {
	const char *path; /* of the database; its directory must exist */
	const char *kind; /* for the recorder's row; NULL: "record" */
	bool is_owner;    /* a daemon: holds owner.lock for life; -EBUSY names the holder */
	bool is_brief;    /* for a job that may be very short: opens and closes as fast as it can,
	                         and leaves maintenance to others */
	bool has_rollback_journal; /* instead of a write-ahead log, which needs shared memory: on a
	                              network file system */
	uint64_t interval_ns;      /* for the recorder's row */
	/* Called often while an older store is brought up to date, which may take long; NULL: not. */
	void (*while_updating)(void *self);
	void *updating_self;
	bool no_guard;             /* tests: write up to the last byte of the disk */
};

struct store_retention {
	uint64_t full_resolution_ns;
	uint64_t downsampled_ns;
	uint64_t events_ns;
};

/* Opens or creates. A corrupt file is set aside and a new one begun: *ret_notice then reports it
 * (owned by the store until the next call), else it is NULL. Not ours: -EINVAL, untouched. One
 * of a newer schema is left alone too, and so is an older one while a recorder of its version is
 * alive: then a side file is used, which the next recorder that can imports. */
int store_open(const struct store_options *options, struct store **ret, const char **ret_notice,
               struct err *err) must_check;
/* Whether the side file (side_store.h) is in use. */
bool store_is_side(const struct store *st);
void store_close(struct store *st); /* checkpoints; NULL is fine */
DEFINE_CLEANUP(struct store *, store_close)

/* One transaction: snapshot, changed processes, events, jobs and sheets (or with snap->events_only
 * just the latter three). When it returns, the end of a job is on disk; the start of one
 * survives our death, and a power cut from store_sync() on. On failure nothing was written and the handle is still good:
 *   -ENOSPC  the disk is full (or nearly: less than 256 MiB and 1 % are free)
 *   -EBUSY   others have been writing for half a second, or for half a minute when a job ends */
int store_put(struct store *st, const struct snapshot *snap, struct err *err) must_check;
/* Counts of what was left out of users above their quota (store_quota.h). */
struct store_left_out {
	uint64_t samples, events, processes;
};
struct store_left_out store_left_out(const struct store *st);
/* When the start of a job has to be brought to the disk (monotonic); 0: none waits for that. */
uint64_t store_sync_due_ns(const struct store *st);
int store_sync(struct store *st, struct err *err) must_check;
/* CPU time that was spent on the events of snapshots since it was opened. */
uint64_t store_events_cpu_ns(const struct store *st);
/* Commits the recorder's row, with the boot, ahead of what it will store: others can then see who
 * writes here. */
int store_introduce(struct store *st, const char *boot_id, struct err *err) must_check;
const char *store_path(const struct store *st); /* of the file in use */
/* Snapshots that could not be stored. */
struct store_gap {
	uint64_t from_ns, to_ns; /* wall clock */
	uint64_t snapshots, events;
	const char *reason;
};
/* Records it, with the reason. */
int store_put_gap(struct store *st, const struct store_gap *gap, struct err *err) must_check;
/* A job's row. The end of a job is on the disk when this returns. It needs little room, and takes it
 * from what store_put() leaves free. `gap`: what could not be stored before it, noted in the row; NULL:
 * nothing. */
int store_put_job(struct store *st, const struct job *job, const struct store_gap *gap,
                  struct err *err) must_check;
/* Reserves the id among the jobs of this user: one that exists already, or that another recorder has
 * claimed, becomes ID.2, ID.3 …, and *ret_changed is set. One small transaction, without waiting for the disk. */
int store_claim_job_id(struct store *st, uint32_t uid, char id[JOB_ID_MAX], bool *ret_changed,
                       struct err *err) must_check;

/* Counts of the rows that store_remove_job() deleted. */
struct store_removed {
	uint64_t processes, rows;
};
/* Deletes a job that has ended with its processes, samples, events, sheets and anomalies, in one
 * transaction. Processes that still live are in no job afterwards. -ENOENT: there is no such job; -EBUSY:
 * it runs, or others have been writing for ten seconds. */
int store_remove_job(struct store *st, struct job_key key, struct store_removed *ret,
                     struct err *err) must_check;

/* Stores runs that were imported for this user, in one transaction. *ret_new: those that were not there yet. */
int store_import_runs(struct store *st, const struct past_run *runs, size_t n, uint32_t uid,
                      uint64_t *ret_new, struct err *err) must_check;

/* Stores what an analysis found, and retires what it contradicts, in one transaction. */
int store_update_patterns(struct store *st, const struct pattern *list, size_t n, struct err *err)
	must_check;

/* Reports what happened to the file since the last call (set aside, replaced under us and opened
 * anew), or NULL. */
const char *store_take_notice(struct store *st);

/* One small step of retention, a few milliseconds: *ret_more: whether to call again soon. A
 * wall clock that jumped ahead makes nothing old at once: from one run to the next, time goes on
 * by what the boot clock counted, and an hour. */
int store_retain_step(struct store *st, const struct store_retention *keep, uint64_t wall_ns,
                      uint64_t boot_ns, bool *ret_more, struct err *err) must_check;
