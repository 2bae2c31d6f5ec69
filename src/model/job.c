/* SPDX-License-Identifier: MIT */
#include "model/job.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char *const status_names[] = {
#define X(id, name) [JOB_##id] = (name),
	JOB_STATUSES(X)
#undef X
};

static const char *const limit_names[] = {
#define X(id, name) [JOB_LIMIT_##id] = (name),
	JOB_LIMITS(X)
#undef X
};

const struct metric job_figures[] = {
#define X(id, key_, unit_, label_, help_)                                                          \
	[JOB_FIGURE_##                                                                             \
		id] = { .key = (key_), .unit = UNIT_##unit_, .label = (label_), .help = (help_) },
	JOB_FIGURES(X)
#undef X
};

bool job_key_eq(struct job_key a, struct job_key b)
{
	return a.uid == b.uid && !strcmp(a.id, b.id);
}

const char *job_status_name(enum job_status status)
{
	return status_names[status];
}

const char *job_limit_name(enum job_limit limit)
{
	return limit_names[limit];
}

bool job_is_oom(const struct job *job)
{
	struct figure kills = job->figures[JOB_FIGURE_OOM_KILLS];

	if (job->status != JOB_FAILED)
		return false;
	if (kills.quality != QUALITY_MISSING)
		return kills.value > 0;
	/* A group that met its limit and a command that was killed: nobody counted, but so it was.
	 */
	return job->limits_hit >> JOB_LIMIT_MEM & 1 && job->signal == SIGKILL;
}

const char *job_outcome(const struct job *job)
{
	switch (job->status) {
	case JOB_COMPLETED:
		return "ok";
	case JOB_RUNNING:
	case JOB_LOST:
		return status_names[job->status];
	case JOB_FAILED:
	case JOB_STATUS_COUNT:
		break;
	}
	if (job_is_oom(job))
		return "oom";
	if (job->limits_hit & ~(1u << JOB_LIMIT_CPU)) /* to be held back is no reason to fail */
		return "limit";
	return job->signal ? "signal" : "failed";
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

int32_t jobtab_index(const struct jobtab *t, const char *id)
{
	vec_each(&t->jobs, job)
		if (strcmp(job->id, id) == 0)
			return (int32_t)(job - t->jobs.at);
	return -1;
}

static void remove_sheets(struct jobtab *t, int32_t job)
{
	size_t kept = 0;

	vec_each(&t->sheets, sheet) {
		if (sheet->job == job)
			continue;
		sheet->job -= sheet->job > job;
		t->sheets.at[kept++] = *sheet;
	}
	t->sheets.len = kept;
	vec_shrink(&t->sheets);
}

static void remove_members(struct jobtab *t, int32_t job)
{
	struct map old = t->members;
	struct map_slot slot;

	t->members = (struct map){ 0 };
	for (size_t it = 0; map_next(&old, &it, &slot);) {
		int32_t at = (int32_t)(slot.value >> 32);

		if (at != job)
			map_put(&t->members, slot.key,
			        (uint64_t)(uint32_t)(at - (at > job)) << 32 | (uint32_t)slot.value);
	}
	map_done(&old);
}

void jobtab_remove(struct jobtab *t, int32_t job)
{
	size_t behind = t->jobs.len - (size_t)job - 1;

	memmove(&t->jobs.at[job], &t->jobs.at[job + 1], behind * sizeof *t->jobs.at);
	t->jobs.len--;
	remove_sheets(t, job);
	remove_members(t, job);
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

struct sheet *jobtab_sheet(const struct jobtab *t, int32_t job, uint32_t num)
{
	for (size_t i = t->sheets.len; i > 0; i--)
		if (t->sheets.at[i - 1].job == job && t->sheets.at[i - 1].num == num)
			return &t->sheets.at[i - 1];
	return NULL;
}

/* Sheets may run side by side: the current one is the highest that runs. */
static void follow_progress(struct jobtab *t, int32_t job)
{
	struct job *j = &t->jobs.at[job];

	j->current_sheet = j->last_completed_sheet = 0;
	j->completed_sheets = j->failed_sheets = 0;
	vec_each(&t->sheets, sheet) {
		if (sheet->job != job)
			continue;
		j->total_sheets = MAX(j->total_sheets, sheet->num);
		if (sheet->status == JOB_RUNNING)
			j->current_sheet = MAX(j->current_sheet, sheet->num);
		else if (sheet->status == JOB_COMPLETED)
			j->last_completed_sheet = MAX(j->last_completed_sheet, sheet->num);
		j->completed_sheets += sheet->status == JOB_COMPLETED;
		j->failed_sheets += sheet->status == JOB_FAILED;
	}
}

static uint32_t next_num(const struct jobtab *t, int32_t job)
{
	uint32_t last = 0;

	vec_each(&t->sheets, sheet)
		if (sheet->job == job)
			last = MAX(last, sheet->num);
	return last + 1;
}

struct sheet *jobtab_begin_sheet(struct jobtab *t, int32_t job, uint32_t num, const char *label,
                                 uint64_t now_ns)
{
	struct sheet *sheet, before;

	if (!num)
		num = next_num(t, job);
	sheet = jobtab_sheet(t, job, num);
	if (!sheet)
		sheet = vec_push(&t->sheets, SHEETS_MAX);
	if (!sheet)
		return NULL;
	before = *sheet; /* all 0 when it is new */
	*sheet = (struct sheet){
		.job = job, .num = num, .attempt = before.attempt + 1, .started_ns = now_ns
	};
	snprintf(sheet->label, sizeof sheet->label, "%s", *label ? label : before.label);
	follow_progress(t, job);
	return sheet;
}

void jobtab_end_sheet(struct jobtab *t, struct sheet *sheet, enum job_status status,
                      uint64_t now_ns)
{
	sheet->status = status;
	sheet->ended_ns = now_ns;
	sheet->is_stored = false;
	follow_progress(t, sheet->job);
}

void jobtab_done(struct jobtab *t)
{
	vec_done(&t->sheets);
	vec_done(&t->jobs);
	map_done(&t->members);
}
