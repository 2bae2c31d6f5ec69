/* SPDX-License-Identifier: MIT */
/* adoption_self.h - what adoption.c holds, and its parts: adoption_cgroup.c looks into control
 * groups, adoption_signature.c asks a process for its signs, adoption_cache.c keeps what it said. For
 * them only. */
#pragma once

#include "job/adoption.h"
#include "kernel/process_reader.h"
#include "model/process_slots.h"

/* What a job claims; its place is the job's in the table. */
struct claim {
	struct proc_id root;
	pid_t registrar;
	char *group, *workspace; /* owned; NULL: none */
	uint64_t serial;
	uint64_t id_hash;
	uint64_t rests_until_ns; /* its group */
};

/* What we know of a process; by seat. */
struct note {
	char comm[COMM_LEN];
	uint32_t command_len;
	bool environ_is_known;
	uint64_t id_hash; /* of $PROCTOR_JOB_ID; 0: none */
	uint64_t serial;  /* of the last claim whose workspace it was compared with */
};

struct adoption {
	int root_fd;
	struct process_reader *reader; /* the host's */
	VEC(struct claim) claims;      /* by job */
	uint64_t serial, reads;
	struct process_slots roster;
	VEC(struct note) notes;
	VEC(pid_t) pids; /* scratch */
	size_t next_group;
	pid_t next_pid; /* whose environment is read first */
};

/* What one look goes by. */
struct look {
	struct adoption *st;
	const struct sample *s;
	struct jobtab *t;
	struct members *m;
	pid_t self;
	unsigned reads_left;
	bool found;
};

/* Whether the job of this claim takes anybody in. */
static inline bool look_is_open(const struct look *l, size_t job)
{
	const struct job *j = &l->t->jobs.at[job];

	return j->status == JOB_RUNNING && !j->is_foreign;
}

static inline size_t look_claims(const struct look *l)
{
	return MIN(l->st->claims.len, l->t->jobs.len);
}

/* It lives, is nobody's yet, and neither we nor a helper of ours. */
bool look_is_stranger(const struct look *l, const struct proc_sample *p);
void look_take_in(struct look *l, const struct proc_sample *p, struct job_ref ref);

/* Takes in who is in a job's own group; some groups at each look. */
void look_into_groups(struct look *l);

/* Reads on until the job's id is found or all is read; counts what it read. */
void look_at_environ(struct look *l, const struct proc_sample *p, struct note *note);
/* The job that its environment names, or else its command line; -1: none. */
int32_t look_for_sign(const struct look *l, const struct proc_sample *p, struct note *note);

/* NULL: there is no room for more. */
struct note *notes_see(struct adoption *st, const struct proc_sample *p);
/* Another program has another environment, though it may have the same name. */
void notes_forget_programs(struct adoption *st, const struct sample *s);
/* Forgets who was not seen since the last time. */
void notes_end_scan(struct adoption *st);
