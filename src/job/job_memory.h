/* SPDX-License-Identifier: MIT */
/* job_memory.h - the memory that a job uses, where no control group of its own counts it: anonymous and
 * shared memory of its processes, each page once. Pure.
 *
 * A sum of resident memory counts pages that forked processes share once for each of them, and the
 * kernel divides them (PSS) at a price of some 20 ms per GiB. So processes that descend from one
 * run of a program by fork alone are a family, whatever they call themselves and whether their parents
 * live: each has private pages, and the largest of their shared parts is held once. A fork makes its
 * parent's pages shared; a page fault makes one private. Whenever PSS was read for another reason, it
 * corrects the estimate. Shares of shared memory are known from PSS alone: at a tick without it they are
 * those of the last one, but no more than is mapped. */
#pragma once

#include "model/sample.h"

struct job_memory_member {
	struct proc_id id;
	pid_t ppid;
	uint64_t family; /* its exec_id, or where that is not known, its own proc_key */
	uint64_t anon_bytes, faults;
	uint64_t mapped_bytes; /* resident and not anonymous: files and shared memory */
	uint64_t pss_anon_bytes, shmem_bytes;
	bool has_pss, pss_is_fresh;
	uint64_t private_bytes; /* of anon_bytes; the rest is shared with its family */
};

struct job_memory_list {
	VEC(struct job_memory_member) members; /* the oldest first */
};

struct job_memory {
	struct job_memory_list last, now;
};

/* Each process of the job at one tick, then their sum. */
void job_memory_add(struct job_memory *m, const struct proc_sample *p);
uint64_t job_memory_sum(struct job_memory *m);
void job_memory_done(struct job_memory *m);
