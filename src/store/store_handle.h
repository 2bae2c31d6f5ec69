/* SPDX-License-Identifier: MIT */
/* store_handle.h - what a store handle holds. For the files of store/ only. */
#pragma once

#include "base/map.h"
#include "sqlite/column.h"
#include "sqlite/db.h"
#include "sqlite/db_lock.h"
#include "store/statements.h"
#include "store/schema.h"
#include "store/store.h"

/* What of a process goes into its row, as it came: a process that shows the same again is done
 * with. */
struct reading {
	uint64_t present, value[CELL_METRICS], cpu_time_ns;
	uint64_t cpu_ratio; /* the double's bits: it may be NAN, which equals nothing */
	uint64_t state;
};

/* One process under watch, with what was last written about it. */
struct life {
	struct proc_id id;
	int64_t proc;                               /* process.id */
	int64_t base[CELL_COUNT], last[CELL_COUNT]; /* COLUMN_ABSENT: not known */
	struct reading reading;
	int64_t total[TOTAL_METRICS];
	int64_t max_cpu, max_rss_kib;                              /* of the samples */
	uint64_t detail_hash, command_hash, job_hash, totals_hash; /* of what was written */
	char comm[COMM_LEN];
	bool is_fresh;    /* its process row is part of the transaction under way */
	bool has_changed; /* within the keyframe */
};

struct index_list {
	uint32_t *at;
	size_t len, cap;
};

struct keyframe {
	int64_t id; /* 0: none is open */
	int64_t at; /* snapshots in it */
	size_t changes;
	uint64_t minute; /* wall clock, of its latest snapshot */
};

/* A job as it was last written. */
struct job_seen {
	char id[JOB_ID_MAX];
	int64_t row;             /* job.id */
	uint64_t facts, figures; /* hashes */
	enum job_status status;
	bool is_durable; /* its start is on the disk */
	bool is_sampled;
	bool has_ended; /* in the transaction under way: its sums are due */
};

/* A run of retention. */
struct retain_run {
	struct store_retention keep;
	uint64_t now_ns; /* what "now" is for this run, on the wall clock */
	int stage;       /* 0: none is under way */
	int64_t cursor;
};

struct store {
	char *kind;
	bool is_owner, is_brief, has_guard;
	bool is_open; /* store_open() gave it out: the directory was there */
	uint64_t interval_ns;
	char path[4000];
	char notice[1024], told[1024]; /* for identities */
	char to_store[1024];           /* the same, as an event */
	struct db_lock write, owner;
	sqlite3 *db;
	sqlite3_stmt *query[STATEMENT_COUNT];
	struct columns columns;
	int64_t recorder;       /* 0: its row is yet to be made */
	bool recorder_is_fresh; /* its row is part of the transaction under way */
	bool is_finished;       /* its row has its end, and nothing was written since */
	char boot_id[37];       /* as the recorder's row has it */
	uint64_t set_aside_ns;  /* boot clock, of the latest damage; 0: never */

	VEC(struct life) lives; /* a pool: indices stay within a transaction */
	struct index_list free_lives;
	struct index_list live, next; /* in the order of pids */
	struct map known;             /* proc_key → process.id: a cache, the table is the truth */
	uint64_t *slots;              /* bit set of the keyframe's slots */
	int64_t next_process;         /* 0: ask the table */
	VEC(struct job_seen) jobs;
	struct map job_index; /* hash of an id → index in jobs */
	bool jobs_unsure;     /* some were forgotten: there may be others that run */

	struct keyframe keyframe;
	int64_t keyframe_open;  /* the one to be ended in the table; 0: none */
	int64_t snapshot;       /* id of the latest one stored by us; 0: none */
	uint64_t events_cpu_ns; /* what those of snapshots took */
	uint64_t snapshot_ns;   /* its wall and boot time */
	uint64_t boot_ns;
	double strangers; /* lives outside jobs that were stored: a leaking bucket */
	uint64_t strangers_lost;
	struct map signals;     /* of one snapshot: which, to whom, by whom → index << 32 | n */
	int wal_pages, wal_due; /* frames in the log; when to checkpoint */
	bool is_on_disk;        /* what was committed last */
	bool is_slow;           /* the disk, the last time we waited for it */
	struct retain_run retain;
};

/* transaction.c: the lock, BEGIN … COMMIT or ROLLBACK, and the checkpoint when it is due. */
int transaction_begin(struct store *st, uint64_t patience_ns, struct err *err) must_check;
int transaction_end(struct store *st, int result, struct err *err)
	must_check; /* result < 0: undoes */
/* After the end: what was committed survives a power cut when this returns. */
int transaction_sync(struct store *st, struct err *err) must_check;
#define WRITE_PATIENCE_NS (500 * NS_PER_MS) /* a snapshot comes again */
#define START_PATIENCE_NS (10 * NS_PER_S)   /* the start of a job does not */
#define END_PATIENCE_NS (30 * NS_PER_S)     /* and its end is worth most */
void transaction_checkpoint(struct store *st, bool all);

/* store_open.c */
int store_connect(struct store *st, struct err *err) must_check;
void store_disconnect(struct store *st);
/* After -EUCLEAN or -ESTALE: sets the damaged file aside and starts anew. */
int store_recover(struct store *st, int cause, struct err *err) must_check;

/* recorder_table.c: the row of this recorder, and the ends of others which died. */
int recorder_begin(struct store *st, struct err *err) must_check; /* within a transaction */
void recorder_undo(struct store *st);                             /* after a rollback */
int recorder_tell_boot(struct store *st, const char *boot_id, struct err *err) must_check;
/* Our own end, with the last snapshot (0: none). `has_lives`: some process was still there. */
int recorder_finish(struct store *st, int64_t snapshot, uint64_t wall_ns, bool has_lives,
                    struct err *err) must_check;

/* process_table.c: the processes of a snapshot against those written before. */
int live_put(struct store *st, const struct snapshot *snap, int64_t id, struct err *err) must_check;
void live_commit(struct store *st);
void live_forget(struct store *st);     /* after a rollback: what was written is not */
void live_trim_known(struct store *st); /* the cache of identities, when storms have filled it */
void live_reset(struct store *st);      /* for another database */
int live_flush_totals(struct store *st, struct life *life, struct err *err) must_check;
/* Its process.id by one of the queries that find one, 0 when there is none, or -errno. */
int64_t process_find(struct store *st, enum statement query, struct proc_id id, struct err *err)
	must_check;
int64_t process_new_id(struct store *st, struct err *err) must_check; /* or -errno */

/* sample_rows.c: the rows of samples. */
int64_t sample_rows_id(int64_t keyframe, int64_t proc, int64_t at); /* of a change or detail */
int sample_rows_put_base(struct store *st, int64_t keyframe, int64_t proc,
                         const int64_t cells[CELL_COUNT], struct err *err) must_check;
int sample_rows_put_change(struct store *st, int64_t id, const int64_t base[CELL_COUNT],
                           const int64_t cells[CELL_COUNT], struct err *err) must_check;
int sample_rows_set_changed(struct store *st, int64_t keyframe, int64_t proc, int64_t at,
                            struct err *err) must_check;
int sample_rows_put_detail(struct store *st, int64_t id, const int64_t values[DETAIL_METRICS],
                           struct err *err) must_check;
int sample_rows_put_range(struct store *st, int64_t id, const int64_t min[CELL_COUNT],
                          const int64_t max[CELL_COUNT], struct err *err) must_check;

/* downsample.c: makes a keyframe's span into one-minute means, within a transaction. */
int downsample(struct store *st, int64_t keyframe, struct err *err) must_check;

/* retention.c, with its clocks as arguments. */
int retain_begin(struct store *st, const struct store_retention *keep, uint64_t wall_ns,
                 uint64_t boot_ns, struct err *err) must_check;
int retain_step(struct store *st, bool *ret_more, struct err *err) must_check;

/* event_table.c, job.c */
int event_put_all(struct store *st, const struct snapshot *snap, struct err *err) must_check;
int event_put_one(struct store *st, const struct event *e, const char *text, int64_t proc,
                  int64_t job, struct err *err) must_check; /* process.id, job.id; 0: none */
int job_put_all(struct store *st, const struct snapshot *snap, struct err *err) must_check;
int job_put_one(struct store *st, const struct job *job, struct err *err) must_check;
bool job_ends(const struct store *st, const struct snapshot *snap);
/* Whether a job ends here, or has run for a while and its start is not on the disk yet: that must
 * survive a power cut. */
bool job_needs_disk(const struct store *st, const struct snapshot *snap);
void job_mark_durable(struct store *st);
bool job_has_running(const struct store *st); /* or may have */
void job_forget(struct store *st);            /* after a rollback: what was written is not */
int64_t job_find(struct store *st, const char *id, struct err *err)
	must_check;                                                            /* job.id, 0: none */
int64_t job_add(struct store *st, const char *id, struct err *err) must_check; /* an empty row */
struct job_seen *job_find_seen(const struct store *st, const char *id); /* NULL: not put yet */
/* job.id of the snapshot's job, 0 when there is none, or -errno. */
int64_t job_row(struct store *st, const struct snapshot *snap, int32_t job, struct err *err)
	must_check;

/* job_sample_table.c */
int job_put_samples(struct store *st, const struct snapshot *snap, int64_t snapshot,
                    struct err *err) must_check;

/* sheet.c: the sheets of the snapshot; and the sums of what ended, when its processes are put. */
int sheet_put_all(struct store *st, const struct snapshot *snap, struct err *err) must_check;
int job_sum_all(struct store *st, const struct snapshot *snap, struct err *err) must_check;
int job_sum_one(struct store *st, const struct job *job, const struct index_list *lives,
                struct err *err) must_check;

/* anomaly.c */
int anomaly_put_all(struct store *st, const struct snapshot *snap, struct err *err) must_check;

/* gpu.c, snapshot_table.c */
int gpu_put_all(struct store *st, const struct snapshot *snap, int64_t snapshot, struct err *err)
	must_check;
/* Values by their table, from this parameter on; NULL for what is absent. */
void store_bind_readings(sqlite3_stmt *stmt, int index, const struct metric *table, size_t n,
                         uint64_t present, const uint64_t *value);

/* A hash for "is it what was written"; never 0. */
uint64_t store_hash(uint64_t seed, const void *bytes, size_t n);
