/* SPDX-License-Identifier: MIT */
/* failure_owner.h - whose failure it was. A program of ours that runs a command (`proctor sheet`) ends as the command did: of
 * the two, only the command failed. Their ends may be known in either order. */
#pragma once

#include "base/map.h"
#include "model/process.h"

#define SHELL_SIGNALLED 128 /* and the number: the status of a shell whose command was signalled */

/* How a process ended. */
struct failure_end {
	bool has_exit_code;
	int exit_code, signal;
};

/* Whether the parent only ended as its child did: with its exit code or its signal, or with the exit code by which
 * shells report the signal. */
bool failure_end_is_passed_on(struct failure_end child, struct failure_end parent);

struct failure_owner {
	struct map latest; /* pid → proc_key of the program of ours that has it, or had it last */
	struct map ends;   /* proc_key of such a program → how it ended */
	struct map parents; /* pid of a child of one → its pid */
};

/* The changes in the counts by one end. */
struct failure_change {
	bool counts; /* this failure is the process's own */
	/* The failure was counted for the parent, a program of ours, which only passed it on. */
	bool parent_failed, parent_signalled;
};

/* A live process: its pid may be that of an earlier one, which is forgotten. */
void failure_owner_birth(struct failure_owner *f, pid_t pid, pid_t ppid);
void failure_owner_exec(struct failure_owner *f, struct proc_id id, const char *comm);
/* The parent, if it is a program of ours; 0: it is not. */
pid_t failure_owner_parent(const struct failure_owner *f, pid_t pid);
/* Records the end of a process, with an exit code other than 0 or a signal if it had one. */
struct failure_change failure_owner_end(struct failure_owner *f, pid_t pid, pid_t ppid, bool failed,
                                        bool signalled);
/* Whether it is a program of ours that ended only as its command did. */
bool failure_owner_is_passed_on(const struct failure_owner *f, struct proc_id id);
void failure_owner_done(struct failure_owner *f);
