/* SPDX-License-Identifier: MIT */
#include "model/job.h"

#include <string.h>

static const char *const status_names[] = {
#define X(id, name) [JOB_##id] = (name),
	JOB_STATUSES(X)
#undef X
};

const char *job_status_name(enum job_status status)
{
	return status_names[status];
}

int32_t jobtab_add(struct jobtab *t, const char *id, const char *type, uint64_t started_ns)
{
	size_t id_len = strlen(id), type_len = strlen(type);
	struct job *job;

	if (id_len >= JOB_ID_MAX || type_len >= JOB_ID_MAX)
		return -1;
	job = vec_push(&t->jobs, JOBS_MAX);
	if (!job)
		return -1;
	memcpy(job->id, id, id_len + 1);
	memcpy(job->type, type, type_len + 1);
	job->started_ns = started_ns;
	return (int32_t)(t->jobs.len - 1);
}

void jobtab_assign(struct jobtab *t, struct proc_id id, struct job_ref ref)
{
	map_put(&t->members, proc_key(id), (uint64_t)(uint32_t)ref.job << 32 | ref.sheet);
}

void jobtab_forget(struct jobtab *t, struct proc_id id)
{
	map_del(&t->members, proc_key(id));
}

struct job_ref jobtab_find(const struct jobtab *t, struct proc_id id)
{
	uint64_t packed;

	if (!map_get(&t->members, proc_key(id), &packed))
		return (struct job_ref){ .job = -1 };
	return (struct job_ref){ .job = (int32_t)(packed >> 32), .sheet = (uint32_t)packed };
}

void jobtab_done(struct jobtab *t)
{
	vec_done(&t->jobs);
	map_done(&t->members);
}
