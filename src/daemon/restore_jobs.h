/* SPDX-License-Identifier: MIT */
/* restore_jobs.h - restores the jobs of the previous daemon: those that still run continue under
 * their ids, with the usage so far; those that ended meanwhile are shown for a while. */
#pragma once

#include "engine/registry.h"

/* Logs how many there are. A store that cannot be read has none. */
void restore_jobs(struct engine *engine, const char *db_path);
