/* SPDX-License-Identifier: MIT */
/* recorder.h - puts snapshots on disk from a thread of its own, so that a slow or full disk never
 * holds up the tick. What cannot be stored is counted and stored as a gap once the disk works
 * again; retention runs here too, in small steps. */
#pragma once

#include "model/process_selection.h"
#include "model/snapshot_pool.h"
#include "runfolder/runfolder.h"
#include "store/store.h"
#include "store/store_sizes.h"

struct recorder;

struct recorder_options {
	struct store_options store; /* path NULL, with opens_later: nothing is stored */
	const char *jsonl_path;     /* NULL: no JSONL */
	uint64_t jsonl_max_bytes;
	enum process_selection jsonl_processes;
	struct store_retention retention;
	uint64_t retention_after_ns; /* the first round of it, counted from the start */
	struct runfolder *folder;    /* of the job, borrowed until recorder_close(); NULL: none */
	bool opens_later; /* the thread opens the store, and if it cannot, nothing is stored: a job
	                     is neither delayed nor refused because of its record */
	bool waits_for_disk; /* a push waits a while for a slow disk before it gives up the oldest */
};

/* Whether jobs are on disk as a snapshot shows them. */
enum stored {
	STORED_UNKNOWN, /* not yet, or it was not reported */
	STORED_NO,      /* the store refused the snapshot */
	STORED_YES,     /* … or took it, or a later one, which shows the same jobs */
};

struct recorder_status {
	bool is_storing;       /* false while the disk refuses */
	char reason[240];      /* why, when it refuses */
	char notice[240];      /* the last one: a database set aside, a recovery */
	uint64_t notice_seq;   /* changes with each notice */
	uint64_t stored, lost; /* snapshots */
	uint64_t events_lost;
	struct store_left_out left_out;
	uint64_t tick_cpu_ns; /* CPU time of storing ticks, without the events in them */
	uint64_t ticks;       /* … that were stored or refused */
	bool has_end;         /* of its job: what became of it is stored */
	bool is_side;         /* in the side store (store/side_store.h) */
	bool folder_failed;   /* some of the run folder was not written; it was a notice */
	size_t waiting;
	struct store_sizes sizes; /* of a store's owner: after the last tick */
};

int recorder_open(const struct recorder_options *options, struct recorder **ret, struct err *err)
	must_check;
/* Stores what waits, and returns the last status (`ret` may be NULL). */
void recorder_close(struct recorder *r, struct recorder_status *ret);

/* The functions of a sink (pipeline.h), whose self is the recorder. A snapshot is referenced until it is
 * stored. */
void recorder_push(void *self, const struct snapshot *snap);
bool recorder_has_room(void *self) must_check;
/* The number of the latest snapshot that was pushed; 0: there was none. */
uint64_t recorder_pushed(struct recorder *r);
/* Waits until it is known what became of the jobs in the snapshot of this number, at most so long. `have_ended`: of
 * those that had ended; there may be room for their rows, and for nothing else. */
enum stored recorder_await(struct recorder *r, uint64_t number, bool have_ended,
                           uint64_t patience_ns);
/* How many snapshots, ticks and flushes, had been lost by the time that one was stored last. */
uint64_t recorder_losses_overcome(struct recorder *r);
void recorder_status(struct recorder *r, struct recorder_status *ret);
/* Begins to keep the outcome of each snapshot with the end of a job that is news
 * (snapshot_has_end), and signals `event_fd` (-1: none). The host collects them: NULL when there
 * are no more, else the caller has a reference. */
void recorder_keep_outcomes(struct recorder *r, int event_fd);
const struct snapshot *recorder_next_outcome(struct recorder *r, bool *ret_is_stored);
/* The database that a recorder writes into. */
struct recorder_place {
	uint64_t device, inode;
};
/* Commits the recorder's own row, so that others see which process writes there, and waits for that. False: it
 * is not there yet, or nothing is stored. */
bool recorder_introduce(struct recorder *r, uint64_t patience_ns, struct recorder_place *ret);
/* Claims a job id as store_claim_job_id() does, from another thread than the loop's, and waits so long at most. -EBUSY:
 * the disk is too slow, or an earlier claim still waits for it. */
int recorder_claim_job_id(struct recorder *r, uint32_t uid, char id[JOB_ID_MAX],
                          uint64_t patience_ns, struct err *err) must_check;
/* Queues the findings of an analysis to be stored; those that the disk refuses will be found again.
 * Empties the list. */
void recorder_put_patterns(struct recorder *r, struct patterns *take_found);
/* Changes the retention. */
void recorder_retain(struct recorder *r, const struct store_retention *retention);
