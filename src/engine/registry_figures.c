/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/mem.h"
#include "engine/registry_self.h"

#define OVER_NS (60 * NS_PER_S) /* so long an ended job is shown */

/* Who registered a job may have died with it. */
static void conclude_end(struct registry *d, int32_t at, const struct event *e)
{
	bool is_ok = e->has_exit_code && e->exit_code == 0;
	bool is_known = e->has_exit_code || e->signal;
	struct sheet how = { .status = is_ok      ? JOB_COMPLETED
		                       : is_known ? JOB_FAILED
		                                  : JOB_LOST,
		             .has_exit_code = e->has_exit_code,
		             .exit_code = e->exit_code,
		             .signal = e->signal,
		             .ended_ns = e->wall_ns };

	registry_put_end(d, at, &how);
	registry_job(d, at)->ends_now = true;
	d->entries.at[at].is_concluded = true;
}

/* A foreign job's end is its recorder's to tell. */
static void find_ends(struct registry *d, const struct snapshot *snap)
{
	vec_each(&snap->events, e) {
		int32_t at = e->kind == EVENT_EXIT ? e->job : -1;

		if (at < 0 || (size_t)at >= d->entries.len || d->entries.at[at].over_mono_ns ||
		    registry_job(d, at)->is_foreign || !proc_id_eq(d->entries.at[at].root, e->id))
			continue;
		conclude_end(d, at, e);
	}
}

/* Figures are ours to make: of one with a recorder they are told, of one of the past they stand. */
static bool has_tally(const struct registry *d, int32_t at)
{
	return at >= 0 && (size_t)at < d->entries.len && !registry_job(d, at)->is_foreign &&
	       !d->entries.at[at].is_past;
}

/* What happened to no job is told to all: that something was lost may concern each. */
static void feed_events(struct registry *d, const struct snapshot *snap)
{
	vec_each(&snap->events, e) {
		if (has_tally(d, e->job))
			accounting_take_event(&d->entries.at[e->job].tally, e);
		if (e->job >= 0 || e->kind != EVENT_LOSS)
			continue;
		for (int32_t i = 0; (size_t)i < d->entries.len; i++)
			if (has_tally(d, i))
				accounting_take_event(&d->entries.at[i].tally, e);
	}
}

/* Jobs may be a thousand, and a snapshot comes with each that begins or ends: it is gone through
 * once for them all. */
static void feed_tallies(struct registry *d, const struct snapshot *snap)
{
	feed_events(d, snap);
	if (snap->events_only)
		return;
	vec_each(&snap->procs, p)
		if (has_tally(d, p->job) && (size_t)p->job < snap->sums.len)
			accounting_take_process(&d->entries.at[p->job].tally, p);
	for (int32_t i = 0; (size_t)i < MIN(d->entries.len, snap->sums.len); i++)
		if (has_tally(d, i))
			accounting_take_sum(&d->entries.at[i].tally, snap, i);
}

/* How many live in each job, by its index. */
static uint64_t *count_living(const struct registry *d)
{
	const struct jobtab *jobs = engine_jobs(d->engine);
	uint64_t *n = xcalloc(d->entries.len, sizeof *n);
	struct map_slot slot;

	for (size_t it = 0; map_next(&engine_members(d->engine)->living, &it, &slot);) {
		int32_t at = jobtab_find(jobs, (struct proc_id){ (pid_t)slot.key, slot.value }).job;

		if (at >= 0 && (size_t)at < d->entries.len)
			n[at]++;
	}
	return n;
}

static void put_figures(struct registry *d, int32_t at, uint64_t living,
                        const struct snapshot *snap)
{
	const struct sampler *s = engine_sampler(d->engine);
	const struct registry_entry *entry = &d->entries.at[at];
	struct job *job = registry_job(d, at);
	struct accounting_sources from = {
		.processes = entry->tally.exited + living,
		.living = living,
		.births_are_told = sampler_tells_births(s),
		.ooms_are_told = sampler_tells_totals(s),
		.outlived = entry->outlived,
		.has_ended = entry->over_mono_ns != 0,
	};

	if (!snap->events_only && snap->elapsed_ns)
		job->interval_ns = MAX(job->interval_ns, snap->elapsed_ns);
	accounting_figures(&entry->tally, &from, job);
}

static void forget_old(struct registry *d)
{
	uint64_t now_ns = clock_mono_ns();

	for (int32_t i = (int32_t)d->entries.len - 1; i >= 0; i--) {
		const struct registry_entry *e = &d->entries.at[i];

		if (e->over_mono_ns && e->is_told && now_ns - e->over_mono_ns >= OVER_NS)
			registry_remove(d, i);
	}
}

/* Sheets that ended with their job in this very snapshot. */
static void show_sheets(const struct registry *d, int32_t job, struct snapshot *snap)
{
	vec_each(&engine_jobs(d->engine)->sheets, sheet) {
		struct sheet *shown = NULL;

		if (sheet->job != job || sheet->is_stored)
			continue;
		vec_each(&snap->sheets, s)
			if (s->job == job && s->num == sheet->num)
				shown = s;
		if (!shown)
			shown = vec_push(&snap->sheets, SHEETS_MAX);
		if (shown)
			*shown = *sheet;
		sheet->is_stored = true;
		sheet->ends_now = false;
	}
}

void registry_note(struct registry *d, struct snapshot *snap)
{
	cleanup(freep) uint64_t *living = NULL;

	if (!d->entries.len)
		return;
	find_ends(d, snap);
	feed_tallies(d, snap);
	living = count_living(d);
	for (int32_t i = 0; (size_t)i < d->entries.len && (size_t)i < snap->jobs.len; i++) {
		struct registry_entry *entry = &d->entries.at[i];

		if (has_tally(d, i))
			put_figures(d, i, living[i], snap);
		if (entry->over_mono_ns && !entry->is_told)
			show_sheets(d, i, snap);
		entry->is_told = entry->over_mono_ns != 0;
		snap->jobs.at[i] = *registry_job(d, i);
		registry_job(d, i)->ends_now = false;
	}
	forget_old(d);
}
