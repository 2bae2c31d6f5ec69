/* SPDX-License-Identifier: MIT */
#include "job/watched_job.h"

#include "base/clock.h"
#include "base/mem.h"

void watched_job_free(struct watched_job *w)
{
	if (!w)
		return;
	accounting_done(&w->accounting);
	free(w->claim.cgroup);
	free(w->claim.workspace);
	free(w);
}

bool watched_job_keeps_accounts(const struct watched_job *w)
{
	return !w->row->job.is_foreign && !w->is_past;
}

void watched_job_compute(struct watched_job *w, const struct accounting_sources *sources)
{
	struct accounting_sources from = *sources;

	from.processes = w->row->processes;
	from.living = w->row->living;
	from.outlived = w->outlived;
	from.has_ended = w->has_outlived;
	from.leaked = w->leaked;
	from.is_over = w->has_leaked;
	accounting_figures(&w->accounting, &from, &w->row->job);
}

/* ---- its end --------------------------------------------------------------------------------- */

static void close_sheets(struct watched_job *w)
{
	vec_each(&w->row->sheets, sheet) {
		if (sheet->status != JOB_RUNNING)
			continue;
		job_row_end_sheet(w->row, sheet, JOB_FAILED,
		                  MAX(w->row->job.ended_ns, sheet->started_ns));
		sheet->ends_now = true;
	}
}

void watched_job_end(struct watched_job *w, const struct job_end *how)
{
	struct job *job = &w->row->job;

	job->status = how->status;
	job->has_exit_code = how->has_exit_code;
	job->exit_code = how->exit_code;
	job->signal = how->signal;
	job->core_dumped = how->core_dumped;
	w->is_published = w->end_is_inferred = false;
	if (w->ended_mono_ns)
		return;
	w->ended_mono_ns = clock_mono_ns();
	job->ended_ns = MAX(how->ended_ns ? how->ended_ns : clock_wall_ns(), job->started_ns);
	job->took_ns = job->ended_ns - job->started_ns;
	close_sheets(w);
}

void watched_job_infer_end(struct watched_job *w, const struct event *exit)
{
	bool is_ok = exit->has_exit_code && exit->exit_code == 0;
	bool is_known = exit->has_exit_code || exit->signal;
	const struct job_end how = { .status = is_ok      ? JOB_COMPLETED
		                               : is_known ? JOB_FAILED
		                                          : JOB_LOST,
		                     .has_exit_code = exit->has_exit_code,
		                     .exit_code = exit->exit_code,
		                     .signal = exit->signal,
		                     .ended_ns = exit->wall_ns };

	w->outlived = w->row->living;
	w->has_outlived = true;
	watched_job_end(w, &how);
	w->row->job.ends_now = true;
	w->end_is_inferred = true;
}

/* ---- its sheets ------------------------------------------------------------------------------ */

static const struct event *find_exit(const struct snapshot *snap, int32_t index,
                                     const struct sheet *sheet)
{
	vec_each(&snap->events, e)
		if (e->kind == EVENT_EXIT && e->job == index && e->id.pid == sheet->pid &&
		    e->wall_ns >= sheet->started_ns)
			return e;
	return NULL;
}

void watched_job_close_orphaned_sheets(struct watched_job *w, const struct snapshot *snap,
                                       int32_t index)
{
	if (!w->row->job.running_sheets)
		return;
	vec_each(&w->row->sheets, sheet) {
		const struct event *exit = sheet->status == JOB_RUNNING
		                                   ? find_exit(snap, index, sheet)
		                                   : NULL;

		if (!exit)
			continue;
		sheet->signal = exit->signal;
		job_row_end_sheet(w->row, sheet, JOB_FAILED, exit->wall_ns);
	}
}

static struct sheet *find_shown(struct snapshot *snap, int32_t index, uint32_t num)
{
	vec_each(&snap->sheets, sheet)
		if (sheet->job == index && sheet->num == num)
			return sheet;
	return vec_push(&snap->sheets, SHEETS_MAX);
}

void watched_job_show_sheets(struct watched_job *w, struct snapshot *snap, int32_t index)
{
	if (!w->row->has_news)
		return;
	vec_each(&w->row->sheets, sheet) {
		struct sheet *shown = sheet->is_stored ? NULL : find_shown(snap, index, sheet->num);

		if (!shown)
			continue;
		*shown = *sheet;
		shown->job = index;
	}
	watched_job_sheets_are_shown(w);
}

void watched_job_sheets_are_shown(struct watched_job *w)
{
	if (!w->row->has_news)
		return;
	vec_each(&w->row->sheets, sheet) {
		sheet->is_stored = true;
		sheet->ends_now = false;
	}
	w->row->has_news = false;
}

void watched_job_show_all_sheets(struct watched_job *w)
{
	vec_each(&w->row->sheets, sheet)
		sheet->is_stored = false;
	w->row->has_news = w->row->sheets.len > 0;
}
