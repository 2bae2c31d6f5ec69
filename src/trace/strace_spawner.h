/* SPDX-License-Identifier: MIT */
/* strace_spawner.h - starts strace with the rights of other users, for a daemon that has no right to become them. It
 * is a process that was forked before the daemon dropped its privileges and kept only those to change its user. It
 * takes nothing but what strace_options hold, so that the daemon cannot do more through it. As strace has the rights
 * of its user, the kernel decides what that user may trace, at any time: a set-user-id program that a traced process
 * runs gets no other user. It ends when the daemon does. */
#pragma once

#include "trace/strace.h"

struct strace_spawner;

/* `limit` drops what it does not need, in its process. The caller has no other thread yet. */
int strace_spawner_open(int (*limit)(struct err *err), struct strace_spawner **ret, struct err *err)
	must_check;
/* As strace_start(), for o->uid and o->gid; o->program is not used. -EAGAIN: not now. */
int strace_spawner_start(struct strace_spawner *sp, const struct strace_options *o,
                         struct strace **ret, struct err *err) must_check;
void strace_spawner_close(struct strace_spawner *sp); /* NULL is fine */
