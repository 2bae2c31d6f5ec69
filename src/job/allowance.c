/* SPDX-License-Identifier: MIT */
#include "job/allowance.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "job/cgroup/cgroup_home.h"
#include "kernel/cgroup_dir.h"
#include "kernel/cgroup_read.h"
#include "kernel/own_memory.h"
#include "kernel/process_peek.h"

/* 0 is no limit. */
static void lower(uint64_t *to, uint64_t limit)
{
	if (limit && (!*to || limit < *to))
		*to = limit;
}

static void lower_memory(struct allowance *a, uint64_t limit, const char *source)
{
	if (!limit || (a->memory_bytes && limit >= a->memory_bytes))
		return;
	a->memory_bytes = limit;
	snprintf(a->memory_source, sizeof a->memory_source, "%s", source);
}

/* The group that its own launcher made for it: "/a/proctor-ID". */
static bool is_own(const char *group, const char *job_id)
{
	const char *name = strrchr(group, '/');
	size_t len = strlen(job_id);

	return name && len &&
	       strncmp(name + 1, CGROUP_DIR_PREFIX, strlen(CGROUP_DIR_PREFIX)) == 0 &&
	       strcmp(name + 1 + strlen(CGROUP_DIR_PREFIX), job_id) == 0;
}

static void apply_groups(int root_fd, const struct cgroup_dirs *dirs, struct job *job)
{
	char name[CAUSE_GROUP_MAX];
	uint64_t limit;
	size_t whose = cgroup_read_limit(root_fd, dirs, CGROUP_FAMILY_MEMORY, &limit);

	if (whose) {
		cgroup_map_dir_name(&dirs->of[CGROUP_FAMILY_MEMORY], whose, name, sizeof name);
		lower_memory(&job->allowed, limit, is_own(name, job->id) ? ALLOWANCE_OWN : name);
	}
	if (cgroup_read_limit(root_fd, dirs, CGROUP_FAMILY_CPU, &limit))
		lower(&job->allowed.milli_cores, limit);
}

void allowance_find(int root_fd, pid_t pid, struct job *job)
{
	cleanup(freep) struct cgroup_dirs *dirs = xcalloc(1, sizeof *dirs);
	struct allowance *a = &job->allowed;

	lower(&a->time_ns, job->limit[JOB_LIMIT_TIME]);
	if (a->milli_cores || !cgroup_home_locate(root_fd, pid, dirs))
		return;
	/* The kernel keeps the affinity within the cpuset, and it changes with it. */
	a->cpus = process_peek_cpus(pid);
	a->milli_cores = a->cpus * UINT64_C(1000);
	lower(&a->milli_cores, job->limit[JOB_LIMIT_CPU]);
	lower_memory(a, job->limit[JOB_LIMIT_MEM], ALLOWANCE_OWN);
	apply_groups(root_fd, dirs, job);
	lower_memory(a, process_peek_address_limit(root_fd, pid), ALLOWANCE_ULIMIT);
	lower_memory(a, own_memory_of_machine(root_fd), ALLOWANCE_MACHINE);
}

uint64_t allowance_memory_now(int root_fd, pid_t pid)
{
	cleanup(freep) struct cgroup_dirs *dirs = xcalloc(1, sizeof *dirs);
	uint64_t most = own_memory_of_machine(root_fd), limit;

	if (!pid || !cgroup_home_locate(root_fd, pid, dirs))
		return 0;
	if (cgroup_read_limit(root_fd, dirs, CGROUP_FAMILY_MEMORY, &limit))
		lower(&most, limit);
	return most;
}
