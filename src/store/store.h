/* SPDX-License-Identifier: MIT */
/* store.h - durable history of snapshots, events and jobs in one SQLite file. One handle writes; readers open their own
 * (store/read.h, store/sql.h). A handle belongs to one thread at a time. The schema is told in docs/store.md. */
#pragma once

#include "model/snapshot.h"

struct store;

struct store_options {
	const char *path;        /* of the database; its directory must exist */
	bool        is_owner;    /* a daemon: holds owner.lock for its life; -EBUSY names the one that has it */
	uint64_t    interval_ns; /* told in the recorder's row */
	bool        no_guard;    /* tests: write up to the last byte of the disk */
};

struct store_retention {
	uint64_t full_resolution_ns;
	uint64_t downsampled_ns;
	uint64_t events_ns;
};

/* Opens or creates. A corrupt file is set aside and a new one begun: *ret_notice then says so (static or owned by the
 * store until the next call), else it is NULL. Not ours or newer: -EINVAL, untouched. */
int  store_open(const struct store_options *options, struct store **ret, const char **ret_notice, struct err *err) must_check;
void store_close(struct store *st); /* checkpoints; NULL is fine */
DEFINE_CLEANUP(struct store *, store_close)

/* One transaction: snapshot, changed processes, events. -ENOSPC: the disk is full (or nearly: less than 256 MiB and 1 % are
 * free), nothing was written and the handle is still good. */
int store_put(struct store *st, const struct snapshot *snap, struct err *err) must_check;
/* Says that nothing was stored from…to (wall clock) and why. */
int store_put_gap(struct store *st, uint64_t from_ns, uint64_t to_ns, uint64_t lost_snapshots, const char *reason,
		  struct err *err) must_check;
/* A job's row, by its id; durable when this returns. */
int store_put_job(struct store *st, const struct job *job, struct err *err) must_check;

/* What happened to the file since the last call (set aside, replaced under us and opened anew), or NULL. */
const char *store_take_notice(struct store *st);

/* One small step of retention, a few milliseconds: *ret_more says whether to call again soon. */
int store_retain_step(struct store *st, const struct store_retention *keep, uint64_t now_wall_ns, bool *ret_more,
		      struct err *err) must_check;
