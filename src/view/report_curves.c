/* SPDX-License-Identifier: MIT */
#include "view/report_curves.h"

#include <math.h>

#include "view/format.h"
#include "view/job_view.h"

#define LABEL_COLUMNS 8
#define CURVE_COLUMNS 60 /* longer ones are not easier to read */

/* The most that was seen in each stretch of time; a stretch nothing was seen in is NAN. */
struct curve {
	double at[CURVE_COLUMNS];
	size_t n;
	double max; /* of all; NAN: nothing was seen */
};

static struct curve curve_of(size_t n)
{
	struct curve c = { .n = n, .max = NAN };

	for (size_t i = 0; i < n; i++)
		c.at[i] = NAN;
	return c;
}

/* `where` is 0…1 of the whole time. */
static void add_value(struct curve *c, double where, double value)
{
	size_t i = (size_t)(fmin(where, 1) * (double)c->n);

	i = MIN(i, c->n - 1);
	if (!isfinite(value))
		return;
	c->at[i] = fmax(c->at[i], value); /* fmax passes NAN over */
	c->max = fmax(c->max, value);
}

/* ▁▂▃▄▅▆▇█, a blank for what is not known; ASCII where it must be. Ticks are not even: a single stretch
 * without one shows the value before it. */
static void put_values(const struct curve *c, struct canvas *to)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[] = { "_", ".", ",", "-", "=", "+", "*", "#" };

	for (size_t i = 0; i < c->n; i++) {
		double value = isnan(c->at[i]) && i ? c->at[i - 1] : c->at[i];
		double share = c->max > 0 ? value / c->max : 0;
		size_t level;

		if (!isfinite(value)) {
			canvas_put(to, INK_PLAIN, " ");
			continue;
		}
		level = MIN((size_t)(fmax(share, 0) * (double)ARRAY_LEN(blocks)),
		            ARRAY_LEN(blocks) - 1);
		canvas_put(to, INK_PLAIN, to->unicode ? blocks[level] : ascii[level]);
	}
}

/* No more than there are samples, so that none is empty: the interval may have grown. */
static size_t curve_columns(const struct report *r, const struct canvas *to, uint64_t took)
{
	size_t room = to->width > 44 ? to->width - 44 : 8;
	uint64_t ticks = r->job.interval_ns ? took / r->job.interval_ns + 1 : r->sums.len;

	return MIN(MIN(room, (size_t)CURVE_COLUMNS), (size_t)MIN(ticks, (uint64_t)r->sums.len));
}

static void put_curve(struct canvas *to, const char *label, const struct curve *c, uint64_t took,
                      const char *max, const char *unit)
{
	canvas_printf(to, INK_PLAIN, "%-*s0 ", LABEL_COLUMNS, label);
	put_values(c, to);
	canvas_printf(to, INK_PLAIN, " %s   max %s%s\n", format_duration(took).at, max, unit);
}

static double memory_of(const struct job_sum_record *s)
{
	return figure_is_known(s->sum.used) ? (double)s->sum.used.value : NAN;
}

void report_curves(const struct report *r, struct canvas *to)
{
	uint64_t took = job_took_ns(&r->job, r->now_ns);
	size_t columns = curve_columns(r, to, took);
	struct curve memory, cpu;

	if (columns < 2 || !took) /* a single sample is no curve */
		return;
	memory = cpu = curve_of(columns);
	vec_each(&r->sums, s) {
		double where = s->wall_ns > r->job.started_ns
		                       ? (double)(s->wall_ns - r->job.started_ns) / (double)took
		                       : 0;

		add_value(&memory, where, memory_of(s));
		add_value(&cpu, where, s->sum.cpu_ratio);
	}
	canvas_newline(to);
	if (isfinite(memory.max))
		put_curve(to, "Memory", &memory, took, format_bytes((uint64_t)memory.max).at, "");
	if (isfinite(cpu.max))
		put_curve(to, "CPU", &cpu, took,
		          cpu.max < 0.05 && job_view_count(&r->job, JOB_FIGURE_CPU)
		                  ? "<0.1"
		                  : format_milli((uint64_t)(cpu.max * 1000), 1).at,
		          " cores");
}
