/* SPDX-License-Identifier: MIT */
/* announced_job.h - a connection that speaks for a job: `proctor run` keeps one to the daemon while its
 * job runs. Only it may change that job there, and when it is gone without a word, so is the job's
 * recorder. */
#pragma once

#include "rpc/rpc_server.h"

/* From now on this connection speaks for the job, and for no other; it says `said_id` when it means
 * it. When it ends, `gone` is called with the job's id. */
void announced_job_new(const struct rpc_server_peer *peer, const char *job_id, const char *said_id,
                       void (*gone)(void *self, const char *job_id), void *self);
bool announced_job_is(const struct rpc_server_peer *peer, const char *job_id);
/* The job that this connection means by `id`. */
const char *announced_job_means(const struct rpc_server_peer *peer, const char *id);
