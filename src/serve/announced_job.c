/* SPDX-License-Identifier: MIT */
#include "serve/announced_job.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

struct announced_job {
	job_handle job;
	char sent_id[JOB_ID_MAX];
	void (*gone)(void *self, job_handle job);
	void *self;
};

/* It is sent nothing: that the connection ends is all we want to know. */
static bool next(void *self, struct json *out)
{
	(void)self, (void)out;
	return false;
}

static void end(void *self)
{
	struct announced_job *a = self;

	a->gone(a->self, a->job);
	free(a);
}

void announced_job_new(const struct rpc_server_peer *peer, job_handle job, const char *sent_id,
                       void (*gone)(void *self, job_handle job), void *self)
{
	struct announced_job *a = xcalloc(1, sizeof *a);
	struct rpc_server_feed feed = { .self = a, .next = next, .close = end };

	a->job = job;
	snprintf(a->sent_id, sizeof a->sent_id, "%s", sent_id);
	a->gone = gone;
	a->self = self;
	rpc_server_feed(peer, &feed);
}

static const struct announced_job *announced_by(const struct rpc_server_peer *peer)
{
	const struct rpc_server_feed *feed = rpc_server_feed_of(peer);

	return feed->next == next ? feed->self : NULL;
}

bool announced_job_is(const struct rpc_server_peer *peer, job_handle job)
{
	const struct announced_job *a = announced_by(peer);

	return a && a->job == job;
}

job_handle announced_job_find(const struct rpc_server_peer *peer, const char *id)
{
	const struct announced_job *a = announced_by(peer);

	return a && strcmp(a->sent_id, id) == 0 ? a->job : -1;
}
