/* SPDX-License-Identifier: MIT */
#include "report/diff_baseline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "model/figure_set.h"

static struct figure exact(uint64_t value)
{
	return (struct figure){ value, QUALITY_EXACT };
}

/* The median, and frees the set. */
static struct figure settle(struct figure_set *set)
{
	struct figure median = figure_set_median(set);

	figure_set_done(set);
	return median;
}

static void put_figures(const struct report *const *runs, size_t n, struct job *ret)
{
	struct figure_set took = { 0 };

	for (size_t i = 0; i < n; i++)
		figure_set_add(&took, exact(runs[i]->job.took_ns));
	ret->took_ns = settle(&took).value;
	for (size_t f = 0; f < JOB_FIGURE_COUNT; f++) {
		struct figure_set set = { 0 };

		for (size_t i = 0; i < n; i++)
			figure_set_add(&set, runs[i]->job.figures[f]);
		ret->figures[f] = settle(&set);
	}
}

static const struct sheet_record *find_sheet(const struct report *r, uint32_t num)
{
	vec_each(&r->sheets, s)
		if (s->s.num == num)
			return s;
	return NULL;
}

static void put_sheet(const struct report *const *runs, size_t n, const struct sheet *like,
                      struct report *ret)
{
	struct sheet_record to = { .s = *like, .use.max_cpu_ratio = NAN };
	struct figure_set took = { 0 }, figures[SHEET_FIGURE_COUNT] = { 0 };
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		const struct sheet_record *s = find_sheet(runs[i], like->num);

		if (!s || s->s.ended_ns <= s->s.started_ns)
			continue;
		found++;
		figure_set_add(&took, exact(s->s.ended_ns - s->s.started_ns));
		for (size_t f = 0; f < SHEET_FIGURE_COUNT; f++)
			figure_set_add(&figures[f], s->use.figures[f]);
	}
	to.s.ended_ns = to.s.started_ns + settle(&took).value;
	for (size_t f = 0; f < SHEET_FIGURE_COUNT; f++)
		to.use.figures[f] = settle(&figures[f]);
	if (2 * found > n)
		report_add_sheet(ret, &to);
}

static const struct report_program *find_program(const struct report *r, const char *name)
{
	vec_each(&r->programs, p)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

static void put_program(const struct report *const *runs, size_t n, const char *name,
                        struct report *ret)
{
	struct figure_set processes = { 0 }, cpu = { 0 };
	struct report_program *to;
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		const struct report_program *p = find_program(runs[i], name);

		if (!p)
			continue;
		found++;
		figure_set_add(&processes, exact(p->processes));
		figure_set_add(&cpu, p->cpu_time_ns);
	}
	to = 2 * found > n ? vec_push(&ret->programs, REPORT_PROGRAMS_MAX) : NULL;
	if (to) {
		memcpy(to->name, name, sizeof to->name);
		to->processes = figure_set_median(&processes).value;
		to->cpu_time_ns = figure_set_median(&cpu);
	}
	figure_set_done(&processes);
	figure_set_done(&cpu);
}

void diff_baseline(const struct report *const *runs, size_t n, struct report *ret)
{
	ret->now_ns = runs[0]->now_ns;
	ret->job = (struct job){ .handle = -1, .status = JOB_COMPLETED, .has_exit_code = true };
	memcpy(ret->job.type, runs[0]->job.type, sizeof ret->job.type);
	snprintf(ret->job.id, sizeof ret->job.id, "median of %zu", n);
	put_figures(runs, n, &ret->job);
	for (size_t i = 0; i < n; i++) {
		vec_each(&runs[i]->sheets, s)
			if (!find_sheet(ret, s->s.num))
				put_sheet(runs, n, &s->s, ret);
		vec_each(&runs[i]->programs, p)
			if (!find_program(ret, p->name))
				put_program(runs, n, p->name, ret);
	}
}
