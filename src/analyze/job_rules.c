/* SPDX-License-Identifier: MIT */
/* Anomalies of a job as a whole. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/rules.h"

#define EXHAUSTION_PART 0.3                /* of the limit is left, at most */
#define EXHAUSTION_NS (300.0 * NS_PER_S)   /* … and lasts no longer than this */
#define EXHAUSTION_SOON_NS (60.0 * NS_PER_S)
#define GROWTH_LEAST_NS (20 * NS_PER_S) /* it has grown for so long */
#define STALL_LATE_NS (60 * NS_PER_S) /* of a job that lasts longer than earlier runs */
#define STORM_PROCS 1000                /* more than any machine has use for */
#define STORM_GROWTH 4
#define STORM_LIMIT_LEAST 32 /* smaller limits are intended: sandboxes */
#define GPU_FLOOR_BYTES (UINT64_C(64) << 20) /* a context alone holds no more */
#define THROTTLED_RATIO 0.25
#define THROTTLED_LEAST_NS (20 * NS_PER_S)
#define DISK_FULL_PART 0.05 /* of the room is left: it is as good as full, */
#define DISK_FULL_NS (3600.0 * NS_PER_S) /* … if that lasts no longer than this */
#define LEAK_FLOOR_BYTES (double)(UINT64_C(64) << 20) /* smaller growth is ignored */

static double known_or_0(struct figure figure)
{
	return figure_is_known(figure) ? (double)figure.value : 0;
}

/* Healthy jobs grow, too: only more than all earlier runs ever needed is a sign. */
JOB_RULE(rule_memory_leak)
{
	double used = known_or_0(in->snap->sums.at[job].used);
	double bound = type_history_bound(t->past, PAST_USED);

	if (bound <= 0 || used <= MAX(bound, t->past->of[PAST_USED].most + LEAK_FLOOR_BYTES))
		return false;
	f->value = used;
	f->base = t->past->of[PAST_USED].most;
	f->threshold = MAX(bound, f->base + LEAK_FLOOR_BYTES);
	f->base_boot_ns = in->snap->boot_ns;
	f->runs = t->past->of[PAST_USED].n;
	f->severity = SEVERITY_HIGH;
	return true;
}

/* ---- the limit of memory in force --------------------------------------------------------------- */

struct room {
	double limit, left;
};

/* That of a group around the job counts what all in it use; where there is none, so does the machine's memory. */
static struct room find_room(const struct anomaly_input *in, size_t job, double used)
{
	const struct job *j = &in->snap->jobs.at[job];
	const struct cgroup_readings *group = &in->snap->cgroup;
	double total = (double)readings_or(&in->snap->host, HOST_MEM_TOTAL, 0);
	double available = (double)readings_or(&in->snap->host, HOST_MEM_AVAILABLE, 0);
	double own = (double)j->limit[JOB_LIMIT_MEM];
	double around = in->owns_group ? (double)readings_or(group, CGROUP_MEM_LIMIT, 0) : 0;
	double around_used = (double)readings_or(group, CGROUP_MEM_LIMIT_USED, 0);
	struct room room = { total, available };

	if (around > 0 && around_used > 0 && around - around_used < room.left)
		room = (struct room){ around, MAX(around - around_used, 0.0) };
	if (own > 0 && own - used < room.left)
		room = (struct room){ own, MAX(own - used, 0.0) };
	return room;
}

/* That a run grows as every run does, and ends below the limit, is ordinary. */
JOB_RULE(rule_memory_exhaustion)
{
	struct figure used = in->snap->sums.at[job].used;
	struct recent_value now = { in->snap->boot_ns, known_or_0(used) };
	double growth = recent_values_growth(&t->used, GROWTH_LEAST_NS, now);
	struct room room = find_room(in, job, now.value);
	double bound = type_history_bound(t->past, PAST_USED), left_ns;

	if (growth <= 0 || room.limit <= 0 || room.left > EXHAUSTION_PART * room.limit ||
	    now.value < LEAK_FLOOR_BYTES)
		return false;
	left_ns = room.left / growth * (double)NS_PER_S;
	if (left_ns > EXHAUSTION_NS || (now.value <= bound && bound < now.value + room.left))
		return false;
	f->value = left_ns;
	f->threshold = EXHAUSTION_NS;
	f->base = room.limit;
	f->other = room.limit - room.left;
	f->base_boot_ns = in->snap->boot_ns;
	f->runs = bound > 0 ? t->past->of[PAST_USED].n : 0;
	f->severity = left_ns <= EXHAUSTION_SOON_NS ? SEVERITY_CRITICAL : SEVERITY_HIGH;
	return true;
}

/* ---- processes ---------------------------------------------------------------------------------- */

static double storm_threshold(const struct anomaly_input *in, size_t job)
{
	uint64_t own = in->snap->jobs.at[job].limit[JOB_LIMIT_PIDS];
	uint64_t around = in->owns_group ? readings_or(&in->snap->cgroup, CGROUP_PIDS_LIMIT, 0) : 0;
	uint64_t limit = own && around ? MIN(own, around) : MAX(own, around);

	return limit >= STORM_LIMIT_LEAST ? MIN((double)limit * 0.9, STORM_PROCS) : STORM_PROCS;
}

/* A build starts as many processes as there are cores. What multiplies beyond all measure does not end. */
JOB_RULE(rule_fork_storm)
{
	double procs = in->snap->sums.at[job].procs, threshold = storm_threshold(in, job);
	double born = known_or_0(in->snap->jobs.at[job].figures[JOB_FIGURE_PROCESSES]);
	double bound = type_history_bound(t->past, PAST_PROCESSES);
	struct recent_value first;

	if (procs < threshold || !recent_values_earliest(&t->procs, &first) ||
	    procs < STORM_GROWTH * first.value || (bound > 0 && born <= bound))
		return false;
	f->value = procs;
	f->threshold = threshold;
	f->base = first.value;
	f->base_boot_ns = first.at_ns;
	f->runs = bound > 0 ? t->past->of[PAST_PROCESSES].n : 0;
	f->severity = SEVERITY_CRITICAL;
	return true;
}

/* ---- what it holds and does not use, or is not given -------------------------------------------- */

JOB_RULE(rule_gpu_idle)
{
	uint64_t held = in->snap->sums.at[job].gpu_memory.value;
	uint64_t idle_ns = t->gpu_idle_since_ns ? in->snap->boot_ns - t->gpu_idle_since_ns : 0;

	if (idle_ns < in->config->gpu_idle_ns || held < GPU_FLOOR_BYTES)
		return false;
	f->value = (double)idle_ns;
	f->threshold = (double)in->config->gpu_idle_ns;
	f->base = NAN;
	f->base_boot_ns = t->gpu_idle_since_ns;
	f->other = (double)held;
	f->severity = SEVERITY_MEDIUM;
	return true;
}

/* The value is a share of the CPU time that the job would have used without its CPU limit. */
JOB_RULE(rule_throttled)
{
	struct recent_value cpu, before;
	double used, held_back;

	if (!recent_values_earliest(&t->cpu, &cpu) ||
	    !recent_values_earliest(&t->throttled, &before) ||
	    in->snap->boot_ns - cpu.at_ns < THROTTLED_LEAST_NS)
		return false;
	used = known_or_0(in->snap->sums.at[job].cpu_ns) - cpu.value;
	held_back = job_history_throttled(in->snap, job, in->owns_group) - before.value;
	if (held_back <= 0 || used < 0 || held_back < THROTTLED_RATIO * (used + held_back))
		return false;
	f->value = held_back / (used + held_back);
	f->threshold = THROTTLED_RATIO;
	f->base = NAN;
	f->base_boot_ns = cpu.at_ns;
	f->severity = SEVERITY_MEDIUM;
	return true;
}

/* ---- room on disks ------------------------------------------------------------------------------ */

/* How long the free space lasts at the present rate; INFINITY: it does not shrink. */
static double room_lasts_ns(const struct disk_trail *d)
{
	double used = (double)d->now.total_bytes - (double)d->now.free_bytes;
	double growth = recent_values_growth(&d->used, GROWTH_LEAST_NS,
	                                     (struct recent_value){ d->seen_ns, used });

	return growth > 0 ? (double)d->now.free_bytes / growth * (double)NS_PER_S : INFINITY;
}

/* Whether its own files grow at half of that rate or more. */
static bool is_filled_by_job(const struct disk_trail *d, double left_ns)
{
	double growth = recent_values_growth(
		&d->own, GROWTH_LEAST_NS,
		(struct recent_value){ d->seen_ns, (double)d->now.own_bytes });

	return growth * left_ns / (double)NS_PER_S * 2 >= (double)d->now.free_bytes;
}

static double disk_threshold(const struct disk_trail *d, double left_ns)
{
	double part = (double)d->now.free_bytes / (double)d->now.total_bytes;

	if (part <= EXHAUSTION_PART && left_ns <= EXHAUSTION_NS)
		return EXHAUSTION_NS;
	return part <= DISK_FULL_PART && left_ns <= DISK_FULL_NS && is_filled_by_job(d, left_ns)
	               ? DISK_FULL_NS
	               : 0;
}

/* Reports the disk that will be full first. */
JOB_RULE(rule_disk_filling)
{
	const struct disk_trail *worst = NULL;
	double left_ns = INFINITY;

	(void)job;
	for (size_t i = 0; i < JOB_DISKS; i++) {
		const struct disk_trail *d = &t->disks[i];
		double lasts_ns;

		if (!d->seen_ns || in->snap->boot_ns - d->seen_ns > JOB_DISK_FRESH_NS)
			continue;
		lasts_ns = room_lasts_ns(d);
		if (lasts_ns >= left_ns || disk_threshold(d, lasts_ns) <= 0)
			continue;
		left_ns = lasts_ns;
		worst = d;
	}
	if (!worst)
		return false;
	f->value = left_ns;
	f->threshold = disk_threshold(worst, left_ns);
	f->base = (double)worst->now.total_bytes;
	f->other = (double)worst->now.free_bytes;
	f->base_boot_ns = worst->seen_ns;
	snprintf(f->text, sizeof f->text, "%s", worst->now.path);
	f->severity = left_ns <= EXHAUSTION_SOON_NS ? SEVERITY_CRITICAL
	              : left_ns <= EXHAUSTION_NS    ? SEVERITY_HIGH
	                                            : SEVERITY_MEDIUM;
	return true;
}

/* ---- nothing happens ---------------------------------------------------------------------------- */

/* A wait that may end by itself is not reported, unless the job lasts longer than all earlier runs
 * did. */
static uint64_t patience_of(const struct anomaly_input *in, size_t job, const struct job_trail *t,
                            struct finding *f)
{
	const struct job *j = &in->snap->jobs.at[job];
	uint64_t patience_ns = stall_patience_ns(t->stall.kind);
	double age = (double)(in->snap->wall_ns - MIN(j->started_ns, in->snap->wall_ns));
	double bound = type_history_bound(t->past, PAST_TOOK);

	if (bound <= 0 || age <= bound || patience_ns <= STALL_LATE_NS)
		return patience_ns;
	f->runs = t->past->of[PAST_TOOK].n;
	return STALL_LATE_NS;
}

JOB_RULE(rule_stall)
{
	uint64_t idle_ns = in->snap->boot_ns - t->idle_since_ns, patience_ns;

	if (t->stall.kind == STALL_NONE || !t->idle_since_ns)
		return false;
	patience_ns = patience_of(in, job, t, f);
	if (idle_ns < patience_ns)
		return false;
	f->id = t->stall.id;
	memcpy(f->comm, t->stall.comm, sizeof f->comm);
	memcpy(f->text, t->stall.text, sizeof f->text);
	f->value = (double)idle_ns;
	f->threshold = (double)patience_ns;
	f->base = NAN;
	f->base_boot_ns = t->idle_since_ns;
	f->severity = t->stall.kind <= STALL_UNINTERRUPTIBLE ? SEVERITY_HIGH : SEVERITY_MEDIUM;
	return true;
}
