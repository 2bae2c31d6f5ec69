/* SPDX-License-Identifier: MIT */
/* resource_context.h - the resource context: what a process, or the machine, looks like at this moment, in
 * the few figures that are sent along with what happens. */
#pragma once

#include "base/json.h"
#include "model/snapshot_scope.h"

/* pid 0: the general one. snap NULL, or a pid that is not known: nulls and empty lists. */
void resource_context_put(const struct snapshot *snap, const struct snapshot_scope *scope,
                          pid_t pid, struct json *j);
