/* SPDX-License-Identifier: MIT */
/* job_lookup.h - what a job that is to start needs from the store: whether its recorder writes there, and an id that is
 * free. The disk may be slow and the store locked, so a worker reads it, and job.start is called again. */
#pragma once

#include "serve/methods.h"

struct job_start {
	struct job job; /* with the id that is wanted */
	pid_t pid;      /* of its first process; 0: none */
	uint64_t store_device, store_inode; /* where its recorder writes; 0: not reported */
};

/* Whether a job of this user and id runs. */
bool job_lookup_is_running(const struct methods *m, const struct job *job);

/* Fills in is_stored_by_other, the id and when the job began. -EINPROGRESS is what the method
 * returns to be called again: then this has what was found for the same user, even if the processes
 * have ended meanwhile. */
int job_lookup(struct methods *m, const struct rpc_server_peer *peer, const struct job_start *start,
               struct job *ret, struct err *err) must_check;
