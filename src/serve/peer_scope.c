/* SPDX-License-Identifier: MIT */
#include "serve/peer_scope.h"

#include "serve/methods.h"

static bool has_job(void *self, const struct job *job)
{
	const struct peer_scope *s = self;

	return job->uid == s->uid;
}

static bool has_process(void *self, const struct job *job, uint32_t uid)
{
	const struct peer_scope *s = self;

	return uid == s->uid || (job && has_job(self, job));
}

const struct snapshot_scope *peer_scope(const struct rpc_server_peer *peer, struct peer_scope *ret)
{
	if (methods_trusts(peer))
		return NULL;
	*ret = (struct peer_scope){ .scope = { ret, has_job, has_process }, .uid = peer->uid };
	return &ret->scope;
}
