/* SPDX-License-Identifier: MIT */
#include "model/job.h"

#include <signal.h>
#include <string.h>

#include "base/json_read.h"

#define SHORT_RATIO 0.85 /* of the memory allowed: where pressure is high, too */

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
#define X(id, key_, unit_, label_, help_)                                                          \
	[JOB_FIGURE_##id] = { .key = (key_),                                                       \
		              .unit = UNIT_##unit_,                                                \
		              .need = METRIC_OPTIONAL,                                             \
		              .label = (label_),                                                   \
		              .help = (help_) },
		JOB_OPTIONAL_FIGURES(X)
#undef X
};

bool job_key_eq(struct job_key a, struct job_key b)
{
	return a.uid == b.uid && !strcmp(a.id, b.id);
}

bool job_is_same_end(const struct job *a, const struct job *b)
{
	return a->status == b->status && a->signal == b->signal &&
	       a->has_exit_code == b->has_exit_code && a->exit_code == b->exit_code;
}

bool job_is_copy(const struct job *daemons, struct job_key original, const char *recording)
{
	bool has_recorder = *daemons->recorded_as != '\0';
	const char *id = has_recorder ? daemons->recorded_as : daemons->id;

	if (!job_key_eq((struct job_key){ daemons->uid, id }, original))
		return false;
	return *daemons->recording && *recording ? strcmp(daemons->recording, recording) == 0
	                                         : has_recorder || !*recording;
}

const char *job_status_name(enum job_status status)
{
	return status_names[status];
}

const char *job_limit_name(enum job_limit limit)
{
	return limit_names[limit];
}

enum metric_unit job_limit_unit(enum job_limit limit)
{
	static const enum metric_unit units[] = {
		[JOB_LIMIT_MEM] = UNIT_BYTES,       [JOB_LIMIT_CPU] = UNIT_MILLI,
		[JOB_LIMIT_PIDS] = UNIT_COUNT,      [JOB_LIMIT_TIME] = UNIT_NS,
		[JOB_LIMIT_USER_PIDS] = UNIT_COUNT,
	};

	return units[limit];
}

void job_add_to_tier(struct job *job, const char *source)
{
	size_t len = strlen(job->tier);

	if (source)
		snprintf(job->tier + len, sizeof job->tier - len, ", %s", source);
}

uint64_t job_took_ns(const struct job *job, uint64_t now_ns)
{
	uint64_t end = job->status == JOB_RUNNING ? now_ns : job->ended_ns;

	if (job->took_ns)
		return job->took_ns;
	return end > job->started_ns ? end - job->started_ns : 0;
}

bool job_is_oom(const struct job *job)
{
	struct figure kills = job->figures[JOB_FIGURE_OOM_KILLS];

	if (job->status != JOB_FAILED)
		return false;
	if (job->cause.oom)
		return job->cause.oom != CAUSE_PROOF_SURVIVED;
	if (kills.quality != QUALITY_MISSING)
		return kills.value > 0;
	/* Kills were not counted, but the group met its limit and the command was killed. */
	return job->limits_hit >> JOB_LIMIT_MEM & 1 && job->signal == SIGKILL;
}

bool job_shows_need(const struct job *job)
{
	return job->status == JOB_COMPLETED || (job->status == JOB_FAILED && job_is_oom(job));
}

bool job_is_short_of_memory(const struct job *job, double process_bytes)
{
	if (job_is_oom(job) || job->limits_hit >> JOB_LIMIT_MEM & 1)
		return true;
	return job->allowed.memory_bytes &&
	       process_bytes > SHORT_RATIO * (double)job->allowed.memory_bytes;
}

const char *job_outcome(const struct job *job)
{
	unsigned harmless;

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
	harmless = 1u << JOB_LIMIT_CPU; /* being throttled does not make a job fail */
	if (job->cause.oom == CAUSE_PROOF_SURVIVED)
		harmless |= 1u << JOB_LIMIT_MEM;
	if (job->limits_hit & ~harmless)
		return "limit";
	return job->signal ? "signal" : "failed";
}

bool job_tags_next(struct scan *at, struct buf *key, struct buf *value)
{
	struct scan name, text;

	key->max = value->max = JOB_TAG_MAX;
	if (!json_read_next(at, &name, &text) || *text.p != '"')
		return false;
	text = scan_mem(text.p + 1, scan_left(&text) - 2); /* without its quotes */
	return json_read_text(name, key) && json_read_text(text, value);
}
