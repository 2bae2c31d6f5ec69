/* SPDX-License-Identifier: MIT */
#include "job/watched_job.h"

#include "base/clock.h"
#include "base/mem.h"

void watched_job_free(struct watched_job *w)
{
	if (!w)
		return;
	accounting_done(&w->accounting);
	free(w->oom);
	job_memory_done(&w->memory);
	gpu_account_done(&w->gpus);
	sheet_accounts_done(&w->sheet_accounts);
	free(w->claim.cgroup);
	free(w->claim.workspace);
	free(w->past);
	free(w);
}

void watched_job_watch_oom(struct watched_job *w, int root_fd, pid_t pid)
{
	if (!w->oom)
		w->oom = xcalloc(1, sizeof *w->oom);
	oom_watch_begin(w->oom, root_fd, pid, clock_boot_ns());
}

/* Sheets that are open when a job succeeds are lost, not failed: they were only never closed. */
static void close_sheets(struct watched_job *w)
{
	enum job_status status = w->row->job.status == JOB_FAILED ? JOB_FAILED : JOB_LOST;

	vec_each(&w->row->sheets, sheet) {
		if (sheet->status != JOB_RUNNING)
			continue;
		job_row_end_sheet(w->row, sheet, status,
		                  MAX(w->row->job.ended_ns, sheet->started_ns));
		sheet->ends_now = true;
	}
}

static void begin_end(struct watched_job *w, const struct job_end *how)
{
	struct job *job = &w->row->job;

	w->ended_mono_ns = clock_mono_ns();
	job->ended_ns = MAX(how->ended_ns ? how->ended_ns : clock_wall_ns(), job->started_ns);
	job->took_ns = job->ended_ns - job->started_ns;
	close_sheets(w);
}

void watched_job_end(struct watched_job *w, const struct job_end *how)
{
	struct job *job = &w->row->job;

	job->status = how->status;
	job->has_exit_code = how->has_exit_code;
	job->exit_code = how->exit_code;
	job->signal = how->signal;
	job->core_dumped = how->core_dumped;
	if (how->recorded) {
		job->limits_hit |= how->recorded->limits_hit;
		w->announced_cause = how->recorded->cause;
		cause_merge(&job->cause, &w->announced_cause);
	}
	w->is_published = w->end_is_inferred = false;
	if (!w->ended_mono_ns)
		begin_end(w, how);
	watched_job_show_all_sheets(w);
}

void watched_job_take_back(struct watched_job *w, struct proc_id id)
{
	if (!accounting_take_back(&w->accounting, id))
		return;
	w->row->processes--;
	w->released--;
}

void watched_job_sheets_are_shown(struct watched_job *w)
{
	if (!w->row->has_news)
		return;
	vec_each(&w->row->sheets, sheet) {
		sheet->is_shown = true;
		sheet->ends_now = false;
	}
	w->row->has_news = false;
}

void watched_job_show_all_sheets(struct watched_job *w)
{
	vec_each(&w->row->sheets, sheet)
		sheet->is_shown = false;
	w->row->has_news = w->row->sheets.len > 0;
}
