/* SPDX-License-Identifier: MIT */
/* job_memory.h - the memory that a job uses, where no control group of its own counts it: anonymous and
 * shared memory of its processes, each page once. Pure.
 *
 * A sum of resident memory counts pages that forked processes share once for each of them, and the
 * kernel divides them (PSS) at a price of some 25 ms per GiB. So processes that descend from one
 * run of a program by fork alone are a family, whatever they call themselves and whether their parents
 * live. There are two views of it, and each may miss pages, so the larger one counts: all that is not
 * shared, and the largest of the shared parts (a parent that writes to its pages leaves the old ones to its
 * children); and what each has beyond what it inherited from its origin, the process that it was forked
 * from (a worker shares its own memory with the workers that it forks). A fork makes the pages of its parent
 * shared. Whenever PSS is read, it shows how much a process
 * still shares, and how much it has copied since the last time. Until the next time, what it allocates and
 * frees is its own, and page faults that did not make it grow are copies, but of no more than it, or
 * another one of its family, was last seen to have copied: a program that frees memory and allocates it
 * again has as many. Once all of a family have been read and none has changed since, the sum of their PSS
 * takes the place of all this. Shared memory: job_shmem.h. */
#pragma once

#include "job/job_shmem.h"
#include "model/sample.h"

/* The tick at which a process had the most resident memory. */
struct job_memory_most {
	struct proc_id id;
	uint64_t rss_bytes, used_bytes; /* its own; of that, anonymous and shared memory */
	uint64_t shmem_bytes;           /* … shared memory alone */
	uint64_t others_shmem_bytes; /* what the job has of that and this process has not mapped */
	uint64_t sum_bytes;          /* of the job */
	uint64_t faults;             /* page faults by then, minor ones */
};

struct job_memory_member {
	struct proc_id id;
	pid_t ppid;
	uint64_t family; /* its exec_id, or where that is not known, its own proc_key */
	bool borrows;    /* it runs in the memory of its parent (vfork), and has none of its own */
	uint64_t anon_bytes, faults;
	uint64_t mapped_bytes;       /* resident and not anonymous: files and shared memory */
	struct job_memory_most most; /* since it runs its program */
	uint64_t
		mark_bytes; /* the kernel's, of its resident memory, as it was read last; 0: not known */
	uint32_t ticks; /* that saw it */
	/* At the tick before. */
	uint64_t mark_then_bytes, used_then_bytes, faults_then;
	uint64_t shmem_bytes;      /* shared memory, undivided */
	uint64_t mark_shmem_bytes; /* … when the mark was read */
	bool has_pss, pss_is_fresh, pss_is_current;
	bool knows_shared; /* of what was read together: */
	uint64_t read_anon_bytes, pss_anon_bytes, read_shared_bytes;
	uint64_t pss_shmem_bytes;
	uint64_t read_shmem_bytes, share_bytes; /* shared memory: job_shmem.h */
	uint64_t shared_bytes;    /* of anon_bytes, with its family; the rest is its own */
	uint64_t origin;          /* proc_key of the process that it was forked from; 0: none */
	uint64_t inherited_bytes; /* of shared_bytes: with its origin */
	uint64_t born_bytes;      /* … when it was born */
	uint64_t touched_bytes;   /* since then, by page faults, without having grown */
	uint32_t descendants;     /* by fork, and itself */

	/* Since PSS was read, or since it was born. */
	uint64_t shared_then_bytes;
	uint64_t faulted_bytes; /* by page faults, without having grown */
	bool has_copied;        /* it is known what it copied before that: */
	uint64_t copied_bytes;
};

struct job_memory_list {
	VEC(struct job_memory_member) members; /* the oldest first */
};

struct job_memory {
	struct job_memory_list last, now;
	struct job_shmem shmem;
	struct job_memory_most most; /* of all processes */
	uint64_t mark_bytes;         /* the largest that a tick showed */
	uint64_t sum_bytes, between_bytes;
	/* Of the members that were noted at this tick: */
	struct job_memory_member largest, highest; /* by resident memory, and by its mark */
	uint64_t noted_anon_bytes;                 /* of them all */
};

/* Each process of the job at one tick, then their sum. Without `mark_counts` the high-water mark of its resident memory is
 * of before it was in the job. The shared memory of the whole machine bounds that of the
 * job (UINT64_MAX: not known). */
void job_memory_add(struct job_memory *m, const struct proc_sample *p, bool mark_counts);
uint64_t job_memory_sum(struct job_memory *m, uint64_t machine_shmem_bytes);
/* The same where a control group has their sum: only the largest process is followed, for job_memory_at_mark() and
 * job_memory_between(). The group is read after the processes: what its largest process had counts even if it was being
 * freed by then, but no more than was charged. Returns the sum. */
void job_memory_note(struct job_memory *m, const struct proc_sample *p, bool mark_counts);
uint64_t job_memory_take_sum(struct job_memory *m, uint64_t used_bytes, uint64_t charged_bytes);
/* Their usage between the last two ticks, by a high-water mark that rose meanwhile above what
 * either tick saw; of the other processes only what they had at both is added. 0: no more than at
 * the ticks. */
uint64_t job_memory_between(const struct job_memory *m);
/* The job's memory when that process (or the largest one) was at its high-water mark. Growth beyond the largest
 * sample is assumed to be of the same kinds, or in use if its page faults (0: not known) show that it touched about every page.
 * 0: unknown, or a tick has shown the mark already. */
uint64_t job_memory_at_mark(const struct job_memory *m, struct proc_id id, uint64_t mark_bytes,
                            uint64_t faults);
uint64_t job_memory_at_largest_mark(const struct job_memory *m, uint64_t mark_bytes);
void job_memory_done(struct job_memory *m);
