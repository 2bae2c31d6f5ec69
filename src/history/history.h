/* SPDX-License-Identifier: MIT */
/* history.h - reads what was recorded. A reader is a read-only connection of its own and never makes a
 * writer wait. Every call is bounded: by its limit, and by HISTORY_TIME_NS (-ETIME). */
#pragma once

#include <stdatomic.h>

#include "base/err.h"
#include "model/history_record.h"
#include "model/snapshot.h"

#define HISTORY_TIME_NS UINT64_C(5000000000)

struct history;

/* -ENOENT: there is no database; -EINVAL: not ours, or newer than we know. */
int history_open(const char *path, struct history **ret, struct err *err) must_check;
void history_close(struct history *r); /* NULL is fine */
DEFINE_CLEANUP(struct history *, history_close)

/* Held by the thread that waits for the result. */
struct history_cancel {
	atomic_bool is_cancelled; /* the result is no longer wanted */
	uint64_t until_ns;        /* on the monotonic clock: all calls together */
};

/* From now on a cancelled request ends calls early, too (-ETIME). */
void history_obey_cancel(struct history *r, const struct history_cancel *cancel);
/* For what takes long between two calls; NULL: none. */
const atomic_bool *history_cancel_flag(const struct history *r);

/* Where a page begins: at a time, and after what was read before. It advances with every record;
 * begin with { .since_ns = T }. */
struct history_cursor {
	uint64_t since_ns;
	int64_t after_id;
};

/* The next snapshot, oldest first, with all its processes, also those that did not change. 1: found,
 * 0: no more so far. Means of a minute (older ones) have the minute's length in elapsed_ns. Its
 * jobs are those that ran then; events are read separately. */
int history_next_snapshot(struct history *r, struct history_cursor *at, struct snapshot *ret,
                          struct err *err) must_check;
/* The same, of those in which the job was sampled; the cursor's time is not used. */
int history_next_job_snapshot(struct history *r, struct job_key key, struct history_cursor *at,
                              struct snapshot *ret, struct err *err) must_check;
/* When there are snapshots: an index. */
struct history_moment {
	int64_t id;
	uint64_t wall_ns;
	double cpu_ratio, used_bytes; /* of the machine; NAN: not known */
};
struct history_moments {
	struct history_moment *at;
	size_t len, cap;
};
/* The latest `limit` since then, oldest first, into `ret`, which is emptied before: those that show the whole machine, or
 * where there are none, those of single jobs. How many, or -errno. */
int history_moments(struct history *r, uint64_t since_ns, size_t limit, struct history_moments *ret,
                    struct err *err) must_check;
/* Called once per record; a result below 0 ends the reading with that result. The record is valid
 * until it returns. */
typedef int (*reader_event_fn)(void *self, const struct event_record *e);

/* Events of the kinds in the bit set (1 << EVENT_SPAWN | …; 0: all), oldest first, at most
 * `limit`. How many, or -errno. */
int history_events(struct history *r, struct history_cursor *at, uint64_t kinds, size_t limit,
                   reader_event_fn fn, void *self, struct err *err) must_check;

/* One process at one snapshot. */
struct history_point {
	int64_t snapshot;
	uint64_t wall_ns;
	struct proc_id process;
	uint32_t uid; /* UINT32_MAX: not known */
	char state;
	double cpu_ratio;       /* NAN: not known */
	struct proc_readings r; /* those that every sample has */
};
typedef int (*reader_point_fn)(void *self, const struct history_point *p);

#define HISTORY_ANY_UID UINT32_MAX

/* All processes that had this pid and were of this user, oldest first, at most `limit` points. How
 * many, or -errno. */
int history_process(struct history *r, pid_t pid, uint32_t uid, struct history_cursor *at,
                    size_t limit, reader_point_fn fn, void *self, struct err *err) must_check;

/* How the store grows, and what retention will take from it: rough, from the share of its rows. NAN: it
 * holds too little to know. */
struct history_storage {
	double growth_bytes_per_day; /* written in a day, as in the last one */
	double freed_bytes_per_day; /* … that retention deletes or condenses within the next day */
};
struct history_keep {
	uint64_t full_resolution_ns, downsampled_ns, events_ns;
};
int history_storage(struct history *r, const struct history_keep *keep, uint64_t now_ns,
                    struct history_storage *ret, struct err *err) must_check;

/* -ENOENT: no such job. */
int history_profile(struct history *r, struct job_key key, struct job_profile *ret, struct err *err)
	must_check;
