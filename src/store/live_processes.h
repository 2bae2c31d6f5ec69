/* SPDX-License-Identifier: MIT */
/* live_processes.h - the processes of the last snapshot, with what was written of each: only what
 * changed is written again. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "model/snapshot.h"
#include "sqlite/column.h"

struct store;

/* The values of a process that its rows depend on. If they are all the same again, there is nothing
 * to write. */
struct reading {
	uint64_t present, value[CELL_METRICS], cpu_time_ns;
	uint64_t cpu_ratio; /* the double's bits: it may be NAN, which equals nothing */
	uint64_t state, sheet;
};

struct life {
	struct proc_id id;
	int64_t proc;                               /* process.id */
	int64_t base[CELL_COUNT], last[CELL_COUNT]; /* COLUMN_ABSENT: not known */
	struct reading reading;
	int64_t total[TOTAL_METRICS];
	int64_t max_cpu, max_rss_kib;                    /* of the samples */
	uint64_t exec_id;                                /* 0: not known */
	uint64_t detail_hash, command_hash, totals_hash; /* of what was written */
	int64_t job;                                     /* job.id, 0: none */
	uint32_t sheet;
	uint32_t payer; /* the user that its rows are counted for */
	char comm[COMM_LEN];
	bool is_fresh;    /* its process row is part of the current transaction */
	bool has_changed; /* within the keyframe */
};

struct index_list {
	uint32_t *at;
	size_t len, cap;
};

struct live_processes {
	VEC(struct life) lives; /* a pool: indices stay within a transaction */
	struct index_list free;
	struct index_list live, next; /* in the order of pids */
	struct map known;             /* proc_key → process.id: a cache, the table is the truth */
	uint64_t *slots;              /* bit set of the keyframe's slots */
	int64_t next_process;         /* 0: read it from the table */
	VEC(struct buf) latest;       /* of each job of the snapshot: what its processes used */
};

/* After a commit and after a rollback. */
void live_processes_commit(struct store *st);
void live_processes_roll_back(struct store *st);
void live_processes_trim_known(struct store *st); /* the cache, when a storm has filled it */
void live_processes_reset(struct store *st);      /* for another database */
void live_processes_done(struct live_processes *l);

/* Those that are alive at this snapshot: between two snapshots, those of the last one. */
const struct index_list *live_processes_at(const struct store *st, const struct snapshot *snap);
/* process.id of the one with this pid, 0 when there is none. */
int64_t live_processes_find_pid(const struct store *st, const struct index_list *list, pid_t pid);
/* Writes the totals of those of a job (0: of all), which otherwise happens once per keyframe. */
int live_processes_flush_totals(struct store *st, const struct index_list *list, int64_t job,
                                struct err *err) must_check;
int64_t live_processes_new_id(struct store *st, struct err *err) must_check; /* or -errno */
/* Records an exec: the memory before it was the parent's, or another program's. */
int live_processes_exec(struct store *st, const struct snapshot *snap, const struct event *e,
                        struct err *err) must_check;
/* Writes them and their samples: the put() of process_table. */
int live_processes_put(struct store *st, const struct snapshot *snap, struct err *err) must_check;
