/* SPDX-License-Identifier: MIT */
/* job_list.h - the jobs that are known right now and are the caller's, with their progress, as
 * JSON. */
#pragma once

#include "base/json.h"
#include "model/job_roster.h"
#include "rpc/rpc_server.h"

void job_list_put(const struct job_roster *t, const struct rpc_server_peer *peer, struct json *j);
