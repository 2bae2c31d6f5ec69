/* SPDX-License-Identifier: MIT */
/* resource_context.h - the resource context: the few current figures of a process, or of the machine,
 * that are sent along with events. */
#pragma once

#include "base/json.h"
#include "model/blocked_call.h"
#include "model/snapshot_scope.h"

/* Of the process that opened the sheet; of a wrapper's, of its command's processes together, as the last tick
 * found them. */
void resource_context_sheet_json(struct json *j, const struct snapshot *snap,
                                 const struct sheet *sheet);
/* pid 0: the machine. Without a snapshot, and for an unknown pid: nulls and empty lists. `blocked`: what it
 * waits for, of pid 0 for nothing; NULL: that is left out. */
void resource_context_json(struct json *j, const struct snapshot *snap,
                           const struct snapshot_scope *scope, pid_t pid,
                           const struct blocked_call *blocked);
