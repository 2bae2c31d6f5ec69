/* SPDX-License-Identifier: MIT */
/* link.h - the source of live frames: the daemon that answers, or else a process of ours that samples (top_host.h). It
 * never waits: read what has come whenever the fd is readable. */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "config/config.h"
#include "rpc/rpc_client.h"
#include "top/live_frame.h"
#include "view/frame.h"

/* Facts that the verb determined. All may be NULL. */
struct link_options {
	const char *program;     /* proctor itself, started as the host */
	const char *socket;      /* --socket */
	const char *state_dir, *config_file;
	uint64_t interval_ns;    /* of our own sampling */
	bool no_daemon, no_bpf;
	bool is_quiet;           /* what the host logs is not shown */
};

enum link_answer { LINK_STATUS, LINK_JOBS, LINK_EVENTS, LINK_CONTEXT, LINK_ANSWERS };

struct link {
	struct link_options options;
	struct rpc_client *client; /* NULL: not connected */
	enum frame_source source;
	pid_t host;                /* 0: none */
	struct buf top;            /* the text of the last snapshot */
	struct scan processes;     /* … the processes in it */
	json_t *snapshot;          /* … all the rest */
	json_t *answer[LINK_ANSWERS];
	uint64_t asked[LINK_ANSWERS];
	pid_t context_of;          /* the process that LINK_CONTEXT is about, 0: none */
	struct program_names names;
	unsigned waiting;          /* answers that are missing to a frame */
};

/* -errno: neither answers. `only_daemon`: do not sample ourselves, to reconnect. */
int link_open(struct link *l, bool only_daemon, struct err *err) must_check;
void link_close(struct link *l); /* may be opened again */
int link_fd(const struct link *l);
/* 1: a snapshot with all that belongs to it has come; 0: not yet; -errno: the server is gone. */
int link_read(struct link *l, struct err *err) must_check;
/* The same for one that needs only the snapshots. */
int link_read_snapshot(struct link *l, struct err *err) must_check;
/* Fills a frame from the last snapshot; only with this job, unless it is NULL. */
void link_fill(struct link *l, const struct job_key *only, struct frame *ret);
/* Writes what the process waits for into `ret`; "" if that is not known. */
void link_blocked(const struct link *l, char *ret, size_t cap);
