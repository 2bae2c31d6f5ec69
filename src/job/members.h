/* SPDX-License-Identifier: MIT */
/* members.h - which processes belong to which job, as they come and go. A child belongs where its
 * parent did when it was born, whatever becomes of either: new sessions, double forks and new
 * parents change nothing. */
#pragma once

#include "model/job_roster.h"
#include "model/sample.h"

struct member_grave {
	struct proc_id id;
	uint64_t since_ns; /* boot clock */
};

struct members {
	struct map living; /* pid → start ticks */
	VEC(pid_t) guessed; /* of these, may have begun a moment before */
	VEC(struct member_grave) graves; /* the dead, while late events about them may come */
};

void members_done(struct members *m);
void members_add(struct members *m, struct job_roster *t, struct proc_id id, struct job_ref ref);
/* Marks a process as ended; one that ended before stays as it is. */
void members_mark_ended(struct members *m, const struct job_roster *t, struct proc_id id,
                        uint64_t since_boot_ns);
/* Removes a living process that another job is about to take over; it stays counted in its own. */
void members_part(struct members *m, struct job_roster *t, struct proc_id id);
/* Forgets a process that never was a member. */
void members_drop(struct members *m, struct job_roster *t, struct proc_id id);
/* A process whose children belong to a job though it does not itself, such as this one. A process
 * can create a sibling (CLONE_PARENT), and a sibling of the job's first process is our child. */
struct members_root {
	pid_t pid;                            /* 0: none */
	struct job_ref to;                    /* where its children belong */
	bool (*is_helper)(struct proc_id id); /* … but for these; NULL: no exceptions */
};

/* Removes the living processes of a job that has ended, and returns their number. Dead ones are
 * kept, for late events about them. */
uint64_t members_release(struct members *m, struct job_roster *t, job_handle job);
/* Learns from events, in their order, before they are made into a snapshot. */
void members_learn(struct members *m, struct job_roster *t, const struct event *events, size_t n,
                   const struct members_root *root);
/* Corrects when processes began that could not be read at their birth: the time of that event is a moment later. */
void members_correct(struct members *m, struct job_roster *t, const struct sample *s);
/* Adds processes of a scan whose parent is a member or the root (the subreaper of a job's orphans).
 * For when births are not reported, or some were lost. True when it found any. */
bool members_adopt(struct members *m, struct job_roster *t, const struct sample *s,
                   const struct members_root *root);
/* Lists the living members, for a scan of only these. */
void members_list(const struct members *m, struct sample_request *to);
/* Forgets processes whose job was removed. */
void members_leave(struct members *m, const struct job_roster *t);
/* Forgets processes that ended a while ago. */
void members_forget(struct members *m, struct job_roster *t, uint64_t now_boot_ns);
/* The process that has this pid, or had it last, of those that ended a while ago; start_ticks 0: none is known. */
struct proc_id members_find(const struct members *m, pid_t pid);
/* The job and sheet of a process; job -1: none. */
struct job_ref members_place(const struct members *m, const struct job_roster *t, pid_t pid);
