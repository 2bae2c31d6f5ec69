/* SPDX-License-Identifier: MIT */
#include "report/property_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"

#define DOMINANT_RATIO 0.35 /* of the time in system calls */
#define NAMES_MAX 4096      /* tags and system calls that are counted */

#define X(id, key_, unit_) [PROPERTY_##id] = { .key = key_, .unit = UNIT_##unit_ },
const struct metric job_properties[JOB_PROPERTY_COUNT] = { JOB_PROPERTIES(X) };
#undef X

/* ---- jobs ------------------------------------------------------------------------------------- */

static const struct {
	enum job_property property;
	enum job_figure figure;
} figures[] = {
	{ PROPERTY_MEMORY, JOB_FIGURE_PEAK_USED }, { PROPERTY_LARGEST, JOB_FIGURE_PEAK_RSS },
	{ PROPERTY_CPU, JOB_FIGURE_CPU },          { PROPERTY_READ, JOB_FIGURE_READ },
	{ PROPERTY_WRITTEN, JOB_FIGURE_WRITTEN },  { PROPERTY_PROCESSES, JOB_FIGURE_PROCESSES },
};

static struct property_row *add_row(struct property_table *t)
{
	struct property_row *row = vec_push(&t->rows, CORRELATION_JOBS_MAX);

	t->dropped += !row;
	for (size_t i = 0; row && i < NUMBER_PROPERTIES; i++)
		row->number[i] = NAN;
	return row;
}

void property_table_add_job(struct property_table *t, const struct job *job)
{
	struct property_row *row = add_row(t);

	if (!row)
		return;
	memcpy(row->id, job->id, sizeof row->id);
	row->failed = job->status == JOB_FAILED;
	row->ended_ns = job->ended_ns;
	for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
		struct figure f = job->figures[figures[i].figure];

		if (figure_is_known(f))
			row->number[figures[i].property] = (double)f.value;
	}
	if (job->took_ns)
		row->number[PROPERTY_DURATION] = (double)job->took_ns;
	row->number[PROPERTY_SHEETS] = job->total_sheets;
	if (*job->tags)
		row->tags = xstrdup(job->tags);
}

/* Imported tags are text: "shard=3; fast" becomes {"shard":"3","fast":""}. */
static char *tags_of_text(const char *text)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };

	if (*text == '{')
		return xstrdup(text);
	json_begin_object(&j);
	while (*(text += strspn(text, ",; "))) {
		size_t len = strcspn(text, ",; ");
		size_t key = MIN(strcspn(text, "="), len);
		cleanup(freep) char *name = xstrndup(text, key);

		json_key_text(&j, name);
		json_strn(&j, text + MIN(key + 1, len), len - MIN(key + 1, len));
		text += len;
	}
	json_end_object(&j);
	return out.at;
}

void property_table_add_run(struct property_table *t, const struct past_run *run)
{
	struct property_row *row = add_row(t);

	if (!row)
		return;
	memcpy(row->id, run->id, sizeof row->id);
	row->is_imported = true;
	row->failed = strcmp(run->outcome, "ok") != 0;
	row->ended_ns = run->started_ns + run->took_ns;
	row->number[run->basis == RUN_BASIS_JOB ? PROPERTY_MEMORY : PROPERTY_LARGEST] =
		(double)run->peak_bytes;
	row->number[PROPERTY_DURATION] = (double)run->took_ns;
	if (past_run_has(run, RUN_CPU))
		row->number[PROPERTY_CPU] = (double)run->cpu_ns;
	if (past_run_has(run, RUN_INPUT))
		row->number[PROPERTY_INPUT] = (double)run->input_bytes;
	if (*run->tags)
		row->tags = tags_of_text(run->tags);
}

void property_row_add_context(struct property_row *row, const struct job_context *context)
{
	row->anomalies = context->anomalies;
	row->number[PROPERTY_ANOMALY] = context->anomalies != 0;
	row->number[PROPERTY_LOAD] = context->load * 1000;
	if (!*context->call)
		return;
	row->number[PROPERTY_CALL_SHARE] = context->call_ratio * 1000;
	if (context->call_ratio > DOMINANT_RATIO)
		snprintf(row->call, sizeof row->call, "%s", context->call);
}

/* ---- tags and system calls ---------------------------------------------------------------------- */

struct name_use {
	struct property property;
	unsigned jobs;
};

struct names {
	VEC(struct name_use) list;
	struct map by_hash; /* → index in the list */
};

static uint64_t name_hash(enum job_property kind, const char *name)
{
	return hash_bytes(hash_bytes(HASH_SEED, &kind, sizeof kind), name, strlen(name));
}

static void count_name(struct names *names, enum job_property kind, const char *name)
{
	uint64_t hash = name_hash(kind, name), index;
	struct name_use *use;

	if (map_get(&names->by_hash, hash, &index)) {
		names->list.at[index].jobs++;
		return;
	}
	use = vec_push(&names->list, NAMES_MAX);
	if (!use)
		return;
	map_put(&names->by_hash, hash, names->list.len - 1);
	use->jobs = 1;
	use->property.kind = kind;
	snprintf(use->property.name, sizeof use->property.name, "%s", name);
}

typedef void (*name_fn)(void *self, enum job_property kind, const char *name);

static void each_name(const struct property_row *row, name_fn fn, void *self)
{
	cleanup(buf_done) struct buf key = { 0 };
	cleanup(buf_done) struct buf value = { 0 };
	struct scan rest = scan_str(row->tags ? row->tags : "");

	while (job_tags_next(&rest, &key, &value)) {
		char name[PROPERTY_NAME_MAX];

		snprintf(name, sizeof name, "%s%s%s", key.len ? key.at : "", value.len ? "=" : "",
		         value.len ? value.at : "");
		fn(self, PROPERTY_TAG, name);
	}
	if (*row->call)
		fn(self, PROPERTY_CALL, row->call);
}

static void count_of_row(void *self, enum job_property kind, const char *name)
{
	count_name(self, kind, name);
}

static int by_jobs(const void *x, const void *y)
{
	const struct name_use *a = x, *b = y;

	if (a->jobs != b->jobs)
		return a->jobs < b->jobs ? 1 : -1;
	return strcmp(a->property.name, b->property.name);
}

/* The most frequent ones that at least two jobs have and two have not. */
static void add_names(struct property_table *t)
{
	struct names names = { 0 };

	vec_each(&t->rows, row)
		each_name(row, count_of_row, &names);
	if (names.list.len)
		qsort(names.list.at, names.list.len, sizeof *names.list.at, by_jobs);
	vec_each(&names.list, use) {
		struct property *slot = use->jobs >= 2 && use->jobs + 2 <= t->rows.len
		                                ? vec_push(&t->properties, CORRELATION_FEATURES_MAX)
		                                : NULL;

		if (slot)
			*slot = use->property;
	}
	vec_done(&names.list);
	map_done(&names.by_hash);
}

/* ---- the table --------------------------------------------------------------------------------- */

/* A job is marked with the properties that it has. */
struct marking {
	struct property_table *table;
	size_t row;
};

static void mark(void *self, enum job_property kind, const char *name)
{
	const struct marking *m = self;

	for (size_t i = 0; i < m->table->properties.len; i++) {
		const struct property *p = &m->table->properties.at[i];

		if (p->kind == kind && strcmp(p->name, name) == 0)
			m->table->value.at[i * m->table->rows.len + m->row] = 1;
	}
}

void property_table_finish(struct property_table *t)
{
	(void)vec_reserve(&t->properties, NUMBER_PROPERTIES, SIZE_MAX);
	for (int i = 0; i < NUMBER_PROPERTIES; i++)
		t->properties.at[t->properties.len++] = (struct property){
			.kind = (enum job_property)i
		};
	add_names(t);
	(void)vec_reserve(&t->value, t->properties.len * t->rows.len + 1, SIZE_MAX);
	t->value.len = t->properties.len * t->rows.len;
	memset(t->value.at, 0, t->value.len * sizeof *t->value.at);
	for (size_t i = 0; i < t->rows.len; i++) {
		const struct property_row *row = &t->rows.at[i];

		*vec_push(&t->failed, SIZE_MAX) = row->failed;
		for (size_t k = 0; k < NUMBER_PROPERTIES; k++)
			t->value.at[k * t->rows.len + i] = row->number[k];
		each_name(row, mark, &(struct marking){ t, i });
	}
}

struct correlation_group property_table_group(const struct property_table *t)
{
	return (struct correlation_group){ t->rows.len, t->properties.len, t->failed.at,
		                           t->value.at };
}

void property_subject(const struct property *p, const char *side, char *to, size_t size)
{
	snprintf(to, size, "%s%s%s %s", job_properties[p->kind].key, *p->name ? " " : "", p->name,
	         side);
}

void property_table_done(struct property_table *t)
{
	vec_each(&t->rows, row)
		free(row->tags);
	vec_done(&t->rows);
	vec_done(&t->properties);
	vec_done(&t->value);
	vec_done(&t->failed);
}
