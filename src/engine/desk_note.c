/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "engine/desk_self.h"

#define OVER_NS (60 * NS_PER_S) /* so long an ended job is shown */

/* Who registered a job may have died with it. */
static void conclude_end(struct desk *d, int32_t at, const struct event *e)
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

	desk_put_end(d, at, &how);
	desk_job(d, at)->ends_now = true;
	d->entries.at[at].is_concluded = true;
}

/* A foreign job's end is its recorder's to tell. */
static void find_ends(struct desk *d, const struct snapshot *snap)
{
	vec_each(&snap->events, e) {
		int32_t at = e->kind == EVENT_EXIT ? e->job : -1;

		if (at < 0 || (size_t)at >= d->entries.len || d->entries.at[at].over_mono_ns ||
		    desk_job(d, at)->is_foreign || !proc_id_eq(d->entries.at[at].root, e->id))
			continue;
		conclude_end(d, at, e);
	}
}

static void put_figures(struct desk *d, int32_t at, const struct snapshot *snap)
{
	const struct sampler *s = engine_sampler(d->engine);
	struct desk_entry *entry = &d->entries.at[at];
	struct job *job = desk_job(d, at);
	uint64_t living = desk_count_living(d, at);
	struct tally_sources from = {
		.processes = entry->tally.exited + living,
		.living = living,
		.births_are_told = sampler_tells_births(s),
		.ooms_are_told = sampler_tells_totals(s),
		.outlived = entry->outlived,
		.has_ended = entry->over_mono_ns != 0,
	};

	tally_feed(&entry->tally, snap, at);
	from.processes = entry->tally.exited + living;
	if (!snap->events_only && snap->elapsed_ns)
		job->interval_ns = MAX(job->interval_ns, snap->elapsed_ns);
	tally_figures(&entry->tally, &from, job);
}

static void forget_old(struct desk *d)
{
	uint64_t now_ns = clock_mono_ns();

	for (int32_t i = (int32_t)d->entries.len - 1; i >= 0; i--) {
		const struct desk_entry *e = &d->entries.at[i];

		if (e->over_mono_ns && e->is_told && now_ns - e->over_mono_ns >= OVER_NS)
			desk_remove(d, i);
	}
}

/* Sheets that ended with their job in this very snapshot. */
static void show_sheets(const struct desk *d, int32_t job, struct snapshot *snap)
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

void desk_note(struct desk *d, struct snapshot *snap)
{
	if (!d->entries.len)
		return;
	find_ends(d, snap);
	for (int32_t i = 0; (size_t)i < d->entries.len && (size_t)i < snap->jobs.len; i++) {
		struct desk_entry *entry = &d->entries.at[i];

		if (!desk_job(d, i)->is_foreign && !entry->is_past)
			put_figures(d, i, snap);
		if (entry->over_mono_ns && !entry->is_told)
			show_sheets(d, i, snap);
		entry->is_told = entry->over_mono_ns != 0;
		snap->jobs.at[i] = *desk_job(d, i);
		desk_job(d, i)->ends_now = false;
	}
	forget_old(d);
}
