/* SPDX-License-Identifier: MIT */
/* announced_job.h - a connection that speaks for a job: `proctor run` keeps one to the daemon while
 * its job runs. Only it may change that job there, and when it ends without a job.end, the job has
 * lost its recorder. */
#pragma once

#include "model/job.h"
#include "rpc/rpc_server.h"

/* From now on this connection speaks for the job, and for no other; it sends `sent_id` when it means
 * it. When the connection ends, `gone` is called. */
void announced_job_new(const struct rpc_server_peer *peer, job_handle job, const char *sent_id,
                       void (*gone)(void *self, job_handle job), void *self);
bool announced_job_is(const struct rpc_server_peer *peer, job_handle job);
/* The job that this connection means by `id`; -1: not the one that it speaks for. */
job_handle announced_job_find(const struct rpc_server_peer *peer, const char *id);
