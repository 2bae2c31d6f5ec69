/* SPDX-License-Identifier: MIT */
#include "report/insights.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "history/past_run_query.h"

#define SEED 1 /* the same jobs give the same answer */

/* ---- jobs ------------------------------------------------------------------------------------- */

static struct property_table *find_type(struct insights *in, uint32_t uid, const char *type)
{
	uint64_t key = hash_bytes(hash_bytes(HASH_SEED, &uid, sizeof uid), type, strlen(type));
	struct property_table *found;
	uint64_t index;

	if (map_get(&in->by_type, key, &index))
		return &in->types.at[index];
	found = vec_push(&in->types, INSIGHTS_TYPES_MAX);
	if (!found)
		return NULL;
	map_put(&in->by_type, key, in->types.len - 1);
	found->uid = uid;
	snprintf(found->type, sizeof found->type, "%s", type);
	return found;
}

static int add_job(void *self, const struct job *job)
{
	struct insights *in = self;
	struct property_table *to;

	if (job->status != JOB_COMPLETED && job->status != JOB_FAILED)
		return 0;
	in->jobs++;
	to = find_type(in, job->uid, job->type);
	if (to)
		property_table_add_job(to, job);
	else
		in->dropped++;
	return 0;
}

/* A sheet of a job is a type of its own. */
static int add_run(void *self, const struct past_run *run)
{
	struct insights *in = self;
	struct property_table *to;
	char type[JOB_ID_MAX];

	if (!*run->outcome || run->started_ns + run->took_ns < in->since_ns)
		return 0;
	in->jobs++;
	snprintf(type, sizeof type, "%s", run->type);
	if (run->sheet)
		snprintf(type, sizeof type, "%.100s sheet %u", run->type, (unsigned)run->sheet);
	to = find_type(in, run->uid, type);
	if (to)
		property_table_add_run(to, run);
	else
		in->dropped++;
	return 0;
}

static int add_contexts(struct history *r, struct property_table *t, struct err *err)
{
	vec_each(&t->rows, row) {
		const struct job_key key = { t->uid, row->id };
		struct job_context context;
		int result = row->is_imported ? 1 : history_job_context(r, key, &context, err);

		if (result > 0)
			continue;
		if (result < 0)
			return result;
		property_row_add_context(row, &context);
	}
	return 0;
}

/* ---- what they have in common ------------------------------------------------------------------- */

static struct rate rate_of_type(const struct property_table *t)
{
	struct rate all = { 0, (unsigned)t->rows.len };

	vec_each(&t->rows, row)
		all.failed += row->failed;
	return all;
}

static bool can_judge(struct insights *in, const struct property_table *t)
{
	struct rate all = rate_of_type(t);

	if (t->rows.len < in->min_jobs)
		in->small_types++;
	else if (!all.failed || all.failed == all.jobs)
		in->even_types++;
	else
		return true;
	return false;
}

static struct insight *add_insight(struct insights *in, const struct property_table *t,
                                   enum pattern_type type)
{
	struct insight *to = vec_push(&in->list, PATTERNS_MAX);

	if (!to)
		return NULL;
	to->pattern = (struct pattern){ .type = type,
		                        .uid = t->uid,
		                        .from = NAN,
		                        .to = NAN,
		                        .p = NAN,
		                        .q = NAN,
		                        .effect = NAN,
		                        .low = NAN,
		                        .high = NAN,
		                        .first_seen_ns = UINT64_MAX };
	snprintf(to->pattern.job_type, sizeof to->pattern.job_type, "%s", t->type);
	return to;
}

static void see(struct pattern *p, uint64_t at_ns)
{
	p->first_seen_ns = MIN(p->first_seen_ns, at_ns);
	p->last_seen_ns = MAX(p->last_seen_ns, at_ns);
}

/* A pattern of other jobs is another one: more and less are not the same. */
static const char *side_of(const struct correlation_finding *f)
{
	if (isfinite(f->from) && isfinite(f->to))
		return "within";
	return isfinite(f->from) ? "above" : "below";
}

static bool is_inside(const struct property_table *t, const struct correlation_finding *f,
                      size_t row)
{
	double value = t->value.at[f->feature * t->rows.len + row];

	return value > f->from && value <= f->to;
}

/* Whether one before it has the same jobs: "without mode=safe" is "with mode=fast". */
static bool is_repeated(const struct property_table *t, const struct correlation_finding *f,
                        const struct correlation_finding *first)
{
	for (const struct correlation_finding *g = first; g < f; g++) {
		size_t same = 0;

		while (g->group == f->group && same < t->rows.len &&
		       is_inside(t, f, same) == is_inside(t, g, same))
			same++;
		if (same == t->rows.len)
			return true;
	}
	return false;
}

static void add_finding(struct insights *in, const struct property_table *t,
                        const struct correlation_finding *f)
{
	struct insight *to = add_insight(in, t, PATTERN_CORRELATION);
	struct pattern *p;

	if (!to)
		return;
	p = &to->pattern;
	to->property = t->properties.at[f->feature];
	to->inside = f->inside;
	to->outside = f->outside;
	property_subject(&to->property, side_of(f), p->subject, sizeof p->subject);
	p->confidence = f->confidence;
	p->support = f->inside.jobs + f->outside.jobs;
	p->from = f->from;
	p->to = f->to;
	p->p = f->p;
	p->q = f->q;
	p->effect = rate_test_ratio(f->inside) - rate_test_ratio(f->outside);
	p->low = f->interval.low;
	p->high = f->interval.high;
	for (size_t i = 0; i < t->rows.len; i++)
		if (t->rows.at[i].failed && is_inside(t, f, i) == (p->effect > 0))
			see(p, t->rows.at[i].ended_ns);
}

/* The chance that the next job has it, too (Laplace). */
static void add_anomaly(struct insights *in, const struct property_table *t, enum anomaly_kind kind)
{
	struct rate all = { 0, (unsigned)t->rows.len };
	struct insight *to;

	vec_each(&t->rows, row)
		all.failed += row->anomalies >> kind & 1;
	to = all.failed ? add_insight(in, t, PATTERN_ANOMALY) : NULL;
	if (!to)
		return;
	to->inside = all;
	to->pattern.support = all.failed;
	to->pattern.confidence = (all.failed + 1.0) / (all.jobs + 2.0);
	snprintf(to->pattern.subject, sizeof to->pattern.subject, "%s", anomaly_kinds[kind].key);
	vec_each(&t->rows, row)
		if (row->anomalies >> kind & 1)
			see(&to->pattern, row->ended_ns);
}

/* False: it was cancelled. */
static bool find_correlations(struct insights *in, struct property_table **tables, size_t n,
                              const atomic_bool *cancel)
{
	cleanup(freep) struct correlation_group *groups = xcalloc(n + 1, sizeof *groups);
	cleanup(correlation_findings_done) struct correlation_findings found = { 0 };

	for (size_t i = 0; i < n; i++) {
		groups[i] = property_table_group(tables[i]);
		in->judged_jobs += tables[i]->rows.len;
	}
	in->judged_types = n;
	if (!correlation_find(groups, n, SEED, cancel, &found))
		return false;
	vec_each(&found.list, f)
		if (!is_repeated(tables[f->group], f, found.list.at))
			add_finding(in, tables[f->group], f);
	return true;
}

/* ---- all of it ---------------------------------------------------------------------------------- */

static bool judge(struct insights *in, const atomic_bool *cancel)
{
	cleanup(freep) struct property_table **tables = xcalloc(in->types.len + 1, sizeof *tables);
	size_t n = 0;

	vec_each(&in->types, t) {
		in->dropped += t->dropped;
		property_table_finish(t);
		if (can_judge(in, t))
			tables[n++] = t;
	}
	if (!find_correlations(in, tables, n, cancel))
		return false;
	vec_each(&in->types, t)
		for (enum anomaly_kind i = 0; i < ANOMALY_KIND_COUNT; i++)
			add_anomaly(in, t, i);
	return true;
}

int insights_gather(struct history *r, uint64_t since_ns, size_t min_jobs, struct insights *ret,
                    struct err *err)
{
	const struct job_filter filter = { .ended_since_ns = since_ns };
	struct insights found = { .since_ns = since_ns, .min_jobs = min_jobs };
	int result = r ? history_jobs(r, &filter, INSIGHTS_JOBS_MAX, add_job, &found, err) : 0;

	if (r && result >= 0)
		result = history_imported_runs(r, INSIGHTS_JOBS_MAX, add_run, &found, err);
	for (size_t i = 0; result >= 0 && i < found.types.len; i++)
		result = add_contexts(r, &found.types.at[i], err);
	if (result >= 0 && !judge(&found, r ? history_cancel_flag(r) : NULL))
		result = err_set(err, ETIME, "the analysis was cancelled");
	if (result < 0) {
		insights_done(&found);
		return result;
	}
	*ret = found;
	return 0;
}

void insights_done(struct insights *in)
{
	vec_each(&in->types, t)
		property_table_done(t);
	vec_done(&in->types);
	vec_done(&in->list);
	map_done(&in->by_type);
}
