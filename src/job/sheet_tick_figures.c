/* SPDX-License-Identifier: MIT */
#include "job/sheet_tick_figures.h"

#include <math.h>

#include "model/own_process.h"

static struct sheet *find(const struct job_roster *jobs, const struct snapshot *snap, int32_t index,
                          uint32_t num)
{
	const struct job_row *row;
	struct sheet *sheet;

	if (!num || index < 0 || (size_t)index >= snap->jobs.len)
		return NULL;
	row = job_roster_get(jobs, snap->jobs.at[index].handle);
	sheet = row && row->job.running_sheets ? job_row_sheet(row, num) : NULL;
	return sheet && sheet->status == JOB_RUNNING ? sheet : NULL;
}

static void add_process(struct sheet_tick_figures *t, const struct proc_snap *p,
                        const struct snapshot *snap)
{
	if (t->seq != snap->seq)
		*t = (struct sheet_tick_figures){ .seq = snap->seq,
			                  .boot_ns = snap->boot_ns,
			                  .cpu_ratio = (double)NAN };
	t->rss_bytes += readings_or(&p->s.r, PROC_RSS, 0);
	if (isfinite(p->cpu_ratio))
		t->cpu_ratio = p->cpu_ratio + (isfinite(t->cpu_ratio) ? t->cpu_ratio : 0);
}

/* One without memory is ending. */
void sheet_tick_figures_take(const struct job_roster *jobs, const struct snapshot *snap)
{
	vec_each(&snap->procs, p) {
		uint64_t rss = readings_or(&p->s.r, PROC_RSS, 0);
		bool counts = rss && !own_process_is_small(p->s.comm, rss);
		struct sheet *sheet = counts ? find(jobs, snap, p->job, p->sheet) : NULL;

		if (sheet)
			add_process(&sheet->tree, p, snap);
	}
}

void sheet_tick_figures_take_anomalies(const struct job_roster *jobs, const struct snapshot *snap)
{
	vec_each(&snap->anomalies, a) {
		struct sheet *sheet = a->news == ANOMALY_ENDED ? NULL
		                                               : find(jobs, snap, a->job, a->sheet);

		if (sheet && sheet->tree.seq == snap->seq)
			sheet->tree.anomalies |= 1u << a->kind;
	}
}
