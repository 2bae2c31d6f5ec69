/* SPDX-License-Identifier: MIT */
/* serve.h - what a socket answers: the door of one job, jobs/<id>/sock in the state directory, open
 * while the job runs, for its user and root; and the daemon's, open to every user, each of whom sees
 * their own jobs and processes. The methods are one table, in methods.c; they reach jobs through the
 * host. docs/rpc.md documents them. */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "engine/job_input.h"
#include "engine/latest_snapshot.h"
#include "history/history.h"
#include "model/pattern.h"
#include "model/type_history.h"

#define SERVE_PROTOCOL 1
#define SERVE_SHEET_MAX 1000000        /* the highest number of a sheet */
#define SERVE_SHEETS_PER_UID_MAX 10000 /* in all jobs of one user, but root's */
#define SERVE_NAME_MAX 128             /* bytes of a mark's or phase's name */
#define SERVE_DATA_MAX 16384           /* bytes of its data, as JSON */

struct serve;
struct traces_options;

/* The status of a daemon. */
struct serve_status {
	bool is_enabled; /* false: it answers clients, and watches nothing */
	char tier[JOB_TIER_MAX];
	struct store_sizes sizes;
	struct engine_status engine; /* zeros if it is not enabled */
	const char *config_problem; /* why the last reload failed; NULL: it did not */
};

/* The functions that only a daemon has. */
struct serve_daemon {
	void (*status)(void *self, struct serve_status *ret);
	/* As registry_start(), but the handle is filled in, or all of a job that is watched already and goes on. */
	int (*start_job)(void *self, struct job *job, pid_t pid, struct err *err);
	int (*end_job)(void *self, job_handle job, const struct job_end *how, struct err *err);
	void (*lose_job)(void *self, job_handle job);
	/* Calls back when a job that runs, or has ended, is stored as it is now, or could not be
	 * stored (job_commits.h). */
	void (*commit_jobs)(void *self, bool has_ended,
	                    void (*done)(void *self, enum stored stored), void *done_self);
};

/* Called for each sheet, mark and phase that was accepted. */
struct serve_observer {
	void (*begin_sheet)(void *self, const struct job_input_sheet *begun, uint32_t num);
	void (*end_sheet)(void *self, uint32_t num, const struct job_end *how);
	/* EVENT_MARK, or EVENT_PHASE with its duration. */
	void (*add_event)(void *self, enum event_kind kind, const char *name, uint64_t took_ns,
	                  const char *data_json);
};

/* The context that methods need from their host. All is borrowed, and called on the loop's thread;
 * rpc_message.h maps -errno to the errors that clients see. */
struct serve_host {
	struct engine *engine; /* NULL: nothing is watched. Of a door: its first job is the one */
	const struct latest_snapshot *latest;  /* NULL: there is none */
	const char *db_path, *jsonl_path;      /* NULL: nothing is stored there */
	const struct serve_observer *observer; /* NULL: none */
	void *observer_self;
	const struct serve_daemon *daemon; /* NULL: a job's socket */
	void *daemon_self;
	unsigned clients_max, clients_per_uid_max; /* of a daemon */
	const struct traces_options *traces;       /* of a daemon; NULL: none */
	const char *kind;                          /* in daemon.status; NULL: "daemon" or "run" */
};

/* The daemon's: take_fd listens and does not block. The host is copied. */
int serve_listen(struct loop *loop, int take_fd, const struct serve_host *host, struct serve **ret,
                 struct err *err) must_check;
/* The server of one client, which is connected already; left() is called when it has hung up. The
 * host is copied. */
int serve_attach(struct loop *loop, int take_fd, const struct serve_host *host,
                 void (*left)(void *self), void *self, struct serve **ret, struct err *err)
	must_check;
/* `dir` is STATE/jobs/ID; it and its parent are created, for their owner only. Another user's
 * directory, or a symbolic link, is refused; -EALREADY: a job of that id runs. The host is copied. */
int serve_open(struct loop *loop, const char *dir, const struct serve_host *host,
               struct serve **ret, struct err *err) must_check;
/* Whether a client has ever subscribed to events. */
bool serve_is_listened_to(const struct serve *serve);
/* Publishes its events, and the ends of sheets that no call reported; keeps the last 200 process events for
 * daemon.events. */
void serve_publish(struct serve *serve, const struct snapshot *snap);
/* Publishes the ends of jobs in it that are news, once it is known whether they are stored. */
void serve_publish_ends(struct serve *serve, const struct snapshot *snap, bool is_stored);
/* Has the store worker search for patterns in the jobs of the last 7 days; a type needs `min_jobs`. found() is called
 * on the loop with what is to be stored, unless that failed. */
typedef void (*serve_patterns_fn)(void *self, struct patterns *found);
int serve_search_patterns(struct serve *serve, size_t min_jobs, serve_patterns_fn found, void *self,
                          struct err *err) must_check;
/* Has the store worker read what earlier runs of the job's type used, as type_history_loader_start(). */
typedef void (*serve_past_fn)(void *self, job_handle job, const struct type_history *past);
int serve_load_past(struct serve *serve, const struct job *job, serve_past_fn found, void *self,
                    struct err *err) must_check;
/* Before the host stores for the last time what it watches: calls that end a job, and still wait, end it now. */
void serve_settle(struct serve *serve);
void serve_close(struct serve *serve); /* a door's socket is removed, and its directory if empty;
                                          NULL is fine */
DEFINE_CLEANUP(struct serve *, serve_close)
