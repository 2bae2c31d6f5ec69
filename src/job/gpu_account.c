/* SPDX-License-Identifier: MIT */
#include "job/gpu_account.h"

#include <math.h>

/* Loads are reported late at first, and a busy driver answers late at times: a figure of which more than this
 * part is missing is a lower bound. */
#define TOLERATED_PART 20

static struct gpu_device_account *find_device(struct gpu_account *a, uint32_t index)
{
	struct gpu_device_account *added;

	vec_each(&a->devices, d)
		if (d->index == index)
			return d;
	added = vec_push(&a->devices, GPUS_MAX);
	if (added)
		*added = (struct gpu_device_account){ .index = index };
	return added;
}

void gpu_account_add(struct gpu_account *a, const struct snapshot *snap, const struct gpu_use *use)
{
	struct gpu_device_account *d = use->gpu < snap->gpus.len
	                                       ? find_device(a, snap->gpus.at[use->gpu].index)
	                                       : NULL;

	if (!d)
		return;
	d->is_used = true;
	gpu_load_add(&d->own, use);
}

static bool uses_any(const struct gpu_account *a)
{
	vec_each(&a->devices, d)
		if (d->is_used)
			return true;
	return false;
}

/* The device whose figures are shown. */
static bool counts(const struct gpu_account *a, const struct gpu_device_account *d)
{
	return d->is_used || (!a->was_listed && !uses_any(a));
}

static struct figure figure(uint64_t value, enum quality quality)
{
	return (struct figure){ value, quality };
}

static enum quality bound_if(bool is_part)
{
	return is_part ? QUALITY_AT_LEAST : QUALITY_SAMPLED;
}

/* Processes that are not listed may belong to the job. */
static enum quality own_quality(const struct gpu_account *a)
{
	return bound_if(a->was_unlisted || a->lacks_memory);
}

struct totals {
	uint64_t gpus, seen_ns, busy_ns, known_ns, own_ns, held_ns, idle_ns, total_bytes;
	uint64_t missed_ns, no_load_ns, no_idle_ns, no_energy_ns;
	double energy_mj;
	unsigned max_pct, own_max_pct;
	bool has_sm, has_energy, lacks_total, is_partial;
	uint64_t bounds;
};

static void sum_device(const struct gpu_device_account *d, struct totals *t)
{
	t->gpus++;
	t->seen_ns += d->seen_ns;
	t->busy_ns += d->busy_ns;
	t->known_ns += d->known_ns;
	t->own_ns += d->own_ns;
	t->held_ns += d->held_ns;
	t->idle_ns += d->idle_ns;
	t->no_load_ns += d->no_load_ns;
	t->no_idle_ns += d->no_idle_ns;
	t->no_energy_ns += d->no_energy_ns;
	t->energy_mj += d->energy_mj;
	t->total_bytes += d->total_bytes;
	t->max_pct = MAX(t->max_pct, d->max_pct);
	t->own_max_pct = MAX(t->own_max_pct, d->own_max_pct);
	t->has_sm |= d->has_sm;
	t->has_energy |= d->has_energy;
	t->missed_ns += d->missed_ns;
	t->lacks_total |= !d->total_bytes;
	t->is_partial |= d->is_partial;
	t->bounds |= d->bounds;
}

static struct totals sum_devices(const struct gpu_account *a)
{
	struct totals t = { 0 };

	vec_each(&a->devices, d)
		if (counts(a, d))
			sum_device(d, &t);
	return t;
}

/* An integral over the time in which the job was on GPUs, of which `unknown_ns` are missing. */
static struct figure integral(const struct gpu_account *a, const struct totals *t, uint64_t value,
                              uint64_t unknown_ns, struct figure past)
{
	bool is_part = a->was_unlisted || t->is_partial || figure_is_known(past) ||
	               t->missed_ns + unknown_ns > t->held_ns / TOLERATED_PART;

	return figure(value + (figure_is_known(past) ? past.value : 0), bound_if(is_part));
}

static struct figure energy(const struct gpu_account *a, const struct totals *t)
{
	if (!t->has_energy)
		return a->past.energy;
	return integral(a, t, (uint64_t)llround(t->energy_mj), t->no_energy_ns, a->past.energy);
}

struct tick_sums {
	uint64_t own_bytes, held_bytes, sm_pct, util_pct;
	unsigned with_memory, with_held, with_util, partial;
	bool has_sm, lacks_sm;
	uint64_t bounds;
};

static void sum_tick(const struct gpu_device_account *d, const struct gpu_sample *gpu,
                     struct tick_sums *to)
{
	to->own_bytes += d->own.memory_bytes;
	to->with_memory += d->own.with_memory;
	to->has_sm |= d->knows_load && d->is_used;
	to->lacks_sm |= !d->knows_load && d->own.uses;
	to->sm_pct += MIN(d->own_sm.sm_pct, 100u);
	to->with_held += readings_has(&gpu->r, GPU_MEM_USED);
	to->held_bytes += readings_or(&gpu->r, GPU_MEM_USED, 0);
	to->with_util += readings_has(&gpu->r, GPU_UTIL);
	to->util_pct += readings_or(&gpu->r, GPU_UTIL, 0);
	to->partial += d->own.partial;
	to->bounds |= gpu->at_least & gpu->r.present;
}

static bool is_bound(uint64_t bounds, enum gpu_metric id)
{
	return bounds >> id & 1;
}

static void keep_sums(struct gpu_account *a, const struct tick_sums *t, struct job_sum *ret)
{
	const struct totals totals = sum_devices(a);

	a->has_own |= t->with_memory > 0;
	a->own_bytes = MAX(a->own_bytes, t->own_bytes);
	if (a->has_own)
		ret->gpu_memory = figure(t->own_bytes, own_quality(a));
	if (t->with_held && (uses_any(a) || !a->was_listed)) {
		a->has_held = true;
		a->held_bytes = MAX(a->held_bytes, t->held_bytes);
		ret->gpu_device_memory = figure(t->held_bytes,
		                                bound_if(is_bound(t->bounds, GPU_MEM_USED)));
	}
	if (t->has_sm && !t->lacks_sm)
		ret->gpu_sm = figure(10 * t->sm_pct, bound_if(t->partial > 0));
	if (t->with_util)
		ret->gpu_util = figure(10 * t->util_pct / t->with_util,
		                       bound_if(is_bound(t->bounds, GPU_UTIL)));
	ret->gpu_energy = energy(a, &totals);
}

static void take_device(struct gpu_account *a, struct gpu_device_account *d,
                        const struct gpu_sample *gpu, uint64_t boot_ns, uint64_t watched_ns)
{
	if (gpu->knows_processes)
		a->lacks_memory |= d->own.uses > d->own.with_memory || d->own.partial;
	else
		a->was_unlisted = true;
	gpu_device_account_take(d, gpu, boot_ns, watched_ns);
}

void gpu_account_take(struct gpu_account *a, const struct snapshot *snap, uint64_t watched_ns,
                      struct job_sum *ret)
{
	struct tick_sums sums = { 0 };
	unsigned answered = 0, listed = 0;

	vec_each(&snap->gpus, gpu) {
		struct gpu_device_account *d = gpu->r.present ? find_device(a, gpu->index) : NULL;

		if (!d)
			continue;
		answered++;
		listed += gpu->knows_processes;
		take_device(a, d, gpu, snap->boot_ns, watched_ns);
	}
	a->was_listed |= answered && listed == answered;
	vec_each(&snap->gpus, gpu) {
		const struct gpu_device_account *d = find_device(a, gpu->index);

		if (d && gpu->r.present && counts(a, d))
			sum_tick(d, gpu, &sums);
	}
	keep_sums(a, &sums, ret);
	vec_each(&a->devices, d)
		gpu_device_account_end_tick(d, snap->elapsed_ns, watched_ns);
}

/* Thousandths. */
static uint64_t share(uint64_t part, uint64_t whole)
{
	return (uint64_t)((double)part * 1000 / (double)whole + 0.5);
}

static void set_load(const struct gpu_account *a, const struct totals *t, struct figure *ret)
{
	uint64_t past_max = figure_is_known(a->past.sm_max) ? a->past.sm_max.value : 0;
	bool is_known = t->has_sm || (t->held_ns && !t->no_load_ns);

	if (!is_known) {
		ret[JOB_FIGURE_GPU_TIME] = a->past.time;
		ret[JOB_FIGURE_GPU_SM_MAX] = a->past.sm_max;
		return;
	}
	ret[JOB_FIGURE_GPU_TIME] = integral(a, t, t->own_ns, t->no_load_ns, a->past.time);
	ret[JOB_FIGURE_GPU_SM_MAX] = figure(MAX(10 * t->own_max_pct, past_max),
	                                    bound_if(t->is_partial));
	if (t->seen_ns)
		ret[JOB_FIGURE_GPU_SM] = figure(share(t->own_ns, t->seen_ns),
		                                bound_if(t->is_partial));
}

static void set_held(const struct gpu_account *a, const struct totals *t, struct figure *ret)
{
	bool knows_idle = t->held_ns && (t->idle_ns || !t->no_idle_ns);

	if (a->has_own)
		ret[JOB_FIGURE_PEAK_GPU_MEMORY] = figure(a->own_bytes, own_quality(a));
	ret[JOB_FIGURE_GPU_HELD] = t->held_ns ? integral(a, t, t->held_ns, 0, a->past.held)
	                                      : a->past.held;
	ret[JOB_FIGURE_GPU_IDLE_HELD] = knows_idle ? integral(a, t, t->idle_ns, t->no_idle_ns,
	                                                      a->past.idle)
	                                           : a->past.idle;
	ret[JOB_FIGURE_GPU_ENERGY] = energy(a, t);
}

static void set_devices(const struct gpu_account *a, const struct totals *t, struct figure *ret)
{
	const enum quality load = bound_if(is_bound(t->bounds, GPU_UTIL));

	if (t->known_ns) {
		ret[JOB_FIGURE_GPU_UTIL] = figure(share(t->busy_ns, t->known_ns), load);
		ret[JOB_FIGURE_GPU_UTIL_MAX] = figure(10 * t->max_pct, load);
	}
	if (a->has_held)
		ret[JOB_FIGURE_PEAK_GPU_DEVICE] = figure(
			a->held_bytes, bound_if(is_bound(t->bounds, GPU_MEM_USED)));
	if (!t->lacks_total && t->gpus)
		ret[JOB_FIGURE_GPU_DEVICE] = figure(t->total_bytes, QUALITY_SAMPLED);
}

/* A job that uses no GPU has nothing to do with what others do there. */
void gpu_account_figures(const struct gpu_account *a, struct job *ret)
{
	bool is_used = uses_any(a);
	struct totals t = sum_devices(a);
	uint64_t past = figure_is_known(a->past.gpus) ? a->past.gpus.value : 0;

	if (is_used || a->was_listed)
		ret->figures[JOB_FIGURE_GPUS] = figure(MAX(is_used ? t.gpus : 0, past),
		                                       a->was_unlisted ? QUALITY_AT_LEAST
		                                                       : QUALITY_SAMPLED);
	if (!is_used && (a->was_listed || !t.max_pct))
		return;
	set_load(a, &t, ret->figures);
	set_held(a, &t, ret->figures);
	set_devices(a, &t, ret->figures);
}

void gpu_account_resume(struct gpu_account *a, const struct job *job)
{
	const struct figure *f = job->figures;

	a->has_own = figure_is_known(f[JOB_FIGURE_PEAK_GPU_MEMORY]);
	a->own_bytes = a->has_own ? f[JOB_FIGURE_PEAK_GPU_MEMORY].value : 0;
	a->has_held = figure_is_known(f[JOB_FIGURE_PEAK_GPU_DEVICE]);
	a->held_bytes = a->has_held ? f[JOB_FIGURE_PEAK_GPU_DEVICE].value : 0;
	a->past = (struct gpu_account_past){
		.gpus = f[JOB_FIGURE_GPUS],
		.time = f[JOB_FIGURE_GPU_TIME],
		.sm_max = f[JOB_FIGURE_GPU_SM_MAX],
		.energy = f[JOB_FIGURE_GPU_ENERGY],
		.held = f[JOB_FIGURE_GPU_HELD],
		.idle = f[JOB_FIGURE_GPU_IDLE_HELD],
	};
}

void gpu_account_done(struct gpu_account *a)
{
	vec_done(&a->devices);
}
