/* SPDX-License-Identifier: MIT */
/* readopt.h - jobs that a daemon before us watched: those that still run go on under their old
 * names, with what they took so far; those that ended meanwhile are shown for a while. */
#pragma once

#include "engine/desk.h"

struct readopted {
	size_t go_on, ended;
};

/* How many. A store that cannot be read has none. */
struct readopted readopt_jobs(struct desk *desk, const char *db_path);
