/* SPDX-License-Identifier: MIT */
#include "job/gpu_account.h"

#include "base/clock.h"

/* The driver reports the load of a process only when there is a new figure, about once a second, and
 * none of an idle one. */
#define SM_HOLDS_NS NS_PER_S

static struct gpu_account_device *find_device(struct gpu_account *a, uint32_t index)
{
	struct gpu_account_device *added;

	vec_each(&a->devices, d)
		if (d->index == index)
			return d;
	added = vec_push(&a->devices, GPUS_MAX);
	if (added)
		*added = (struct gpu_account_device){ .index = index };
	return added;
}

void gpu_account_add(struct gpu_account *a, const struct snapshot *snap, const struct gpu_use *use)
{
	struct gpu_account_device *d = use->gpu < snap->gpus.len
	                                       ? find_device(a, snap->gpus.at[use->gpu].index)
	                                       : NULL;

	if (!d)
		return;
	d->is_used = true;
	d->uses++;
	d->uses_with_memory += readings_has(&use->r, GPU_USE_MEM);
	d->own_bytes += readings_or(&use->r, GPU_USE_MEM, 0);
	d->uses_with_sm += readings_has(&use->r, GPU_USE_SM);
	d->own_sm_pct += (unsigned)readings_or(&use->r, GPU_USE_SM, 0);
}

static bool uses_any(const struct gpu_account *a)
{
	vec_each(&a->devices, d)
		if (d->is_used)
			return true;
	return false;
}

/* Whose figures are shown. */
static bool counts(const struct gpu_account *a, const struct gpu_account_device *d)
{
	return d->is_used || (!a->was_listed && !uses_any(a));
}

static uint64_t part_ns(uint64_t ns, unsigned pct)
{
	return ns / 100 * pct + ns % 100 * pct / 100;
}

static void take_sm(struct gpu_account_device *d, uint64_t boot_ns, uint64_t elapsed_ns)
{
	if (d->uses_with_sm) {
		d->has_sm = true;
		d->sm_pct = MIN(d->own_sm_pct, 100u);
		d->sm_boot_ns = boot_ns;
	} else if (!d->uses || boot_ns - MIN(boot_ns, d->sm_boot_ns) > SM_HOLDS_NS) {
		d->sm_pct = 0;
	}
	d->own_ns += part_ns(elapsed_ns, d->sm_pct);
}

static void take_device(struct gpu_account *a, struct gpu_account_device *d,
                        const struct gpu_sample *gpu, const struct snapshot *snap)
{
	if (gpu->knows_processes)
		a->lacks_memory |= d->uses > d->uses_with_memory;
	else
		a->was_unlisted = true;
	d->seen_ns += snap->elapsed_ns;
	d->total_bytes = MAX(d->total_bytes, readings_or(&gpu->r, GPU_MEM_TOTAL, 0));
	if (readings_has(&gpu->r, GPU_UTIL)) {
		unsigned pct = (unsigned)gpu->r.value[GPU_UTIL];

		d->known_ns += snap->elapsed_ns;
		d->busy_ns += part_ns(snap->elapsed_ns, pct);
		d->max_pct = MAX(d->max_pct, pct);
	}
	take_sm(d, snap->boot_ns, snap->elapsed_ns);
}

static struct figure figure(uint64_t value, enum quality quality)
{
	return (struct figure){ value, quality };
}

/* Of processes that are not listed, some may be the job's. */
static enum quality own_quality(const struct gpu_account *a)
{
	return a->was_unlisted || a->lacks_memory ? QUALITY_AT_LEAST : QUALITY_SAMPLED;
}

struct tick_sums {
	uint64_t own_bytes, held_bytes, sm_pct, util_pct;
	unsigned uses_with_memory, with_held, with_util;
	bool has_sm;
};

static void sum_device(const struct gpu_account_device *d, const struct gpu_sample *gpu,
                       struct tick_sums *to)
{
	to->own_bytes += d->own_bytes;
	to->uses_with_memory += d->uses_with_memory;
	to->has_sm |= d->has_sm;
	to->sm_pct += d->sm_pct;
	to->with_held += readings_has(&gpu->r, GPU_MEM_USED);
	to->held_bytes += readings_or(&gpu->r, GPU_MEM_USED, 0);
	to->with_util += readings_has(&gpu->r, GPU_UTIL);
	to->util_pct += readings_or(&gpu->r, GPU_UTIL, 0);
}

static void keep_sums(struct gpu_account *a, const struct tick_sums *t, struct job_sum *ret)
{
	bool is_used = uses_any(a);

	a->has_own |= t->uses_with_memory > 0;
	a->own_bytes = MAX(a->own_bytes, t->own_bytes);
	if (a->has_own)
		ret->gpu_memory = figure(t->own_bytes, own_quality(a));
	if (t->with_held && (is_used || !a->was_listed)) {
		a->has_held = true;
		a->held_bytes = MAX(a->held_bytes, t->held_bytes);
		ret->gpu_device_memory = figure(t->held_bytes, QUALITY_SAMPLED);
	}
	if (t->has_sm)
		ret->gpu_sm = figure(10 * t->sm_pct, QUALITY_SAMPLED);
	if (t->with_util)
		ret->gpu_util = figure(10 * t->util_pct / t->with_util, QUALITY_SAMPLED);
}

static void forget_tick(struct gpu_account *a)
{
	vec_each(&a->devices, d) {
		d->uses = d->uses_with_memory = d->uses_with_sm = d->own_sm_pct = 0;
		d->own_bytes = 0;
	}
}

void gpu_account_take(struct gpu_account *a, const struct snapshot *snap, struct job_sum *ret)
{
	struct tick_sums sums = { 0 };
	unsigned answered = 0, listed = 0;

	vec_each(&snap->gpus, gpu) {
		struct gpu_account_device *d = gpu->r.present ? find_device(a, gpu->index) : NULL;

		if (!d)
			continue;
		answered++;
		listed += gpu->knows_processes;
		take_device(a, d, gpu, snap);
	}
	a->was_listed |= answered && listed == answered;
	vec_each(&snap->gpus, gpu) {
		const struct gpu_account_device *d = find_device(a, gpu->index);

		if (d && gpu->r.present && counts(a, d))
			sum_device(d, gpu, &sums);
	}
	keep_sums(a, &sums, ret);
	forget_tick(a);
}

struct totals {
	uint64_t gpus, seen_ns, busy_ns, known_ns, own_ns, total_bytes;
	unsigned max_pct;
	bool has_sm, lacks_total;
};

static struct totals sum_devices(const struct gpu_account *a)
{
	struct totals t = { .own_ns = a->past_ns };

	vec_each(&a->devices, d) {
		if (!counts(a, d))
			continue;
		t.gpus++;
		t.seen_ns += d->seen_ns;
		t.busy_ns += d->busy_ns;
		t.known_ns += d->known_ns;
		t.own_ns += d->own_ns;
		t.total_bytes += d->total_bytes;
		t.lacks_total |= !d->total_bytes;
		t.max_pct = MAX(t.max_pct, d->max_pct);
		t.has_sm |= d->has_sm;
	}
	return t;
}

/* Thousandths. */
static uint64_t share(uint64_t part, uint64_t whole)
{
	return (uint64_t)((double)part * 1000 / (double)whole + 0.5);
}

static void set_own(const struct gpu_account *a, const struct totals *t, struct figure *ret)
{
	if (a->has_own)
		ret[JOB_FIGURE_PEAK_GPU_MEMORY] = figure(a->own_bytes, own_quality(a));
	if (!t->has_sm && !a->past_ns)
		return;
	ret[JOB_FIGURE_GPU_TIME] = figure(t->own_ns, QUALITY_SAMPLED);
	if (t->seen_ns)
		ret[JOB_FIGURE_GPU_SM] = figure(share(t->own_ns - a->past_ns, t->seen_ns),
		                                QUALITY_SAMPLED);
}

static void set_devices(const struct gpu_account *a, const struct totals *t, struct figure *ret)
{
	if (t->known_ns) {
		ret[JOB_FIGURE_GPU_UTIL] = figure(share(t->busy_ns, t->known_ns), QUALITY_SAMPLED);
		ret[JOB_FIGURE_GPU_UTIL_MAX] = figure(10 * t->max_pct, QUALITY_SAMPLED);
	}
	if (a->has_held)
		ret[JOB_FIGURE_PEAK_GPU_DEVICE] = figure(a->held_bytes, QUALITY_SAMPLED);
	if (!t->lacks_total && t->gpus)
		ret[JOB_FIGURE_GPU_DEVICE] = figure(t->total_bytes, QUALITY_SAMPLED);
}

/* A job that uses no GPU has nothing to do with what others do there. */
void gpu_account_figures(const struct gpu_account *a, struct job *ret)
{
	bool is_used = uses_any(a);
	struct totals t = sum_devices(a);

	if (is_used || a->was_listed)
		ret->figures[JOB_FIGURE_GPUS] = figure(
			is_used ? t.gpus : 0, a->was_unlisted ? QUALITY_AT_LEAST : QUALITY_SAMPLED);
	if (!is_used && (a->was_listed || !t.max_pct))
		return;
	set_own(a, &t, ret->figures);
	set_devices(a, &t, ret->figures);
}

void gpu_account_resume(struct gpu_account *a, const struct job *job)
{
	const struct figure *own = &job->figures[JOB_FIGURE_PEAK_GPU_MEMORY],
			    *held = &job->figures[JOB_FIGURE_PEAK_GPU_DEVICE],
			    *time = &job->figures[JOB_FIGURE_GPU_TIME];

	a->has_own = figure_is_known(*own);
	a->own_bytes = a->has_own ? own->value : 0;
	a->has_held = figure_is_known(*held);
	a->held_bytes = a->has_held ? held->value : 0;
	a->past_ns = figure_is_known(*time) ? time->value : 0;
}

void gpu_account_done(struct gpu_account *a)
{
	vec_done(&a->devices);
}
