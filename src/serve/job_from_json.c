/* SPDX-License-Identifier: MIT */
#include "serve/job_from_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/record_fields.h"
#include "rpc/rpc_answer.h"

#define VALUE_MAX 9.2e18 /* below 2^63, for llround() */

/* The inverse of field_metric_json(). */
static bool read_metric(const json_t *value, enum metric_unit unit, uint64_t *ret)
{
	double number = json_is_number(value)
	                        ? json_number_value(value) * metric_unit_scale(unit)
	                        : -1;

	if (!(number >= 0 && number < VALUE_MAX))
		return false;
	*ret = (uint64_t)llround(number);
	return true;
}

static void set_integer(void *to, size_t size, uint64_t value)
{
	if (size == sizeof(uint64_t))
		*(uint64_t *)to = value;
	else if (size == sizeof(uint32_t) && value <= UINT32_MAX)
		*(uint32_t *)to = (uint32_t)value;
}

/* Those that the record holds as they are; the rest is derived, or read below. */
static void read_field(const struct field *f, const json_t *from, struct job *job)
{
	const json_t *value = json_object_get(from, f->key);
	char *to = (char *)job + f->at;
	uint64_t number;

	switch (f->type) {
	case FIELD_TEXT:
		snprintf(to, f->size, "%s", json_is_string(value) ? json_string_value(value) : "");
		break;
	case FIELD_NUMBER:
	case FIELD_ORDINAL:
		if (read_metric(value, f->unit, &number))
			set_integer(to, f->size, number);
		break;
	case FIELD_CODE:
		*(bool *)((char *)job + f->has) = json_is_integer(value);
		set_integer(to, f->size, (uint64_t)json_integer_value(value));
		break;
	case FIELD_BOOL:
		*(bool *)to = json_is_true(value);
		break;
	case FIELD_CHARS:
	case FIELD_STRING:
	case FIELD_WORDS:
	case FIELD_FIGURE:
	case FIELD_RATIO:
	case FIELD_REAL:
	case FIELD_NAME:
	case FIELD_PUT:
	case FIELD_LETTER:
	case FIELD_QUALITY:
	case FIELD_READINGS:
	default:
		break;
	}
}

/* The enumerator whose name the member has; `otherwise` if the name is unknown or absent. */
#define NAME_OF(from, key, name_of, count, otherwise)                                              \
	({                                                                                         \
		const char *name_ = rpc_answer_text(from, key);                                    \
		typeof(otherwise) found_ = (otherwise);                                            \
		for (unsigned i_ = 0; name_ && i_ < (count); i_++)                                 \
			if (name_of(i_) && strcmp(name_, name_of(i_)) == 0)                        \
				found_ = i_;                                                       \
		found_;                                                                            \
	})

static void read_cause(const json_t *from, struct cause *c)
{
	c->sender = NAME_OF(from, "signal_sender", cause_sender_name, CAUSE_SENDER_COUNT,
	                    CAUSE_SENDER_NONE);
	c->sender_source = NAME_OF(from, "signal_sender_source", cause_source_name,
	                           CAUSE_SOURCE_COUNT, CAUSE_SOURCE_NONE);
	c->sender_uid = (uint32_t)rpc_answer_u64(from, "signal_sender_uid");
	c->oom = NAME_OF(from, "oom", cause_proof_name, CAUSE_PROOF_COUNT, CAUSE_PROOF_NONE);
	c->oom_source = NAME_OF(from, "oom_source", cause_source_name, CAUSE_SOURCE_COUNT,
	                        CAUSE_SOURCE_NONE);
}

static void read_limits(const json_t *from, struct job *job)
{
	const json_t *limits = json_object_get(from, "limits"),
		     *hit = json_object_get(from, "limits_hit");
	size_t n;
	json_t *name;

	for (enum job_limit i = 0; i < JOB_LIMIT_COUNT; i++)
		(void)read_metric(json_object_get(limits, job_limit_name(i)), job_limit_unit(i),
		                  &job->limit[i]);
	json_array_foreach(
		hit, n, name) for (enum job_limit i = 0; i < JOB_LIMIT_COUNT;
	                           i++) if (json_is_string(name) &&
	                                    strcmp(json_string_value(name), job_limit_name(i)) == 0)
		job->limits_hit |= 1u << i;
}

static struct figure figure_of(const json_t *from, const struct metric *m)
{
	enum quality quality = NAME_OF(json_object_get(from, "quality"), m->key, quality_key,
	                               QUALITY_COUNT, QUALITY_MISSING);
	struct figure f = { 0 };

	if (read_metric(json_object_get(json_object_get(from, "figures"), m->key), m->unit,
	                &f.value))
		f.quality = quality;
	return f;
}

static void read_tags(const json_t *from, struct job *job)
{
	const json_t *tags = json_object_get(from, "tags");
	char *text = json_object_size(tags) ? json_dumps(tags, JSON_COMPACT) : NULL;

	if (text && strlen(text) < sizeof job->tags)
		snprintf(job->tags, sizeof job->tags, "%s", text);
	free(text);
}

struct job job_from_json(const json_t *from)
{
	struct job job = { .handle = -1 };

	for (size_t i = 0; i < job_fields.n; i++)
		read_field(&job_fields.at[i], from, &job);
	job.status = NAME_OF(from, "status", job_status_name, JOB_STATUS_COUNT, JOB_LOST);
	read_cause(from, &job.cause);
	read_limits(from, &job);
	read_tags(from, &job);
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
		job.figures[i] = figure_of(from, &job_figures[i]);
	return job;
}
