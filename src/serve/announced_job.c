/* SPDX-License-Identifier: MIT */
#include "serve/announced_job.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/job.h"

struct speaker {
	char job_id[JOB_ID_MAX], said_id[JOB_ID_MAX];
	void (*gone)(void *self, const char *job_id);
	void *self;
};

/* It is told nothing: that the connection ends is all we want to know. */
static bool next(void *self, struct json *out)
{
	(void)self, (void)out;
	return false;
}

static void end(void *self)
{
	struct speaker *s = self;

	s->gone(s->self, s->job_id);
	free(s);
}

void announced_job_new(const struct rpc_server_peer *peer, const char *job_id, const char *said_id,
                       void (*gone)(void *self, const char *job_id), void *self)
{
	struct speaker *s = xcalloc(1, sizeof *s);
	struct rpc_server_feed feed = { .self = s, .next = next, .close = end };

	snprintf(s->job_id, sizeof s->job_id, "%s", job_id);
	snprintf(s->said_id, sizeof s->said_id, "%s", said_id);
	s->gone = gone;
	s->self = self;
	rpc_server_feed(peer, &feed);
}

static const struct speaker *speaker_of(const struct rpc_server_peer *peer)
{
	const struct rpc_server_feed *feed = rpc_server_feed_of(peer);

	return feed->next == next ? feed->self : NULL;
}

bool announced_job_is(const struct rpc_server_peer *peer, const char *job_id)
{
	const struct speaker *s = speaker_of(peer);

	return s && strcmp(s->job_id, job_id) == 0;
}

const char *announced_job_means(const struct rpc_server_peer *peer, const char *id)
{
	const struct speaker *s = speaker_of(peer);

	return s && strcmp(s->said_id, id) == 0 ? s->job_id : id;
}
