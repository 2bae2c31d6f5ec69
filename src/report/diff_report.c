/* SPDX-License-Identifier: MIT */
#include "report/diff_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool diff_is_comparable(struct diff_pair pair)
{
	return figure_is_known(pair.a) && figure_is_known(pair.b);
}

double diff_ratio(struct diff_pair pair)
{
	if (!diff_is_comparable(pair) || !pair.a.value)
		return NAN;
	return (double)pair.b.value / (double)pair.a.value;
}

/* The bound of b / a: what bounds the divisor bounds the ratio on the other side. Two lower bounds
 * were measured in the same way, and lack much the same: their ratio is a rough one. */
enum diff_bound diff_bound(struct diff_pair pair)
{
	static const enum quality turned[QUALITY_COUNT] = { [QUALITY_SAMPLED] = QUALITY_SAMPLED,
		                                            [QUALITY_AT_LEAST] = QUALITY_AT_MOST,
		                                            [QUALITY_EXACT] = QUALITY_EXACT,
		                                            [QUALITY_AT_MOST] = QUALITY_AT_LEAST };
	static const enum diff_bound bounds[QUALITY_COUNT] = { [QUALITY_MISSING] = DIFF_ROUGH,
		                                               [QUALITY_SAMPLED] = DIFF_ROUGH,
		                                               [QUALITY_AT_LEAST] = DIFF_AT_LEAST,
		                                               [QUALITY_EXACT] = DIFF_EXACT,
		                                               [QUALITY_AT_MOST] = DIFF_AT_MOST };

	return bounds[quality_join(turned[pair.a.quality], pair.b.quality)];
}

const char *diff_bound_key(enum diff_bound bound)
{
	static const char *const keys[] = { [DIFF_EXACT] = "exact",
		                            [DIFF_AT_LEAST] = "at_least",
		                            [DIFF_AT_MOST] = "at_most",
		                            [DIFF_ROUGH] = "rough" };

	return keys[bound];
}

static struct figure span(uint64_t from_ns, uint64_t to_ns)
{
	bool is_known = to_ns > from_ns;

	return (struct figure){ .value = is_known ? to_ns - from_ns : 0,
		                .quality = is_known ? QUALITY_EXACT : QUALITY_MISSING };
}

/* One that was lost has lasted until it was seen last, or longer. */
static struct figure took(const struct job *job)
{
	struct figure took = span(0, job->took_ns);

	if (job->status == JOB_LOST)
		took.quality = quality_join(took.quality, QUALITY_AT_LEAST);
	return took;
}

struct diff_pair diff_took(const struct report *a, const struct report *b)
{
	return (struct diff_pair){ took(&a->job), took(&b->job) };
}

struct diff_pair diff_sheet_took(const struct diff_sheet *s)
{
	return (struct diff_pair){ span(s->a->s.started_ns, s->a->s.ended_ns),
		                   span(s->b->s.started_ns, s->b->s.ended_ns) };
}

static const struct sheet_record no_sheet = { .use.max_cpu_ratio = NAN };
static const struct report_program no_program = { 0 };

static const struct sheet_record *find_sheet(const struct report *r, uint32_t num)
{
	vec_each(&r->sheets, s)
		if (s->s.num == num)
			return s;
	return &no_sheet;
}

static void add_sheet(struct diff *to, const struct sheet_record *a, const struct sheet_record *b)
{
	struct diff_sheet *s = vec_push(&to->sheets, SIZE_MAX);

	*s = (struct diff_sheet){ a, b };
}

static void match_sheets(const struct report *a, const struct report *b, struct diff *ret)
{
	vec_each(&a->sheets, s)
		add_sheet(ret, s, find_sheet(b, s->s.num));
	vec_each(&b->sheets, s)
		if (find_sheet(a, s->s.num) == &no_sheet)
			add_sheet(ret, &no_sheet, s);
}

static uint64_t gap(const struct diff_program *p)
{
	uint64_t a = p->a->cpu_time_ns.value, b = p->b->cpu_time_ns.value;

	return a > b ? a - b : b - a;
}

static int by_gap(const void *x, const void *y)
{
	uint64_t a = gap(x), b = gap(y);

	return (a < b) - (a > b);
}

static const char *name_of(const struct diff_program *p)
{
	return *p->a->name ? p->a->name : p->b->name;
}

static int by_name(const void *x, const void *y)
{
	return strcmp(name_of(x), name_of(y));
}

static void add_program(struct diff *to, const struct report_program *a,
                        const struct report_program *b)
{
	struct diff_program *p = vec_push(&to->programs, SIZE_MAX);

	*p = (struct diff_program){ a, b };
}

/* Both lists by name, then those of one name become one. */
static void match_programs(const struct report *a, const struct report *b, struct diff *ret)
{
	struct diff_program *list;
	size_t n = 0;

	vec_each(&a->programs, p)
		add_program(ret, p, &no_program);
	vec_each(&b->programs, p)
		add_program(ret, &no_program, p);
	if (!ret->programs.len)
		return;
	list = ret->programs.at;
	qsort(list, ret->programs.len, sizeof *list, by_name);
	for (size_t i = 1; i < ret->programs.len; i++) {
		if (by_name(&list[n], &list[i]) != 0)
			list[++n] = list[i];
		else if (list[n].a == &no_program)
			list[n].a = list[i].a;
		else
			list[n].b = list[i].b;
	}
	ret->programs.len = n + 1;
	qsort(list, ret->programs.len, sizeof *list, by_gap);
}

void diff_match(const struct report *a, const struct report *b, struct diff *ret)
{
	match_sheets(a, b, ret);
	match_programs(a, b, ret);
}

void diff_done(struct diff *d)
{
	vec_done(&d->sheets);
	vec_done(&d->programs);
}
