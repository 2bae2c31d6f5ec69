/* SPDX-License-Identifier: MIT */
#include "job/gpu_device_account.h"

#include <math.h>

#include "base/clock.h"

/* The driver reports the load of a process only when there is a new figure, about once a second, and
 * none of an idle one. */
#define SM_HOLDS_NS NS_PER_S
/* A busy GPU of which no process is reported to run for so long: the driver does not report loads (any
 * more). */
#define MUTE_NS (10 * NS_PER_S)

static uint64_t part_ns(uint64_t ns, unsigned pct)
{
	return ns / 100 * pct + ns % 100 * pct / 100;
}

static void hold_sm(struct gpu_held_load *held, const struct gpu_load *now, uint64_t boot_ns)
{
	if (now->with_sm) {
		held->sm_pct = now->sm_pct;
		held->boot_ns = boot_ns;
	} else if (!now->uses || boot_ns - MIN(boot_ns, held->boot_ns) > SM_HOLDS_NS) {
		held->sm_pct = 0;
	}
}

static struct gpu_load others_of(const struct gpu_load *all, const struct gpu_load *own)
{
	return (struct gpu_load){ .uses = all->uses - own->uses,
		                  .with_memory = all->with_memory - own->with_memory,
		                  .with_sm = all->with_sm - own->with_sm,
		                  .memory_bytes = all->memory_bytes - own->memory_bytes,
		                  .sm_pct = all->sm_pct - own->sm_pct };
}

static bool is_busy(const struct gpu_sample *gpu)
{
	return readings_or(&gpu->r, GPU_UTIL, 0) > 0;
}

static bool is_bound(const struct gpu_sample *gpu, enum gpu_metric id)
{
	return readings_has(&gpu->r, id) && gpu->at_least >> id & 1;
}

/* A load of 0 means little if it is a sum over the visible processes only. */
static bool is_idle(const struct gpu_sample *gpu)
{
	return readings_has(&gpu->r, GPU_UTIL) && !is_busy(gpu) && !is_bound(gpu, GPU_UTIL);
}

/* Whether the loads of processes are known: as reported, or 0 on a GPU on which nothing runs. */
static void take_load(struct gpu_device_account *d, const struct gpu_sample *gpu,
                      const struct gpu_load *others, uint64_t boot_ns, uint64_t ns)
{
	unsigned own_pct;

	hold_sm(&d->own_sm, &d->own, boot_ns);
	hold_sm(&d->others_sm, others, boot_ns);
	d->has_sm |= gpu->all.with_sm > 0;
	d->mute_ns = is_busy(gpu) && !gpu->all.with_sm ? d->mute_ns + ns : 0;
	d->knows_load = is_idle(gpu) || (d->has_sm && d->mute_ns <= MUTE_NS);
	if (d->own.uses && !d->knows_load)
		d->no_load_ns += ns;
	own_pct = MIN(d->own_sm.sm_pct, 100u);
	d->own_ns += part_ns(ns, own_pct);
	d->own_max_pct = MAX(d->own_max_pct, own_pct);
}

/* A process that is on a GPU holds memory there, even if the driver does not report how much. */
static void take_held(struct gpu_device_account *d, const struct gpu_sample *gpu,
                      const struct gpu_load *others, uint64_t ns)
{
	bool is_alone = gpu->knows_processes && !others->uses;

	if (!d->own.memory_bytes && d->own.uses == d->own.with_memory)
		return;
	d->held_ns += ns;
	if (d->own_sm.sm_pct)
		return;
	if (d->knows_load && !d->own.partial)
		d->idle_ns += ns;
	else if (!is_alone || !is_busy(gpu))
		d->no_idle_ns += ns;
}

/* By their loads if anything runs; what an idle GPU draws is divided among those for which it is kept ready, by
 * the memory that they hold. NAN: not known. */
static double own_part(const struct gpu_device_account *d, const struct gpu_sample *gpu,
                       const struct gpu_load *others)
{
	const struct gpu_load *own = &d->own;
	double own_pct = d->own_sm.sm_pct, bytes = (double)own->memory_bytes;

	if (gpu->knows_processes && !others->uses)
		return 1;
	if (own_pct + d->others_sm.sm_pct > 0)
		return own_pct / (own_pct + d->others_sm.sm_pct);
	if (!d->knows_load || own->with_memory < own->uses || others->with_memory < others->uses)
		return NAN;
	return bytes / (bytes + (double)others->memory_bytes); /* NAN if neither holds any */
}

static void take_energy(struct gpu_device_account *d, const struct gpu_sample *gpu,
                        const struct gpu_load *others, uint64_t ns)
{
	double part = d->own.uses ? own_part(d, gpu, others) : 0;

	if (!d->own.uses)
		return;
	if (!readings_has(&gpu->r, GPU_POWER) || isnan(part)) {
		d->no_energy_ns += ns;
		return;
	}
	d->has_energy = true;
	d->energy_mj += part * (double)gpu->r.value[GPU_POWER] * (double)ns / 1e9;
}

void gpu_device_account_take(struct gpu_device_account *d, const struct gpu_sample *gpu,
                             uint64_t boot_ns, uint64_t watched_ns)
{
	const struct gpu_load others = others_of(&gpu->all, &d->own);

	d->has_answered = true;
	d->seen_ns += watched_ns;
	d->is_partial |= d->own.partial > 0;
	d->bounds |= gpu->at_least & gpu->r.present;
	d->total_bytes = MAX(d->total_bytes, readings_or(&gpu->r, GPU_MEM_TOTAL, 0));
	if (readings_has(&gpu->r, GPU_UTIL)) {
		unsigned pct = (unsigned)gpu->r.value[GPU_UTIL];

		d->known_ns += watched_ns;
		d->busy_ns += part_ns(watched_ns, pct);
		d->max_pct = MAX(d->max_pct, pct);
	}
	take_load(d, gpu, &others, boot_ns, watched_ns);
	take_held(d, gpu, &others, watched_ns);
	take_energy(d, gpu, &others, watched_ns);
}

void gpu_device_account_end_tick(struct gpu_device_account *d, uint64_t elapsed_ns,
                                 uint64_t watched_ns)
{
	if (d->is_used)
		d->missed_ns += elapsed_ns - (d->has_answered ? watched_ns : 0);
	d->has_answered = d->knows_load = false;
	d->own = (struct gpu_load){ 0 };
}
