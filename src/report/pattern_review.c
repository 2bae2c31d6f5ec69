/* SPDX-License-Identifier: MIT */
#include "report/pattern_review.h"

#include <math.h>
#include <string.h>

#define LEVEL 0.05
#define LEVEL_Z 1.96

static const struct property_table *find_type(const struct insights *in, const struct pattern *p)
{
	vec_each(&in->types, t)
		if (t->uid == p->uid && strcmp(t->type, p->job_type) == 0)
			return t;
	return NULL;
}

/* The property that its subject begins with; its end is the side. */
static bool find_property(const struct property_table *t, const struct pattern *p, size_t *ret)
{
	const char *side = strrchr(p->subject, ' ');

	for (size_t i = 0; side && i < t->properties.len; i++) {
		char subject[PATTERN_SUBJECT_MAX];

		property_subject(&t->properties.at[i], side + 1, subject, sizeof subject);
		if (strcmp(subject, p->subject) == 0) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static bool is_contradicted_by(const struct property_table *t, const struct pattern *p)
{
	struct rate inside = { 0 }, outside = { 0 };
	struct rate_interval since;
	size_t property;

	if (!find_property(t, p, &property))
		return false;
	for (size_t i = 0; i < t->rows.len; i++) {
		double value = t->value.at[property * t->rows.len + i];
		struct rate *to = value > p->from && value <= p->to ? &inside : &outside;

		if (t->rows.at[i].ended_ns <= p->last_seen_ns || !isfinite(value))
			continue;
		to->jobs++;
		to->failed += t->rows.at[i].failed;
	}
	if (!inside.jobs || !outside.jobs)
		return false;
	since = rate_newcombe(inside, outside, LEVEL_Z);
	return p->effect < 0 ? since.low > p->high : since.high < p->low;
}

/* None of the jobs since then had it: else it would have been found. */
static bool is_over(const struct property_table *t, const struct pattern *p)
{
	size_t since = 0;

	vec_each(&t->rows, row)
		since += row->ended_ns > p->last_seen_ns;
	return pow(1 - p->confidence, (double)since) < LEVEL;
}

static bool is_contradicted(const struct insights *in, const struct pattern *p)
{
	const struct property_table *t = find_type(in, p);

	if (!t)
		return false;
	return p->type == PATTERN_ANOMALY ? is_over(t, p) : is_contradicted_by(t, p);
}

static bool is_found(const struct insights *in, const struct pattern *p)
{
	vec_each(&in->list, i)
		if (pattern_eq(&i->pattern, p))
			return true;
	return false;
}

void pattern_review(const struct insights *in, const struct patterns *stored, uint64_t now_ns,
                    struct patterns *ret)
{
	struct pattern *slot;

	vec_each(&in->list, i) {
		slot = vec_push(&ret->list, 2 * PATTERNS_MAX);
		if (slot)
			*slot = i->pattern;
	}
	vec_each(&stored->list, p) {
		if (is_found(in, p) || !is_contradicted(in, p))
			continue;
		slot = vec_push(&ret->list, 2 * PATTERNS_MAX);
		if (!slot)
			continue;
		*slot = *p;
		slot->retired_ns = now_ns;
	}
}
