/* SPDX-License-Identifier: MIT */
#include "report/diff_condition.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/opts.h"

/* Short names; the labels and keys of all figures are taken, too. */
#define NAMES "time, cpu, user, system, memory, charged, largest, read, written, procs or failed"
static const struct {
	const char *name;
	int figure;
} names[] = {
	{ "time", DIFF_TIME },
	{ "took", DIFF_TIME },
	{ "memory", JOB_FIGURE_PEAK_USED },
	{ "charged", JOB_FIGURE_PEAK_CHARGED },
	{ "largest", JOB_FIGURE_PEAK_RSS },
	{ "procs", JOB_FIGURE_PROCESSES },
};

static bool is_word(struct scan text, const char *word)
{
	size_t n = strlen(word);

	return scan_left(&text) == n && strncasecmp(text.p, word, n) == 0;
}

/* Without the blanks that indent it. */
static const char *label_of(size_t figure)
{
	const char *label = job_figures[figure].label;

	return label ? label + strspn(label, " ") : NULL;
}

static bool find_figure(struct scan text, int *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (is_word(text, names[i].name)) {
			*ret = names[i].figure;
			return true;
		}
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
		if (label_of(i) &&
		    (is_word(text, label_of(i)) || is_word(text, job_figures[i].key))) {
			*ret = (int)i;
			return true;
		}
	return false;
}

const char *diff_condition_name(const struct diff_condition *c)
{
	return c->figure == DIFF_TIME ? "time" : label_of((size_t)c->figure);
}

enum metric_unit diff_condition_unit(const struct diff_condition *c)
{
	return c->figure == DIFF_TIME ? UNIT_NS : job_figures[c->figure].unit;
}

static struct scan trim(struct scan text)
{
	scan_blanks(&text);
	while (text.end > text.p && (text.end[-1] == ' ' || text.end[-1] == '\t'))
		text.end--;
	return text;
}

static bool is_factor_sign(const struct scan *rest)
{
	return scan_eq(rest, "x") || scan_eq(rest, "X") || scan_eq(rest, "×");
}

/* "1.2x", "+20%", "-10%": what the first job's figure is multiplied by. 0: it is none of these; -EINVAL. */
static int parse_factor(struct scan text, enum metric_unit unit, double *ret, struct err *err)
{
	bool is_more = scan_lit(&text, "+"), is_less = !is_more && scan_lit(&text, "-");
	uint64_t micro;

	if (!scan_typed(&text, 6, &micro))
		return 0;
	if (scan_eq(&text, "%") && !is_more && !is_less && unit == UNIT_PCT)
		return 0;
	if (scan_eq(&text, "%") && !is_more && !is_less)
		return err_set(err, EINVAL,
		               "a percentage needs a sign; write +20%% for 1.2 times as much");
	if (scan_eq(&text, "%"))
		*ret = 1 + (is_more ? 1 : -1) * (double)micro / 1e8;
	else if (is_factor_sign(&text) && !is_more && !is_less)
		*ret = (double)micro / 1e6;
	else
		return 0;
	return *ret > 0 && *ret < 1e6
	               ? 1
	               : err_set(err, EINVAL, "a factor lies between 0 and 1,000,000");
}

static int parse_value(struct scan text, enum metric_unit unit, uint64_t *ret, struct err *err)
{
	bool has_unit = false;

	for (const char *p = text.p; p < text.end; p++)
		has_unit |= !strchr("0123456789.", *p);

	switch (unit) {
	case UNIT_NS:
		if (has_unit && clock_parse_duration(text, ret))
			return 0;
		return err_set(err, EINVAL, "write 10s, 5m, 1.2x or +20%%");
	case UNIT_MIB:
	case UNIT_BYTES:
		if (has_unit && opts_parse_size(text, ret))
			return 0;
		return err_set(err, EINVAL, "write 500M, 8G, 1.2x or +20%%");
	case UNIT_MILLI:
		if (scan_typed(&text, 3, ret) && scan_at_end(&text))
			return 0;
		return err_set(err, EINVAL, "write a number, 1.2x or +20%%");
	case UNIT_PCT:
		if (scan_typed(&text, 1, ret) && scan_eq(&text, "%"))
			return 0;
		return err_set(err, EINVAL, "write 80%%, 1.2x or +20%%");
	case UNIT_WH:
		if (scan_typed(&text, 3, ret) && scan_eq(&text, "Wh") &&
		    !__builtin_mul_overflow(*ret, MJ_PER_WH / 1000, ret))
			return 0;
		return err_set(err, EINVAL, "write 50Wh, 1.2x or +20%%");
	case UNIT_COUNT:
		break;
	}
	if (scan_u64(&text, ret) && scan_at_end(&text))
		return 0;
	return err_set(err, EINVAL, "write a whole number, 1.2x or +20%%");
}

int diff_condition_parse(struct scan text, struct diff_condition *ret, struct err *err)
{
	struct diff_condition c = { .text = trim(text) };
	const int len = (int)MIN(scan_left(&c.text), (size_t)80);
	const char *sign = c.text.p;
	struct scan name, value;
	int r;

	while (sign < c.text.end && *sign != '>' && *sign != '<')
		sign++;
	if (sign == c.text.end)
		return err_set(err, EINVAL,
		               "'%.*s' has no > or <; write cpu>1.2x, memory>+20%% or time>10s",
		               len, c.text.p);
	c.is_above = *sign == '>';
	name = trim(scan_mem(c.text.p, (size_t)(sign - c.text.p)));
	value = trim(scan_mem(sign + 1, (size_t)(c.text.end - sign - 1)));
	if (!find_figure(name, &c.figure))
		return err_set(err, EINVAL, "'%.*s': '%.*s' is no figure; write " NAMES, len,
		               c.text.p, (int)MIN(scan_left(&name), (size_t)40), name.p);
	r = parse_factor(value, diff_condition_unit(&c), &c.factor, err);
	if (r == 0)
		r = parse_value(value, diff_condition_unit(&c), &c.value, err);
	if (r < 0)
		return err_wrap(err, "'%.*s'", len, c.text.p);
	*ret = c;
	return 0;
}

struct diff_pair diff_condition_pair(const struct diff_condition *c, const struct report *a,
                                     const struct report *b)
{
	if (c->figure == DIFF_TIME)
		return diff_took(a, b);
	return (struct diff_pair){ a->job.figures[c->figure], b->job.figures[c->figure] };
}

/* The values that a figure may have. A bound counts as its value, but where it is compared with a
 * figure of another quality. */
struct range {
	double low, high;
};

static struct range range_of(struct figure f, double factor, bool is_mixed)
{
	double value = (double)f.value * factor;

	return (struct range){ .low = is_mixed && f.quality == QUALITY_AT_MOST ? 0 : value,
		               .high = is_mixed && f.quality == QUALITY_AT_LEAST ? INFINITY
		                                                                 : value };
}

enum diff_answer diff_condition_check(const struct diff_condition *c, struct diff_pair pair)
{
	const struct figure fixed = { c->value, QUALITY_EXACT };
	bool is_mixed = c->factor > 0 && pair.a.quality != pair.b.quality;
	struct range is = range_of(pair.b, 1, is_mixed),
		     limit = c->factor > 0 ? range_of(pair.a, c->factor, is_mixed)
	                                   : range_of(fixed, 1, false);

	if (!figure_is_known(pair.b) || (c->factor > 0 && !figure_is_known(pair.a)))
		return DIFF_UNDECIDED;
	if (c->is_above ? is.low > limit.high : is.high < limit.low)
		return DIFF_YES;
	if (c->is_above ? is.high <= limit.low : is.low >= limit.high)
		return DIFF_NO;
	return DIFF_UNDECIDED;
}
