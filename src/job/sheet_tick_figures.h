/* SPDX-License-Identifier: MIT */
/* sheet_tick_figures.h - what the processes of each running sheet use together at a tick. It is kept with the
 * sheet, so that the event of its end describes them though they are gone. Pure. */
#pragma once

#include "model/snapshot.h"

/* Takes the figures of the sheets of all jobs in the snapshot. Sheets without processes keep what
 * they had. */
void sheet_tick_figures_take(const struct job_roster *jobs, const struct snapshot *snap);
/* … and the anomalies of those that have processes in it. */
void sheet_tick_figures_take_anomalies(const struct job_roster *jobs, const struct snapshot *snap);
