/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "view/format.h"
#include "view/report_part.h"
#include "view/spark.h"

#define LABEL_COLUMNS 8
#define CURVE_COLUMNS 60 /* longer ones are not easier to read */

/* As many as there are looks, so that none is empty: the interval may have grown. */
static size_t curve_columns(const struct report *r, const struct canvas *to, uint64_t took)
{
	size_t room = to->width > 44 ? to->width - 44 : 8;
	uint64_t looks = r->job.interval_ns ? took / r->job.interval_ns + 1 : r->sums.len;

	return MIN(MIN(room, (size_t)CURVE_COLUMNS), (size_t)MIN(looks, (uint64_t)r->sums.len));
}

static void put_curve(struct canvas *to, const char *label, const struct spark *spark,
                      uint64_t took, const char *max, const char *unit)
{
	canvas_printf(to, INK_PLAIN, "%-*s0 ", LABEL_COLUMNS, label);
	spark_put(spark, to);
	canvas_printf(to, INK_PLAIN, " %s   max %s%s\n", format_duration(took).at, max, unit);
}

void report_put_curves(const struct report *r, struct canvas *to)
{
	uint64_t took = report_took_ns(r);
	size_t columns = curve_columns(r, to, took);
	struct spark memory, cpu;
	struct fmt cores;

	if (columns < 2) /* one look is no course of things */
		return;
	spark_init(&memory, columns);
	spark_init(&cpu, columns);
	vec_each(&r->sums, s) {
		double where = s->wall_ns > r->job.started_ns
		                       ? (double)(s->wall_ns - r->job.started_ns) / (double)took
		                       : 0;

		spark_add(&memory, where, (double)s->sum.rss_bytes);
		spark_add(&cpu, where, s->sum.cpu_ratio);
	}
	canvas_newline(to);
	put_curve(to, "Memory", &memory, took, format_bytes((uint64_t)memory.max).at, "");
	if (!isfinite(cpu.max))
		return;
	cores = format_milli((uint64_t)(cpu.max * 1000), 1);
	put_curve(to, "CPU", &cpu, took, cores.at, " cores");
}
