/* SPDX-License-Identifier: MIT */
/* resource_context.h - the resource context: the few current figures of a process, or of the machine,
 * that are sent along with events. */
#pragma once

#include "base/json.h"
#include "model/blocked_call.h"
#include "model/snapshot_scope.h"

/* Counts of the jobs that the reader may see, now. */
struct resource_context_jobs {
	uint32_t running, active_sheets;
};

/* Writes the figures of the process that opened the sheet: `now` has its counters, read on the boot
 * clock at `now_boot_ns` (NULL: it is gone). For a wrapper's sheet they are those of its command's
 * processes together, as the last tick found them. Returns how old the figures are, in seconds;
 * NAN: there are none. A sheet without an opener has the machine's. */
double resource_context_sheet_json(struct json *j, const struct snapshot *snap,
                                   const struct sheet *sheet,
                                   const struct resource_context_jobs *jobs,
                                   const struct proc_readings *now, uint64_t now_boot_ns);
/* pid 0: the machine, with its jobs (NULL: not known). Without a snapshot, and for an unknown pid: nulls and
 * empty lists. `blocked`: what it waits for, of pid 0 for nothing; NULL: that is left out. */
void resource_context_json(struct json *j, const struct snapshot *snap,
                           const struct snapshot_scope *scope, pid_t pid,
                           const struct resource_context_jobs *jobs,
                           const struct blocked_call *blocked);
