/* SPDX-License-Identifier: MIT */
/* methods.h - the table of methods, the same for a job's door and for the daemon, and what they share.
 * One file per noun: method_daemon.c, method_job.c, method_sheet.c, method_recorded.c, method_bus.c,
 * method_pressure.c, method_admit.c, method_verdict.c, method_trace.c. */
#pragma once

#include "engine/bus.h"
#include "model/snapshot_scope.h"
#include "rpc/rpc_server.h"
#include "rpc/rpc_session.h"
#include "serve/quota.h"
#include "serve/recent_deaths.h"
#include "serve/recent_events.h"
#include "serve/resource_context.h"
#include "serve/serve.h"
#include "serve/store_worker.h"
#include "serve/traces.h"

/* The `self` of all methods. */
struct methods {
	struct serve_host host;
	struct loop *loop;
	struct recent_events recent, notable;
	struct recent_deaths deaths;
	struct quota quota, publishing; /* what users have stored, and what they publish */
	struct bus *bus;                /* NULL: there was no subscriber yet */
	struct rpc_server *server;
	/* One for the store, one for files of processes, and one for what jobs that start need from the store: they do
	 * not wait for reports. */
	struct store_worker *worker, *process_worker, *start_worker;
	const struct user_lookup *looked_up;    /* while the method that needs it is called again */
	const struct job_lookup *job_looked_up; /* the same */
	const struct end_wait *end_waited;      /* the same for the end of a job */
	VEC(struct end_wait *) end_waits;       /* ends that are not executed yet */
	struct traces *traces;                  /* NULL: not a daemon */
	struct buf scratch;
	uint64_t opened_mono_ns;
};

#define METHOD(name)                                                                               \
	int name(void *self, const struct rpc_server_peer *peer, const json_t *params,             \
	         struct json *result, struct err *err)

/* One that only reads is not executed as a notification. */
enum method_kind {
	CHANGES,
	READS,
};

/* X(name, function, kind) */
/* clang-format off */
#define SERVE_METHODS(X)                                               \
	X("rpc.hello", method_hello, READS)                            \
	X("daemon.status", method_status, READS)                       \
	X("daemon.top", method_top, READS)                             \
	X("daemon.top.stream", method_top_stream, CHANGES)             \
	X("daemon.events", method_events, READS)                       \
	X("daemon.health", method_health, READS)                       \
	X("daemon.monitor.stream", method_monitor_stream, CHANGES)     \
	X("job.start", method_job_start, CHANGES)                      \
	X("job.end", method_job_end, CHANGES)                          \
	X("job.list", method_job_list, READS)                          \
	X("job.report", method_job_report, READS)                      \
	X("job.profile", method_job_profile, READS)                    \
	X("job.verdict", method_job_verdict, READS)                    \
	X("job.mark", method_job_mark, CHANGES)                        \
	X("job.phase", method_job_phase, CHANGES)                      \
	X("sheet.started", method_sheet_started, CHANGES)              \
	X("sheet.completed", method_sheet_completed, CHANGES)          \
	X("sheet.failed", method_sheet_failed, CHANGES)                \
	X("process.history", method_process_history, READS)            \
	X("trace.start", method_trace_start, CHANGES)                  \
	X("trace.stop", method_trace_stop, CHANGES)                    \
	X("trace.read", method_trace_read, READS)                      \
	X("trace.list", method_trace_list, READS)                      \
	X("context.get", method_context_get, READS)                    \
	X("pressure.get", method_pressure_get, READS)                  \
	X("admit", method_admit, READS)                                \
	X("bus.subscribe", method_bus_subscribe, CHANGES)              \
	X("bus.publish", method_bus_publish, CHANGES)
/* clang-format on */

#define X(name, call, kind) METHOD(call);
SERVE_METHODS(X)
#undef X
extern const struct rpc_server_method serve_methods[]; /* the last has no name */

/* Whether the caller may see and change everything: root, and the user that runs us. */
bool methods_trusts(const struct rpc_server_peer *peer);
/* Whether it may see what the process does, because it may trace it. */
bool methods_may_trace(const struct rpc_server_peer *peer, struct process_reader *reader,
                       int root_fd, pid_t pid);
const struct job_roster *methods_jobs(const struct methods *m);
const struct job *methods_job(const struct methods *m, job_handle job); /* a watched one */
/* Whether the caller may see and change the job. */
bool methods_has_job(const struct rpc_server_peer *peer, const struct job *job);
/* Those that the caller may see (NULL: all), and their sheets, that run now. */
struct resource_context_jobs methods_count_jobs(const struct methods *m,
                                                const struct rpc_server_peer *peer);
/* The latest snapshot; NULL: none yet. Clients see the part in their scope. */
const struct snapshot *methods_latest(const struct methods *m);
/* NULL: there was no tick yet (-EAGAIN). */
const struct pressure *methods_pressure(const struct methods *m, struct err *err);

/* The part of a snapshot that a client may see: its user's jobs with all their processes, and its
 * user's processes in any job. */
struct peer_scope {
	struct snapshot_scope scope;
	uint32_t uid;
};
/* NULL: everything. Valid as long as `ret`. */
const struct snapshot_scope *methods_scope(const struct rpc_server_peer *peer,
                                           struct peer_scope *ret);

/* The job that `job_id` means: an id is the caller's own; a trusted caller may write USER:ID. Without it the one of a door, or the one that the caller's
 * process belongs to; *ret is -1 if it belongs to none. -ENOENT also for a job of another user. */
int methods_find_job(struct methods *m, const struct rpc_server_peer *peer, const json_t *params,
                     job_handle *ret, struct err *err) must_check;
/* The same for a subscriber, whose job may be yet to come: one that is not there is the caller's own, or USER's, if a
 * trusted caller writes USER:ID. *ret_id is "" without `job_id`. */
int methods_name_job(struct methods *m, const struct rpc_server_peer *peer, const json_t *params,
                     uid_t *ret_uid, char ret_id[static JOB_ID_MAX], struct err *err) must_check;
/* As methods_find_job() to change something: there must be a job. -EALREADY: another connection is its
 * recorder. */
int methods_claim_job(struct methods *m, const struct rpc_server_peer *peer, const json_t *params,
                      job_handle *ret, struct err *err) must_check;
/* Makes this connection the recorder of the job: `proctor run` keeps one to the daemon while its job
 * runs. Only it may change the job, which it calls `sent_id`, and when it is closed without a
 * job.end, the job is lost. */
void methods_set_recorder(struct methods *m, const struct rpc_server_peer *peer, job_handle job,
                          const char *sent_id);
/* `pid` of the parameters, or the caller's own, and its user. -EACCES: it is another user's. */
int methods_find_pid(const struct methods *m, const struct rpc_server_peer *peer,
                     const json_t *params, pid_t *ret, uid_t *ret_uid, struct err *err) must_check;
/* The same for a process that is to join a job of the caller's. -EALREADY: it belongs to a running job of another user,
 * and stays there. */
int methods_find_member(const struct methods *m, const struct rpc_server_peer *peer,
                        const json_t *params, struct proc_id *ret, uid_t *ret_uid, struct err *err)
	must_check;
/* -ENOENT, with the jobs of that id that other users have: only a trusted caller learns of those. */
void methods_note_other(struct buf *others, const struct job *job);
int methods_report_missing(const char *id, const struct buf *others, struct err *err) must_check;
/* Clamps a time that the recorder of a job reports to the span from the start of the job to now. 0 stays 0. */
uint64_t methods_clamp_time(const struct job *job, uint64_t claimed_ns);
/* Before storing something of a job (-1: a new one). -ENOSPC: the caller exceeded its quota. Trusted
 * callers have none. */
int methods_check_quota(struct methods *m, const struct rpc_server_peer *peer, job_handle job,
                        size_t bytes, struct err *err) must_check;
/* The same before publishing something of the caller's. */
int methods_check_publishing(struct methods *m, const struct rpc_server_peer *peer, size_t bytes,
                             struct err *err) must_check;
/* Answers later, with the latest recorded jobs that fit and that the caller may see. */
int methods_list_recorded(struct methods *m, const struct rpc_server_peer *peer,
                          const json_t *params, size_t limit, struct err *err) must_check;
/* How a sheet or a job ended: exit_code or signal. */
int methods_end_params(const json_t *params, struct job_end *ret, struct err *err) must_check;

/* Executes the calls of job.end that still wait for figures. */
void methods_finish_ends(struct methods *m);

/* Publishes the state of a job or sheet, and whether that is on disk, with the resource context of `pid` (0: in general) or of
 * the process that opened the sheet. */
void methods_publish_job(struct methods *m, const struct job *job, pid_t pid, enum stored stored);
void methods_publish_sheet(struct methods *m, const struct job *job, const struct sheet *sheet);
/* Publishes a mark or phase at once, so that subscribers receive reports in order. */
void methods_publish_event(struct methods *m, const struct job *job, uint32_t sheet,
                           const struct job_input_event *event);
/* Creates the bus, for the first subscriber. */
void methods_begin_bus(struct methods *m);
/* Publishes an event, as of now, if there is a subscriber. */
void methods_publish(struct methods *m, const struct bus_event *event);
/* … of a job and its user. `sheet` 0: of none; `text` is the JSON of an object. */
void methods_publish_of_job(struct methods *m, const char *name, const struct job *job,
                            uint32_t sheet, const char *text);
