/* SPDX-License-Identifier: MIT */
#include "report/diff_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool diff_can_tell(struct diff_pair pair)
{
	return figure_is_known(pair.a) && figure_is_known(pair.b) &&
	       (pair.a.quality != QUALITY_AT_LEAST || pair.b.quality != QUALITY_AT_LEAST);
}

double diff_ratio(struct diff_pair pair)
{
	if (!diff_can_tell(pair) || !pair.a.value)
		return NAN;
	return (double)pair.b.value / (double)pair.a.value;
}

enum diff_bound diff_bound(struct diff_pair pair)
{
	if (pair.a.quality == QUALITY_EXACT && pair.b.quality == QUALITY_EXACT)
		return DIFF_EXACT;
	if (pair.a.quality == QUALITY_EXACT && pair.b.quality == QUALITY_AT_LEAST)
		return DIFF_AT_LEAST;
	if (pair.a.quality == QUALITY_AT_LEAST && pair.b.quality == QUALITY_EXACT)
		return DIFF_AT_MOST;
	return DIFF_ROUGH;
}

const char *diff_bound_key(enum diff_bound bound)
{
	static const char *const keys[] = { [DIFF_EXACT] = "exact",
		                            [DIFF_AT_LEAST] = "at_least",
		                            [DIFF_AT_MOST] = "at_most",
		                            [DIFF_ROUGH] = "rough" };

	return keys[bound];
}

static struct figure span(uint64_t ns)
{
	return (struct figure){ .value = ns, .quality = ns ? QUALITY_EXACT : QUALITY_MISSING };
}

struct figure diff_took(const struct report *r)
{
	return span(r->job.took_ns);
}

struct figure diff_sheet_took(const struct sheet_record *s)
{
	if (!s || s->s.ended_ns <= s->s.started_ns)
		return span(0);
	return span(s->s.ended_ns - s->s.started_ns);
}

const struct sheet_record *diff_find_sheet(const struct report *r, uint32_t num)
{
	vec_each(&r->sheets, s)
		if (s->s.num == num)
			return s;
	return NULL;
}

static uint64_t cpu_of(const struct report_program *p)
{
	return p && figure_is_known(p->cpu_time_ns) ? p->cpu_time_ns.value : 0;
}

static uint64_t gap(const struct diff_program *p)
{
	uint64_t a = cpu_of(p->a), b = cpu_of(p->b);

	return a > b ? a - b : b - a;
}

static int by_gap(const void *x, const void *y)
{
	uint64_t a = gap(x), b = gap(y);

	return (a < b) - (a > b);
}

static int by_name(const void *x, const void *y)
{
	const struct diff_program *a = x, *b = y;

	return strcmp((a->a ? a->a : a->b)->name, (b->a ? b->a : b->b)->name);
}

static void add_one(struct diff_programs *to, const struct report_program *a,
                    const struct report_program *b)
{
	struct diff_program *p = vec_push(&to->list, 2 * REPORT_PROGRAMS_MAX);

	if (p)
		*p = (struct diff_program){ a, b };
}

/* Both lists by name, then those of one name become one. */
void diff_match_programs(const struct report *a, const struct report *b, struct diff_programs *ret)
{
	size_t n = 0;

	vec_each(&a->programs, p)
		add_one(ret, p, NULL);
	vec_each(&b->programs, p)
		add_one(ret, NULL, p);
	if (!ret->list.len)
		return;
	qsort(ret->list.at, ret->list.len, sizeof *ret->list.at, by_name);
	for (size_t i = 1; i < ret->list.len; i++) {
		struct diff_program *last = &ret->list.at[n], *p = &ret->list.at[i];

		if (by_name(last, p) == 0) {
			last->a = last->a ? last->a : p->a;
			last->b = last->b ? last->b : p->b;
		} else {
			ret->list.at[++n] = *p;
		}
	}
	ret->list.len = n + 1;
	qsort(ret->list.at, ret->list.len, sizeof *ret->list.at, by_gap);
}
