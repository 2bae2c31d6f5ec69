/* SPDX-License-Identifier: MIT */
/* own_process.h - proctor's own processes within a job (`sheet`, `phase`, `mark`, a job within the job),
 * recognised by their names. They belong to the job that started them, but are not counted as its
 * work. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define OURS_NAME "proctor"

/* Their small helper processes. A name proves nothing: which of them are ours is known by helper_process_is_ours(). */
#define OURS_DETECTOR OURS_NAME "-signals"
#define OURS_WAKER OURS_NAME "-waker"
#define OURS_GPU OURS_NAME "-gpu"
#define OURS_CAPTURE OURS_NAME "-capture"
#define OURS_TRACE OURS_NAME "-trace"
#define OURS_NETLINK OURS_NAME "-netlink"
#define OURS_HOOK OURS_NAME "-hook"

/* The name is that of `proctor` itself or of one of its helpers. */
bool own_process_has_name(const char *comm);
/* … and it has no more memory than these ever have: another one that took the name counts like any process. */
bool own_process_is_small(const char *comm, uint64_t rss_bytes);
