/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/clock.h"
#include "engine/registry_self.h"
#include "kernel/process_reader.h"

static uint64_t figure_of(const struct job *job, enum job_figure id)
{
	const struct figure *f = &job->figures[id];

	return f->quality == QUALITY_MISSING ? 0 : f->value;
}

/* What those took that are gone. The living tell what they took at the next look. */
static void remember(struct accounting *t, const struct job *job, uint64_t ended_cpu_ns)
{
	t->told_cpu_ns = ended_cpu_ns;
	t->exited = figure_of(job, JOB_FIGURE_EXITED);
	t->failed = figure_of(job, JOB_FIGURE_FAILED);
	t->signalled = figure_of(job, JOB_FIGURE_SIGNALLED);
	t->oom_kills = figure_of(job, JOB_FIGURE_OOM_KILLS);
	t->peak_rss_bytes = figure_of(job, JOB_FIGURE_PEAK_RSS);
	t->hungriest_pid = job->hungriest_pid;
	memcpy(t->hungriest, job->hungriest, sizeof t->hungriest);
	t->peak_total_bytes = figure_of(job, JOB_FIGURE_PEAK_TOTAL);
	t->peak_at_ns = figure_of(job, JOB_FIGURE_PEAK_AT);
	t->lost = true; /* nobody looked in between */
}

/* Those of a job that goes on go on: that they are lost was true only while nobody watched. */
static void restore_sheets(struct registry *d, int32_t job, const struct registry_past *past)
{
	struct jobtab *jobs = engine_jobs(d->engine);
	bool goes_on = !d->entries.at[job].is_past;

	vec_each(&past->sheets, was) {
		struct sheet *sheet = jobtab_begin_sheet(jobs, job, was->num, was->label,
		                                         was->started_ns);

		if (!sheet)
			return;
		sheet->pid = was->pid;
		sheet->attempt = was->attempt;
		sheet->has_exit_code = was->has_exit_code;
		sheet->exit_code = was->exit_code;
		sheet->signal = was->signal;
		if (!goes_on || was->status != JOB_LOST)
			jobtab_end_sheet(jobs, sheet, was->status, was->ended_ns);
		sheet->is_stored = true;
	}
}

/* Its end was seen by nobody: who registered it may know, and come to say so. */
static void show_past(struct registry *d, int32_t at, const struct job *job,
                      const struct registry_past *past)
{
	struct registry_entry *entry = &d->entries.at[at];

	*registry_job(d, at) = *job;
	registry_job(d, at)->ended_ns = MAX(job->ended_ns, job->started_ns);
	registry_job(d, at)->took_ns = MAX(job->took_ns,
	                                   registry_job(d, at)->ended_ns - job->started_ns);
	entry->is_past = entry->is_concluded = true;
	entry->over_mono_ns = clock_mono_ns();
	restore_sheets(d, at, past);
}

static void go_on(struct registry *d, int32_t at, const struct job *job,
                  const struct registry_past *past)
{
	struct registry_entry *entry = &d->entries.at[at];

	registry_add_members(d, at,
	                     past->root); /* it may have begun after the last look before us */
	vec_each(&past->processes, p) {
		if (!process_reader_is_alive(engine_process_reader(d->engine), p->id))
			continue;
		members_add(engine_members(d->engine), engine_jobs(d->engine), p->id,
		            (struct job_ref){ at, p->sheet });
	}
	remember(&entry->tally, job, past->ended_cpu_ns);
	entry->tally.started_boot_ns -= MIN(entry->tally.started_boot_ns,
	                                    clock_wall_ns() - job->started_ns);
	restore_sheets(d, at, past);
	engine_adopt(d->engine);
}

enum registry_restored registry_restore(struct registry *d, const struct job *job,
                                        const struct registry_past *past)
{
	bool goes_on = past->root.pid &&
	               process_reader_is_alive(engine_process_reader(d->engine), past->root);
	int32_t at;

	if (jobtab_index(engine_jobs(d->engine), job->id) >= 0 ||
	    (!goes_on && job->ended_ns < MAX(past->since_ns, clock_wall_ns() - REGISTRY_PAST_NS)))
		return REGISTRY_LEFT;
	at = registry_enter(d, job, past->root);
	if (at < 0)
		return REGISTRY_LEFT;
	if (goes_on)
		go_on(d, at, job, past);
	else
		show_past(d, at, job, past);
	return goes_on ? REGISTRY_GOES_ON : REGISTRY_ENDED;
}
