/* SPDX-License-Identifier: MIT */
/* readopt.h - jobs that a daemon before us watched and that still run: they go on under their old
 * names, with what they took so far. */
#pragma once

#include "engine/desk.h"

/* How many. A store that cannot be read has none. */
size_t readopt_jobs(struct desk *desk, const char *db_path);
