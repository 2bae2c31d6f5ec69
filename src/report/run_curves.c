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

/* ---- the values between two samples ------------------------------------------------------------- */

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

/* A gauge holds until the next sample; a flow is what the next sample counted since. NULL: there is
 * no sample. */
static void read_values(const struct job_sum *found, const struct job_sum *before,
                        const struct job_sum *next, double seconds,
                        double ret[static RUN_CURVE_COUNT])
{
	const struct job_sum none = { .cpu_ratio = NAN }, *s = found ? found : &none,
			     *b = before ? before : &none, *n = next ? next : &none;

	ret[RUN_CURVE_USED] = known(s->used, 1);
	ret[RUN_CURVE_CHARGED] = known(s->charged, 1);
	ret[RUN_CURVE_CPU] = n->cpu_ratio;
	ret[RUN_CURVE_READ] = rate(b->read, n->read, seconds);
	ret[RUN_CURVE_WRITTEN] = rate(b->written, n->written, seconds);
	ret[RUN_CURVE_GPU_OWN] = known(n->gpu_sm, 10); /* thousandths to percent */
	ret[RUN_CURVE_GPU_ALL] = known(n->gpu_util, 10);
	ret[RUN_CURVE_GPU_MEMORY_OWN] = known(s->gpu_memory, 1);
	ret[RUN_CURVE_GPU_MEMORY_ALL] = known(s->gpu_device_memory, 1);
	/* At the end of the job no process was counted. */
	ret[RUN_CURVE_PROCESSES] = s->procs || s->rss_bytes ? (double)s->procs : NAN;
}

/* ---- points ------------------------------------------------------------------------------------ */

/* Times between samples that become one point. */
struct stretch {
	struct run_curve_set *to;
	double width_s; /* of a point; 0: each is one */
	bool is_open, is_joined;
	double begin_s;
	struct run_curve_value values[RUN_CURVE_COUNT]; /* mean: the sum by time */
	double weights[RUN_CURVE_COUNT];
};

static void stretch_end(struct stretch *s)
{
	struct run_curve_point *p = s->is_open ? vec_push(&s->to->points, SIZE_MAX) : NULL;

	if (!p)
		return;
	p->at_s = s->begin_s;
	for (size_t i = 0; i < RUN_CURVE_COUNT; i++) {
		struct run_curve_value v = s->values[i];
		bool is_known = s->weights[i] > 0;

		v.mean = fmin(fmax(v.mean / s->weights[i], v.low), v.high); /* it is rounded */
		p->values[i] = is_known ? v : (struct run_curve_value){ NAN, NAN, NAN };
		s->to->has[i] |= is_known;
	}
	s->to->is_joined |= s->is_joined;
	*s = (struct stretch){ .to = s->to, .width_s = s->width_s };
}

static void stretch_add(struct stretch *s, double from_s, double to_s,
                        const double values[static RUN_CURVE_COUNT])
{
	double weight = fmax(to_s - from_s, 1e-9);

	if (s->is_open && from_s >= s->begin_s + s->width_s)
		stretch_end(s);
	s->begin_s = s->is_open ? s->begin_s : from_s;
	s->is_joined = s->is_open;
	s->is_open = true;
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

/* A gap is never joined with what is known. */
static void stretch_add_gap(struct stretch *s, double from_s, double to_s)
{
	double values[RUN_CURVE_COUNT];

	for (size_t i = 0; i < RUN_CURVE_COUNT; i++)
		values[i] = NAN;
	stretch_end(s);
	stretch_add(s, from_s, to_s, values);
	stretch_end(s);
}

/* A time between two samples, the first of which may be the begin of the job, the second its end. Of a gap an interval
 * is known at both ends. */
static void add_time(struct stretch *s, const struct job_sum *a, const struct job_sum *b,
                     bool is_begin, double from_s, double to_s, double interval_s)
{
	double values[RUN_CURVE_COUNT];

	if (!(interval_s > 0) || to_s - from_s <= GAP_TICKS * interval_s) {
		read_values(is_begin ? NULL : a, a, b, to_s - from_s, values);
		stretch_add(s, from_s, to_s, values);
		return;
	}
	if (!is_begin) {
		read_values(a, NULL, NULL, 0, values);
		stretch_add(s, from_s, from_s + interval_s, values);
		from_s += interval_s;
	}
	stretch_add_gap(s, from_s, to_s - interval_s);
	read_values(NULL, NULL, b, 0, values);
	stretch_add(s, to_s - interval_s, to_s, values);
}

static double seconds_between(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

void run_curve_set_make(const struct report *r, uint64_t took_ns, struct run_curve_set *ret)
{
	const struct figure zero = { 0, QUALITY_EXACT };
	const struct job_sum begin = { .read = zero, .written = zero };
	double interval_s = (double)r->job.interval_ns / 1e9, took_s = (double)took_ns / 1e9;
	struct stretch s = { .to = ret,
		             .width_s = r->sums.len > RUN_CURVE_POINTS ? took_s / RUN_CURVE_POINTS
		                                                       : 0 };
	const struct job_sum *before = &begin;
	double at_s = 0;

	if (r->sums.len < 2)
		return;
	vec_each(&r->sums, sample) {
		double next_s = fmax(at_s, seconds_between(r->job.started_ns, sample->wall_ns));

		add_time(&s, before, &sample->sum, before == &begin, at_s, next_s, interval_s);
		before = &sample->sum;
		at_s = next_s;
	}
	add_time(&s, before, NULL, false, at_s, fmax(took_s, at_s), interval_s);
	stretch_end(&s);
}

void run_curve_set_done(struct run_curve_set *set)
{
	vec_done(&set->points);
}

/* ---- the band of earlier runs --------------------------------------------------------------------- */

void run_band_begin(struct run_band *band, uint64_t took_ns)
{
	band->runs = 0;
	band->step_s = (double)took_ns / 1e9 / RUN_BAND_POINTS;
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

/* A point holds until the next one, the last up to the end of the run. */
void run_band_add(struct run_band *band, const struct run_curve_set *run, double took_s)
{
	size_t next = 0;

	if (!run->points.len)
		return;
	band->runs++;
	for (size_t i = 0; i < RUN_BAND_POINTS && (double)i * band->step_s < took_s; i++) {
		double end_s = (double)(i + 1) * band->step_s;

		if (next)
			widen(band, i, &run->points.at[next - 1]);
		while (next < run->points.len && run->points.at[next].at_s < end_s)
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
