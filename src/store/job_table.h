/* SPDX-License-Identifier: MIT */
/* job_table.h - rows of jobs, and what was last written of each. */
#pragma once

#include "base/map.h"
#include "model/snapshot.h"
#include "sqlite/db.h"

struct store;
struct index_list;

/* A job as it was last written. */
struct job_seen {
	uint32_t uid;
	char id[JOB_ID_MAX];
	int64_t row;                     /* job.id */
	uint64_t facts, figures, latest; /* hashes */
	enum job_status status;
	bool is_durable; /* its start is on disk */
	bool is_sampled;
	bool has_ended; /* in the current transaction: its sums are due */
};

struct jobs_seen {
	VEC(struct job_seen) list;
	VEC(int64_t) rows; /* job.id of each job of the snapshot that is being put */
	struct map index;  /* hash of a key → index in the list */
	bool is_unsure;    /* some were forgotten: others may be running */
};

int job_table_put_one(struct store *st, const struct job *job, struct err *err) must_check;
/* The usage of its processes since their rows were written. */
int job_table_put_latest(struct store *st, const struct job *job, const struct buf *text,
                         struct err *err) must_check;
/* Fills in the figures of a job that ended in this transaction which its recorder did not measure,
 * from its processes. */
int job_table_sum(struct store *st, const struct job *job, const struct index_list *alive,
                  struct err *err) must_check;
/* Whether a job ends with this snapshot. */
bool job_table_ends(const struct store *st, const struct snapshot *snap);
/* Whether the start of a job is committed and not on disk yet: it would not survive a power cut. */
bool job_table_has_volatile(const struct store *st);
void job_table_mark_durable(struct store *st);
bool job_table_has_running(const struct store *st); /* or may have */
bool job_table_is_running(const struct store *st, int64_t row);
void job_table_roll_back(struct store *st);         /* after a rollback: forgets what was not written after all */
int64_t job_table_find(struct store *st, struct job_key key, struct err *err)
	must_check; /* job.id, 0: none, or -errno */
int64_t job_table_add(struct store *st, struct job_key key, struct err *err)
	must_check;                                                          /* an empty row */
struct job_seen *job_table_seen(const struct store *st, struct job_key key); /* NULL: not put yet */
/* job.id of this job of the snapshot that is being put, 0 when there is none. */
int64_t job_table_row(const struct store *st, int32_t job);

/* For views: the name of a status, and of a quality, by the number in `column`. */
void job_table_put_status(struct buf *sql, const char *column);
void job_table_put_quality(struct buf *sql, const char *column);
