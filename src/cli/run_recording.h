/* SPDX-License-Identifier: MIT */
/* run_recording.h - where the job of `proctor run` is recorded (store and run folder), what becomes of its
 * snapshots, and what is printed at its end. The same for a command and for a process that ran before. */
#pragma once

#include "cli/anomaly_hook.h"
#include "cli/run_options.h"
#include "engine/engine.h"
#include "engine/latest_snapshot.h"
#include "runfolder/runfolder.h"
#include "serve/serve.h"
#include "view/run_view.h"

/* Initialised with `cli` and `options`, the rest zeros. */
struct run_recording {
	struct cli *cli;
	const struct run_options *options;
	struct config config;
	struct job job; /* as it begins */
	char state_dir[CONFIG_PATH_MAX];
	struct store_place place;
	const char *db_path; /* NULL: the job runs unrecorded */
	char side_path[CONFIG_PATH_MAX], side_dir[CONFIG_PATH_MAX];
	struct runfolder *folder;      /* NULL: it has none */
	struct serve *door;            /* owned by the caller; NULL: it has none */
	struct latest_snapshot latest; /* for the door */
	struct run_anomalies notes;
	struct engine *engine;       /* the host's, while it watches */
	struct store_worker *worker; /* reads the history of its type */
	struct loop_source *past_timer;
	struct anomaly_hook *hook; /* NULL: there is none */
	struct job last;         /* as in the last snapshot */
	uint64_t watched_age_ns; /* of the process of --pid, when watching began */
	bool goes_on;            /* … and it was not over at the end */
};

/* Reads the configuration and finds the store. Without a place for it the job runs unrecorded. */
void run_recording_find_store(struct run_recording *r);
/* Makes the id final, opens the run folder, and starts what runs the hook: before the environment is changed. */
void run_recording_begin(struct run_recording *r);
void run_recording_set_engine(struct run_recording *r, struct engine_options *ret);
/* `self`: a struct run_recording. */
void run_recording_set_pipeline(void *self, struct engine *engine);
/* The job has started: what earlier runs of its type used is loaded once it has run for a while. */
void run_recording_watch(struct run_recording *r, struct loop *loop, struct engine *engine);
/* It is over, and the engine is still there. */
void run_recording_unwatch(struct run_recording *r);
void run_recording_notice(void *self, const char *text);
void run_recording_end_folder(struct run_recording *r, const struct recorder_status *status);
void run_recording_print_end(struct run_recording *r, const struct engine_totals *totals);
void run_recording_done(struct run_recording *r);
