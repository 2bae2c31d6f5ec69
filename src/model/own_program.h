/* SPDX-License-Identifier: MIT */
/* own_program.h - proctor's own processes within a job (`sheet`, `phase`, `mark`, a job within the job),
 * recognised by their names. They belong to the job that started them, but are not counted as its
 * work. */
#pragma once

#include <stdbool.h>

#define OURS_NAME "proctor"

/* Their small helper processes. They are born with these names, so that an event of a birth identifies
 * them at once. */
#define OURS_DETECTOR OURS_NAME "-signals"
#define OURS_WAKER OURS_NAME "-waker"
#define OURS_GPU OURS_NAME "-gpu"
#define OURS_CAPTURE OURS_NAME "-capture"
#define OURS_TRACE OURS_NAME "-trace"
#define OURS_NETLINK OURS_NAME "-netlink"
#define OURS_HOOK OURS_NAME "-hook"

/* `proctor` itself or one of its helpers. */
bool own_program_is_one(const char *comm);
bool own_program_is_helper(const char *comm);
