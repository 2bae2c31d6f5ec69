/* SPDX-License-Identifier: MIT */
#include "report/run_curves.h"

#include <math.h>

#include "base/clock.h"

#define X(id, title, unit) [RUN_CHART_##id] = { title, unit },
const struct run_chart_info run_charts[RUN_CHART_COUNT] = { RUN_CHARTS(X) };
#undef X
#define X(id, key, label, chart) [RUN_CURVE_##id] = { key, label, RUN_CHART_##chart },
const struct run_curve_info run_curves[RUN_CURVE_COUNT] = { RUN_CURVES(X) };
#undef X

#define GAP_TICKS 3 /* so many intervals without a sample are a gap */
#define GAP_EDGE_S 0.001

/* ---- the values of one sample ------------------------------------------------------------------ */

static double known(struct figure f, double unit)
{
	return figure_is_known(f) ? (double)f.value / unit : NAN;
}

/* NAN where it is not known, also where the counter was reset. */
static double rate(struct figure before, struct figure now, double seconds)
{
	if (!figure_is_known(before) || !figure_is_known(now) || now.value < before.value ||
	    !(seconds > 0))
		return NAN;
	return (double)(now.value - before.value) / seconds;
}

/* `before` is NULL for the first sample. */
static void read_values(const struct job_sum_record *before, const struct job_sum_record *now,
                        double seconds, double ret[static RUN_CURVE_COUNT])
{
	const struct job_sum none = { 0 }, *s = &now->sum, *b = before ? &before->sum : &none;

	ret[RUN_CURVE_USED] = known(s->used, 1);
	ret[RUN_CURVE_CHARGED] = known(s->charged, 1);
	ret[RUN_CURVE_CPU] = s->cpu_ratio;
	ret[RUN_CURVE_READ] = rate(b->read, s->read, seconds);
	ret[RUN_CURVE_WRITTEN] = rate(b->written, s->written, seconds);
	ret[RUN_CURVE_GPU_OWN] = known(s->gpu_sm, 10); /* thousandths to percent */
	ret[RUN_CURVE_GPU_ALL] = known(s->gpu_util, 10);
	ret[RUN_CURVE_GPU_MEMORY_OWN] = known(s->gpu_memory, 1);
	ret[RUN_CURVE_GPU_MEMORY_ALL] = known(s->gpu_device_memory, 1);
	/* At the end of the job no process was counted. */
	ret[RUN_CURVE_PROCESSES] = s->procs || s->rss_bytes ? (double)s->procs : NAN;
}

/* ---- points ------------------------------------------------------------------------------------ */

/* Samples that become one point. */
struct stretch {
	size_t n;
	double sum_at_s;
	struct run_curve_value values[RUN_CURVE_COUNT]; /* mean: the sum by time */
	double weights[RUN_CURVE_COUNT];
};

static void stretch_add(struct stretch *s, double at_s, double weight,
                        const double values[static RUN_CURVE_COUNT])
{
	s->n++;
	s->sum_at_s += at_s;
	for (size_t i = 0; i < RUN_CURVE_COUNT; i++) {
		struct run_curve_value *v = &s->values[i];

		if (!isfinite(values[i]))
			continue;
		v->low = s->weights[i] > 0 ? fmin(v->low, values[i]) : values[i];
		v->high = s->weights[i] > 0 ? fmax(v->high, values[i]) : values[i];
		v->mean += values[i] * weight;
		s->weights[i] += weight;
	}
}

static void stretch_end(struct stretch *s, struct run_curve_set *to)
{
	struct run_curve_point *p = s->n ? vec_push(&to->points, SIZE_MAX) : NULL;

	if (!p)
		return;
	p->at_s = s->sum_at_s / (double)s->n;
	for (size_t i = 0; i < RUN_CURVE_COUNT; i++) {
		bool is_known = s->weights[i] > 0;

		p->values[i] = is_known ? s->values[i] : (struct run_curve_value){ NAN, NAN, NAN };
		p->values[i].mean /= s->weights[i];
		to->has[i] |= is_known;
	}
	to->is_joined |= s->n > 1;
	*s = (struct stretch){ 0 };
}

static void add_gap(struct run_curve_set *to, double at_s)
{
	struct run_curve_point *p = vec_push(&to->points, SIZE_MAX);

	p->at_s = at_s;
	for (size_t i = 0; i < RUN_CURVE_COUNT; i++)
		p->values[i] = (struct run_curve_value){ NAN, NAN, NAN };
}

static double seconds_between(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

void run_curve_set_make(const struct report *r, uint64_t took_ns, struct run_curve_set *ret)
{
	double gap_s = r->job.interval_ns ? GAP_TICKS * (double)r->job.interval_ns / 1e9 : INFINITY;
	double width_s = r->sums.len > RUN_CURVE_POINTS ? (double)took_ns / 1e9 / RUN_CURVE_POINTS
	                                                : 0;
	const struct job_sum_record *before = NULL;
	struct stretch stretch = { 0 };
	double begin_s = 0;

	vec_each(&r->sums, s) {
		double at_s = seconds_between(r->job.started_ns, s->wall_ns);
		double passed_s = before ? seconds_between(before->wall_ns, s->wall_ns) : at_s;
		bool is_gap = before && passed_s > gap_s;
		double values[RUN_CURVE_COUNT];

		read_values(before, s, passed_s, values);
		if (is_gap || at_s >= begin_s + width_s) {
			stretch_end(&stretch, ret);
			begin_s = at_s;
		}
		if (is_gap) { /* at both ends, so that no line is drawn into it */
			add_gap(ret, at_s - passed_s + GAP_EDGE_S);
			add_gap(ret, at_s - GAP_EDGE_S);
		}
		stretch_add(&stretch, at_s, fmax(passed_s, 1e-9), values);
		before = s;
	}
	stretch_end(&stretch, ret);
}

void run_curve_set_done(struct run_curve_set *set)
{
	vec_done(&set->points);
}

/* ---- the band of earlier runs --------------------------------------------------------------------- */

void run_band_begin(struct run_band *band, uint64_t took_ns)
{
	band->runs = 0;
	band->step_s = (double)took_ns / 1e9 / (RUN_BAND_POINTS - 1);
	for (size_t i = 0; i < RUN_BAND_POINTS; i++)
		for (size_t c = 0; c < RUN_CURVE_COUNT; c++)
			band->at[i][c].low = band->at[i][c].high = NAN;
}

static void widen(struct run_band *band, size_t i, const struct run_curve_point *p)
{
	for (size_t c = 0; c < RUN_CURVE_COUNT; c++) {
		band->at[i][c].low = fmin(band->at[i][c].low, p->values[c].low);
		band->at[i][c].high = fmax(band->at[i][c].high, p->values[c].high);
	}
}

/* Between two samples the first holds, up to the end of the run. */
void run_band_add(struct run_band *band, const struct run_curve_set *run, double took_s)
{
	size_t next = 0;

	if (!run->points.len)
		return;
	band->runs++;
	for (size_t i = 0; i < RUN_BAND_POINTS && (double)i * band->step_s <= took_s; i++) {
		double end_s = ((double)i + 0.5) * band->step_s;

		if (next)
			widen(band, i, &run->points.at[next - 1]);
		while (next < run->points.len && run->points.at[next].at_s <= end_s)
			widen(band, i, &run->points.at[next++]);
	}
}

struct earlier {
	struct job_key than;
	VEC(struct job) jobs;
};

static int add_earlier(void *self, const struct job *job)
{
	struct earlier *e = self;

	if (!job_key_eq(job_key_of(job), e->than))
		*vec_push(&e->jobs, SIZE_MAX) = *job;
	return 0;
}

static int add_run(struct history *history, const struct job *job, struct run_band *band,
                   struct err *err)
{
	cleanup(report_done) struct report run = { .job = *job };
	cleanup(run_curve_set_done) struct run_curve_set curves = { 0 };
	int n = history_job_sums(history, job_key_of(job), REPORT_SUMS_MAX, report_add_sum, &run,
	                         err);

	if (n < 0)
		return n;
	run_curve_set_make(&run, job->took_ns, &curves);
	run_band_add(band, &curves, (double)job->took_ns / 1e9);
	return 0;
}

int run_band_gather(struct history *history, const struct job *job, uint64_t took_ns,
                    struct run_band *ret, struct err *err)
{
	const struct job_filter filter = { .type = job->type,
		                           .outcome = "ok",
		                           .until_ns = job->started_ns,
		                           .of_one_user = true,
		                           .uid = job->uid };
	struct earlier earlier = { .than = job_key_of(job) };
	int r = history_jobs(history, &filter, RUN_BAND_RUNS + 1, add_earlier, &earlier, err);

	run_band_begin(ret, took_ns);
	for (size_t i = 0; r >= 0 && i < MIN(earlier.jobs.len, (size_t)RUN_BAND_RUNS); i++)
		r = add_run(history, &earlier.jobs.at[i], ret, err);
	vec_done(&earlier.jobs);
	return r < 0 ? r : 0;
}
