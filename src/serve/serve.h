/* SPDX-License-Identifier: MIT */
/* serve.h - what a socket answers. Here: the door of one job, jobs/<id>/sock in the state
 * directory, open while the job runs, for its user and root. The methods are in methods.c; what
 * they change or show, they change and show through the host. docs/rpc.md has them all. */
#pragma once

#include "base/loop.h"
#include "model/job.h"
#include "model/snapshot.h"

#define SERVE_PROTOCOL 1
#define SERVE_SHEET_MAX 1000000 /* the highest number of a sheet */
#define SERVE_NAME_MAX 128      /* bytes of a mark's or phase's name */
#define SERVE_DATA_MAX 16384    /* bytes of its data, as JSON */

struct serve;
struct pressure;

/* What the methods need from whoever runs the job. All is called on the loop's thread; 0 or -errno
 * as everywhere, and message.h tells what a client makes of the errno. */
struct serve_host {
	void *self;
	const struct jobtab *(*jobs)(void *self);       /* the first job is the one that runs */
	const struct snapshot *(*latest)(void *self);   /* NULL: none yet */
	const struct pressure *(*pressure)(void *self); /* NULL: nobody judged yet */
	/* num 0: the next one; total 0: not told; label "": none. What descends from pid belongs to
	 * the sheet from now on. */
	/* -EALREADY: another process that lives has it open. */
	int (*begin_sheet)(void *self, uint32_t num, uint32_t total, const char *label, pid_t pid,
	                   uint32_t *ret_num, struct err *err);
	/* -ENOENT: it was never opened; -EALREADY: it ended before. */
	int (*end_sheet)(void *self, uint32_t num, enum job_status status, bool has_exit_code,
	                 int exit_code, int signal, struct err *err);
	/* data_json is the text of an object, "{}" when there is nothing. */
	int (*mark)(void *self, const char *name, const char *data_json, struct err *err);
	int (*phase)(void *self, const char *name, uint64_t seconds_ns, const char *data_json,
	             struct err *err);
};

/* `dir` is STATE/jobs/ID; it and its parent are made, for their owner only. Somebody else's, or a
 * symbolic link, is refused; -EALREADY: a job of that id runs already. The host is copied. */
int serve_open(struct loop *loop, const char *dir, const struct serve_host *host,
               struct serve **ret, struct err *err) must_check;
/* Keeps the snapshot's process events for daemon.events: the last 200. */
void serve_note(struct serve *serve, const struct snapshot *snap);
void serve_close(struct serve *serve); /* removes the socket, and the directory if empty; NULL is
                                          fine */
DEFINE_CLEANUP(struct serve *, serve_close)
