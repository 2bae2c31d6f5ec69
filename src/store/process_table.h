/* SPDX-License-Identifier: MIT */
/* process_table.h - rows of processes: one per life and recorder. */
#pragma once

#include "model/snapshot.h"
#include "sqlite/db.h"

struct store;

/* All of it but what is filled in later. */
struct process_row {
	struct proc_id id;
	pid_t ppid;    /* -1: not known */
	int64_t first; /* snapshot; 0: only known from events */
	int64_t job;   /* job.id; 0: none */
	uint32_t sheet, uid;
	double started;
	const char *comm, *command;
	size_t command_len;
	bool is_start_exact, is_joined;
};

/* Its process.id, or -errno. */
int64_t process_table_add(struct store *st, const struct process_row *row, struct err *err)
	must_check;
/* process.id, 0 when there is none, or -errno. `unseen`: only one that no snapshot has shown. */
int64_t process_table_find(struct store *st, struct proc_id id, bool unseen, struct err *err)
	must_check;
/* The same, from memory where it is known. */
int64_t process_table_row(struct store *st, struct proc_id id, struct err *err) must_check;
int64_t process_table_next_id(struct store *st, struct err *err) must_check;
/* When the parent began, if it did so before `before`; 0: not known. */
double process_table_parent_started(struct store *st, pid_t ppid, double before);

int process_table_set_seen(struct store *st, int64_t proc, int64_t snapshot, struct err *err)
	must_check;
/* The first snapshot of a life moves when a minute becomes one snapshot. */
int process_table_set_first(struct store *st, int64_t proc, int64_t snapshot, struct err *err)
	must_check;
/* `ended_ns` 0: not known. */
int process_table_set_last(struct store *st, int64_t proc, int64_t snapshot, uint64_t ended_ns,
                           struct err *err) must_check;
int process_table_set_job(struct store *st, int64_t proc, int64_t job, const struct proc_snap *p,
                          struct err *err) must_check;
/* `is_name`: a name alone, which does not replace a command line from an exec. */
int process_table_set_command(struct store *st, int64_t proc, uint32_t uid, const char *comm,
                              const char *command, size_t len, bool is_name, struct err *err)
	must_check;
/* Records an exec: the new program never had the memory that was stored. */
int process_table_set_exec(struct store *st, int64_t proc, struct err *err) must_check;
/* Updates its row from an event. */
int process_table_set_born(struct store *st, int64_t proc, const struct event *e, struct err *err)
	must_check;
int process_table_set_exit(struct store *st, int64_t proc, const struct event *e, struct err *err)
	must_check;

/* Values over its whole life; a counter in the table only grows. COLUMN_ABSENT: not known. */
struct process_totals {
	int64_t max_cpu, max_rss_kib; /* of the samples */
	const int64_t *total;         /* TOTAL_METRICS of them */
	int64_t final;                /* FINAL_… bits of those that the kernel reported at the end */
};
int process_table_set_totals(struct store *st, int64_t proc, const struct process_totals *t,
                             struct err *err) must_check;
