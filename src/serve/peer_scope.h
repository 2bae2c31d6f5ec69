/* SPDX-License-Identifier: MIT */
/* peer_scope.h - the part of a snapshot that a client may see: its user's jobs with all that is in
 * them, and its user's processes in any job. */
#pragma once

#include "model/snapshot_scope.h"
#include "rpc/rpc_server.h"

struct peer_scope {
	struct snapshot_scope scope;
	uint32_t uid;
};

/* NULL: it may see everything. Good while `ret` is. */
const struct snapshot_scope *peer_scope(const struct rpc_server_peer *peer, struct peer_scope *ret);
