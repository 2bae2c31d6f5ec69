/* SPDX-License-Identifier: MIT */
#include "view/diff_verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/diff_change.h"
#include "view/job_view.h"

/* The figures of a verdict. */
enum { TIME, CPU, MEMORY, FIGURES };

struct sentence {
	const struct diff *d;
	bool unicode, is_work_done; /* both succeeded: else more time is not slower */
	struct diff_pair pairs[FIGURES];
	struct diff_change changes[FIGURES];
	const char *names[FIGURES];
	struct buf *to;
};

static void begin_clause(struct sentence *v)
{
	if (v->to->len)
		buf_puts(v->to, "; ");
}

/* "1.07×", "1.3×", "12×" */
static struct words factor_words(double factor, bool unicode)
{
	struct words w;

	snprintf(w.at, sizeof w.at, "%.*f%s", factor < 1.095 ? 2 : factor < 9.95, factor,
	         unicode ? "×" : "x");
	return w;
}

struct words diff_ratio_words(const char *sign, double ratio, bool unicode)
{
	const char *times = unicode ? "×" : "x";
	struct words w;

	if (ratio < 0.005)
		snprintf(w.at, sizeof w.at, "%s<0.01%s", sign, times);
	else
		snprintf(w.at, sizeof w.at, "%s%.*f%s", sign, ratio < 9.995 ? 2 : ratio < 99.95,
		         ratio, times);
	return w;
}

static const char *doubt(enum diff_bound bound)
{
	return bound == DIFF_ROUGH ? "about " : bound == DIFF_AT_LEAST ? "at least " : "";
}

static void put_culprit(struct sentence *v, int figure)
{
	const char *program = figure == CPU ? diff_main_program(v->d, v->pairs[CPU]) : NULL;
	uint32_t num = figure == TIME ? diff_main_sheet(v->d, v->pairs[TIME]) : 0;

	if (program)
		buf_printf(v->to, ", mostly %s", program);
	if (!num)
		return;
	buf_printf(v->to, ", mostly sheet %u", num);
	vec_each(&v->d->sheets, s)
		if (MAX(s->a->s.num, s->b->s.num) == num && *s->b->s.label)
			buf_printf(v->to, " (%s)", s->b->s.label);
}

static void put_change(struct sentence *v, int figure)
{
	const struct diff_change *c = &v->changes[figure];
	static const char *const words[][2] = { { "faster", "slower" },
		                                { "shorter", "longer" },
		                                { "less ", "more " } };
	const char *how = words[figure != TIME ? 2 : !v->is_work_done][c->direction == DIFF_MORE];

	if (c->direction != DIFF_MORE && c->direction != DIFF_LESS)
		return;
	begin_clause(v);
	if (isfinite(c->factor))
		buf_printf(v->to, "%s%s ", doubt(c->bound), factor_words(c->factor, v->unicode).at);
	buf_printf(v->to, "%s%s", how, figure == TIME ? "" : v->names[figure]);
	put_culprit(v, figure);
}

/* "time, CPU and memory unchanged", of the figures first to last. */
static void put_alike(struct sentence *v, enum diff_direction direction, int first, int last,
                      const char *what)
{
	int names[FIGURES], n = 0;

	for (int i = first; i <= last; i++)
		if (v->changes[i].direction == direction &&
		    (figure_is_known(v->pairs[i].a) || figure_is_known(v->pairs[i].b)))
			names[n++] = i;
	if (!n)
		return;
	begin_clause(v);
	for (int i = 0; i < n; i++)
		buf_printf(v->to, "%s%s",
		           i == 0       ? ""
		           : i == n - 1 ? " and "
		                        : ", ",
		           v->names[names[i]]);
	buf_printf(v->to, " %s", what);
}

static void set(struct sentence *v, int figure, const char *name, struct diff_pair pair,
                enum metric_unit unit)
{
	v->names[figure] = name;
	v->pairs[figure] = pair;
	v->changes[figure] = diff_change(pair, unit);
}

/* Memory in use, or its largest process where one of the two does not know that. */
static void set_memory(struct sentence *v, const struct job *a, const struct job *b)
{
	const struct diff_pair used = { a->figures[JOB_FIGURE_PEAK_USED],
		                        b->figures[JOB_FIGURE_PEAK_USED] };
	const struct diff_pair largest = { a->figures[JOB_FIGURE_PEAK_RSS],
		                           b->figures[JOB_FIGURE_PEAK_RSS] };

	if (!diff_is_comparable(used) && diff_is_comparable(largest))
		set(v, MEMORY, "memory in the largest process", largest, UNIT_MIB);
	else
		set(v, MEMORY, "memory", used, UNIT_MIB);
}

void diff_verdict(const struct report *a, const struct report *b, const struct diff *d,
                  bool unicode, struct buf *to)
{
	struct words was = job_view_result(&a->job), is = job_view_result(&b->job);
	struct sentence v = { .d = d,
		             .unicode = unicode,
		             .is_work_done = a->job.status == JOB_COMPLETED &&
		                             b->job.status == JOB_COMPLETED,
		             .to = to };

	buf_reset(to);
	set(&v, TIME, "time", diff_took(a, b), UNIT_NS);
	set(&v, CPU, "CPU",
	    (struct diff_pair){ a->job.figures[JOB_FIGURE_CPU], b->job.figures[JOB_FIGURE_CPU] },
	    UNIT_NS);
	set_memory(&v, &a->job, &b->job);
	if (strcmp(was.at, is.at) != 0)
		buf_printf(to, "%s instead of %s", is.at, was.at);
	for (int i = 0; i < FIGURES; i++)
		put_change(&v, i);
	put_alike(&v, DIFF_UNCHANGED, TIME, MEMORY, "unchanged");
	put_alike(&v, DIFF_TOO_SMALL, TIME, CPU, "too short to compare");
	put_alike(&v, DIFF_TOO_SMALL, MEMORY, MEMORY, "too small to compare");
	put_alike(&v, DIFF_UNKNOWN, TIME, MEMORY, "not comparable");
	if (!to->len)
		buf_puts(to, "nothing to compare: no figures are known");
}

/* ---- a condition ------------------------------------------------------------------------------ */

void diff_verdict_condition_words(const struct diff_condition *c, const struct report *a,
                                  const struct report *b, bool unicode, struct buf *to)
{
	struct diff_pair pair = diff_condition_pair(c, a, b);
	enum metric_unit unit = diff_condition_unit(c);
	const struct report *unknown = !figure_is_known(pair.b)                    ? b
	                               : c->factor > 0 && !figure_is_known(pair.a) ? a
	                                                                           : NULL;

	buf_puts(to, diff_condition_name(c));
	if (unknown) {
		buf_printf(to, " is not known of %s", unknown->job.id);
		return;
	}
	buf_printf(to, " %s", job_view_figure(pair.b, unit, unicode).at);
	if (c->factor > 0 && pair.a.value && pair.b.value)
		buf_printf(
			to, ", %s of",
			diff_ratio_words("", (double)pair.b.value / (double)pair.a.value, unicode)
				.at);
	else if (c->factor > 0)
		buf_puts(to, ", was");
	if (c->factor > 0)
		buf_printf(to, " %s", job_view_figure(pair.a, unit, unicode).at);
	if (diff_condition_check(c, pair) == DIFF_UNDECIDED)
		buf_puts(to, ": not decided by bounds");
}
