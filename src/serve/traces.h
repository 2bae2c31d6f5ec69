/* SPDX-License-Identifier: MIT */
/* traces.h - the traces that clients of the daemon have started: strace for each, one file for each, bounded in size,
 * time and number. Keepers (trace/strace.h) do the work, and report on the loop; a thread makes, reads
 * and deletes the files. */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "rpc/rpc_session.h"
#include "trace/strace_spawner.h"

struct process_reader;
struct traces;

struct traces_options {
	bool is_allowed;
	const char *dir; /* created for its owner only, with the first trace */
	unsigned max_running,
		max_running_per_uid;    /* the second: of users other than root and ours */
	unsigned max_files;             /* of one user; the oldest are deleted */
	uint64_t max_bytes;             /* of one file */
	struct strace_spawner *spawner; /* NULL: only for root and our own user */
};

struct traces_request {
	pid_t pid;
	const char *filter; /* NULL: all calls */
	uint64_t for_ns;
	bool is_trusted; /* the caller may trace with our rights */
};

/* Makes an empty list of traces. The reader is the host's; NULL: it has none, for it records nothing. */
struct traces *traces_new(struct loop *loop, struct process_reader *reader,
                          const struct traces_options *options);
void traces_free(struct traces *t); /* ends all; after the server was closed. NULL is fine */

/* These answer later (RPC_SERVER_LATER), or fail: when strace has attached, when the trace is over, and when the file was
 * read. */
int traces_start(struct traces *t, const struct rpc_server_peer *peer,
                 const struct traces_request *rq, struct err *err) must_check;
int traces_stop(struct traces *t, const struct rpc_server_peer *peer, uint64_t id, bool is_trusted,
                struct json *result, struct err *err) must_check;
/* Reads the text from `offset` on, whole lines, as far as it fits an answer. */
int traces_read(struct traces *t, const struct rpc_server_peer *peer, uint64_t id, bool is_trusted,
                uint64_t offset, struct err *err) must_check;
/* Those that run, and the last ones that ended. */
void traces_list(const struct traces *t, const struct rpc_server_peer *peer, bool is_trusted,
                 struct json *result);
